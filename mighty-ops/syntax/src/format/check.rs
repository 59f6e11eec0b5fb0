//! Proof that a formatted text is the same program: same tokens, same comments, same tree.
//! Must not share code with the rules it checks.

use crate::SyntaxKind::{self, *};
use crate::tree::Tree;
use crate::{Parse, parse, parse_interface};

/// Whether the text parses, without errors the original lacks, to the tree of the original, separators and
/// empty statements aside.
pub(super) fn same_program(before: &Parse, text: &str) -> bool {
    let shared: std::sync::Arc<str> = text.into();
    let mut after = parse(std::sync::Arc::clone(&shared));
    if after.has_hard_error() {
        // Only an interface file lacks bodies.
        after = parse_interface(shared);
    }
    !after.has_hard_error()
        && Leaves::of(&before.tree).eq(Leaves::of(&after.tree))
        && same_shape(&before.tree, &after.tree)
}

fn is_separator(kind: SyntaxKind) -> bool {
    matches!(kind, Comma | Semi)
}

/// Significant tokens without separators, and comments without trailing blanks.
struct Leaves<'t> {
    tree: &'t Tree,
    at: usize,
}

impl<'t> Leaves<'t> {
    fn of(tree: &'t Tree) -> Self {
        Self { tree, at: 0 }
    }
}

impl<'t> Iterator for Leaves<'t> {
    type Item = (SyntaxKind, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.tree.token_count() {
            let token = self.tree.nth_token(self.at);
            self.at += 1;
            match token.kind() {
                Whitespace | Newline | Comma | Semi => {}
                k @ (LineComment | DocComment) => {
                    return Some((k, token.text().trim_end_matches([' ', '\t'])));
                }
                k => return Some((k, token.text())),
            }
        }
        None
    }
}

/// For every token, the number of significant ones before it.
fn ordinals(tree: &Tree) -> Vec<u32> {
    let mut n = 0;
    let mut out = Vec::with_capacity(tree.token_count() + 1);
    for token in tree.tokens() {
        out.push(n);
        let kind = token.kind();
        n += u32::from(!kind.is_trivia() && !is_separator(kind));
    }
    out.push(n);
    out
}

fn same_shape(a: &Tree, b: &Tree) -> bool {
    let (a_ord, b_ord) = (ordinals(a), ordinals(b));
    shape(a, &a_ord).eq(shape(b, &b_ord))
}

/// Every node with the significant tokens it spans; whether an expression statement ends in `;` is part
/// of its meaning only at the end of a block.
fn shape<'t>(
    tree: &'t Tree,
    ordinals: &'t [u32],
) -> impl Iterator<Item = (SyntaxKind, u32, u32, bool)> + 't {
    tree.nodes().filter(|n| n.kind() != EmptyStmt).map(|n| {
        let (first, last) = match (n.first_token(), n.last_token()) {
            (Some(a), Some(b)) => (a.id().index(), b.id().index()),
            _ => return (n.kind(), 0, 0, false),
        };
        let valueless = n.kind() == Block && !ends_in_value(n);
        (n.kind(), ordinals[first], ordinals[last + 1], valueless)
    })
}

fn ends_in_value(block: crate::Node<'_>) -> bool {
    let mut value = false;
    for stmt in block.children() {
        match stmt.kind() {
            EmptyStmt => {}
            ExprStmt => value = stmt.last_token().is_some_and(|t| t.kind() != Semi),
            _ => value = false,
        }
    }
    value
}
