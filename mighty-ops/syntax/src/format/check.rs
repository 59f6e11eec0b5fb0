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
    if after.has_hard_error() {
        return false;
    }
    let (mut old, mut new) = (Leaves::of(&before.tree), Leaves::of(&after.tree));
    loop {
        match (old.next(), new.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            _ => return false,
        }
    }
    shape(&before.tree, &old.ordinals).eq(shape(&after.tree, &new.ordinals))
}

/// Significant tokens without separators, and comments without trailing blanks.
struct Leaves<'t> {
    tree: &'t Tree,
    /// For every token passed, the number of significant ones before it.
    ordinals: Vec<u32>,
    count: u32,
}

impl<'t> Leaves<'t> {
    fn of(tree: &'t Tree) -> Self {
        Self {
            tree,
            ordinals: Vec::with_capacity(tree.token_count() + 1),
            count: 0,
        }
    }
}

impl<'t> Iterator for Leaves<'t> {
    type Item = (SyntaxKind, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.ordinals.len();
            self.ordinals.push(self.count);
            if at >= self.tree.token_count() {
                return None;
            }
            let token = self.tree.nth_token(at);
            match token.kind() {
                Whitespace | Newline | Comma | Semi => {}
                k @ (LineComment | DocComment) => {
                    return Some((k, token.text().trim_end_matches([' ', '\t', '\r'])));
                }
                k => {
                    self.count += u32::from(!k.is_trivia());
                    return Some((k, token.text()));
                }
            }
        }
    }
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
