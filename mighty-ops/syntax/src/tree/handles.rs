//! `Copy` handles of nodes and tokens, and the iterators over a node's parts.
//! Must not recurse: a tree may be thousands of nodes deep.

use std::fmt::{self, Write as _};

use super::{NodeData, NodeId, TokenId, Tree};
use crate::SyntaxKind;
use crate::error::TextRange;

/// A node of a tree. Its range begins with its first significant token and ends with its last;
/// trivia between siblings belong to their parent.
#[derive(Clone, Copy)]
pub struct Node<'t> {
    pub(super) tree: &'t Tree,
    pub(super) id: u32,
}

/// A token of a tree, possibly trivia.
#[derive(Clone, Copy)]
pub struct Token<'t> {
    pub(super) tree: &'t Tree,
    pub(super) id: u32,
}

/// A child of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'t> {
    /// A child node.
    Node(Node<'t>),
    /// A token that belongs to no child node.
    Token(Token<'t>),
}

impl<'t> Node<'t> {
    pub(super) fn data(self) -> &'t NodeData {
        &self.tree.nodes[self.id as usize]
    }

    /// The tree.
    #[must_use]
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// Identity within the tree.
    #[must_use]
    pub fn id(self) -> NodeId {
        NodeId(self.id)
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> SyntaxKind {
        self.data().kind
    }

    /// Byte range, without leading and trailing trivia (the root's is the whole text).
    #[must_use]
    pub fn range(self) -> TextRange {
        let d = self.data();
        self.tree.tok_range(d.tok_start, d.tok_end)
    }

    /// Its text, inner trivia included.
    #[must_use]
    pub fn text(self) -> &'t str {
        &self.tree.text[std::ops::Range::from(self.range())]
    }

    /// The node around it.
    #[must_use]
    pub fn parent(self) -> Option<Node<'t>> {
        let p = self.data().parent;
        (p != u32::MAX).then_some(Node {
            tree: self.tree,
            id: p,
        })
    }

    /// Its parents, innermost first, without itself.
    pub fn ancestors(self) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(self.parent(), |n| n.parent())
    }

    /// Child nodes in source order.
    #[must_use]
    pub fn children(self) -> Children<'t> {
        Children {
            tree: self.tree,
            next: self.id + 1,
            end: self.data().end,
        }
    }

    /// Itself and every node inside, parents first, without recursion.
    pub fn descendants(self) -> impl DoubleEndedIterator<Item = Node<'t>> {
        let tree = self.tree;
        (self.id..self.data().end).map(move |id| Node { tree, id })
    }

    /// Child nodes and own tokens in source order, trivia included.
    #[must_use]
    pub fn elements(self) -> Elements<'t> {
        let d = self.data();
        Elements {
            children: self.children(),
            held: None,
            tok: d.tok_start,
            end: d.tok_end,
        }
    }

    /// Own tokens (not those of child nodes) without trivia.
    pub fn own_tokens(self) -> impl Iterator<Item = Token<'t>> {
        self.elements().filter_map(|e| match e {
            Element::Token(t) if !t.kind().is_trivia() => Some(t),
            _ => None,
        })
    }

    /// Every token inside, trivia included.
    pub fn tokens(self) -> impl DoubleEndedIterator<Item = Token<'t>> + ExactSizeIterator {
        let tree = self.tree;
        let d = self.data();
        (d.tok_start..d.tok_end).map(move |id| Token { tree, id })
    }

    /// Its first token.
    #[must_use]
    pub fn first_token(self) -> Option<Token<'t>> {
        let d = self.data();
        (d.tok_start < d.tok_end).then_some(Token {
            tree: self.tree,
            id: d.tok_start,
        })
    }

    /// Its last token.
    #[must_use]
    pub fn last_token(self) -> Option<Token<'t>> {
        let d = self.data();
        (d.tok_start < d.tok_end).then(|| Token {
            tree: self.tree,
            id: d.tok_end - 1,
        })
    }

    /// The first child of a kind.
    #[must_use]
    pub fn child(self, kind: SyntaxKind) -> Option<Node<'t>> {
        self.children().find(|c| c.kind() == kind)
    }

    /// The first own token of a kind.
    #[must_use]
    pub fn own_token(self, kind: SyntaxKind) -> Option<Token<'t>> {
        self.own_tokens().find(|t| t.kind() == kind)
    }

    /// Whether a line feed stands between its first and last token: "written on several lines".
    #[must_use]
    pub fn spans_lines(self) -> bool {
        memchr::memchr(b'\n', self.text().as_bytes()).is_some()
    }

    /// See [`Tree::sketch`].
    #[must_use]
    pub fn sketch(self) -> String {
        let mut out = String::new();
        // Elements still to print, last first; `None` closes a node.
        let mut todo = vec![Some(Element::Node(self))];
        let mut fresh = true;
        while let Some(next) = todo.pop() {
            match next {
                None => {
                    out.push(')');
                    fresh = false;
                }
                Some(Element::Token(t)) if t.kind().is_trivia() => {}
                Some(e) => {
                    if !fresh {
                        out.push(' ');
                    }
                    fresh = matches!(e, Element::Node(_));
                    match e {
                        Element::Token(t) => out.push_str(t.text()),
                        Element::Node(n) => {
                            let _ = write!(out, "{:?}(", n.kind());
                            todo.push(None);
                            let at = todo.len();
                            todo.extend(n.elements().map(Some));
                            todo[at..].reverse();
                        }
                    }
                }
            }
        }
        out
    }
}

impl<'t> Token<'t> {
    /// The tree.
    #[must_use]
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// Identity within the tree.
    #[must_use]
    pub fn id(self) -> TokenId {
        TokenId(self.id)
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> SyntaxKind {
        self.tree.kinds[self.id as usize]
    }

    /// Byte range.
    #[must_use]
    pub fn range(self) -> TextRange {
        self.tree.tok_range(self.id, self.id + 1)
    }

    /// Its text.
    #[must_use]
    pub fn text(self) -> &'t str {
        &self.tree.text[std::ops::Range::from(self.range())]
    }

    /// The token after it, trivia included.
    #[must_use]
    pub fn next(self) -> Option<Token<'t>> {
        let id = self.id + 1;
        ((id as usize) < self.tree.kinds.len()).then_some(Token {
            tree: self.tree,
            id,
        })
    }

    /// The token before it, trivia included.
    #[must_use]
    pub fn prev(self) -> Option<Token<'t>> {
        self.id.checked_sub(1).map(|id| Token {
            tree: self.tree,
            id,
        })
    }

    /// The next token that is no trivia.
    #[must_use]
    pub fn next_significant(self) -> Option<Token<'t>> {
        std::iter::successors(self.next(), |t| t.next()).find(|t| !t.kind().is_trivia())
    }

    /// The previous token that is no trivia.
    #[must_use]
    pub fn prev_significant(self) -> Option<Token<'t>> {
        std::iter::successors(self.prev(), |t| t.prev()).find(|t| !t.kind().is_trivia())
    }

    /// The innermost node that holds it.
    #[must_use]
    pub fn parent(self) -> Node<'t> {
        let nodes = &self.tree.nodes;
        // The last node that begins at or before the token, then outwards until one holds it.
        let i = nodes
            .partition_point(|n| n.tok_start <= self.id)
            .saturating_sub(1);
        let mut node = Node {
            tree: self.tree,
            id: i as u32,
        };
        while node.data().tok_end <= self.id {
            match node.parent() {
                Some(p) => node = p,
                None => break,
            }
        }
        node
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.tree, other.tree)
    }
}

impl Eq for Node<'_> {}

impl std::hash::Hash for Node<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl PartialEq for Token<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.tree, other.tree)
    }
}

impl Eq for Token<'_> {}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.range();
        write!(f, "{:?}@{}..{}", self.kind(), r.start, r.end)
    }
}

impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}@{} {:?}",
            self.kind(),
            self.range().start,
            self.text()
        )
    }
}

/// Iterator of [`Node::children`].
#[derive(Clone)]
pub struct Children<'t> {
    tree: &'t Tree,
    next: u32,
    end: u32,
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        if self.next >= self.end {
            return None;
        }
        let node = Node {
            tree: self.tree,
            id: self.next,
        };
        self.next = node.data().end;
        Some(node)
    }
}

/// Iterator of [`Node::elements`].
#[derive(Clone)]
pub struct Elements<'t> {
    children: Children<'t>,
    held: Option<Node<'t>>,
    tok: u32,
    end: u32,
}

impl<'t> Iterator for Elements<'t> {
    type Item = Element<'t>;

    fn next(&mut self) -> Option<Element<'t>> {
        if self.held.is_none() {
            self.held = self.children.next();
        }
        match self.held {
            Some(n) if n.data().tok_start == self.tok => {
                self.held = None;
                self.tok = n.data().tok_end;
                Some(Element::Node(n))
            }
            _ if self.tok < self.end => {
                let t = Token {
                    tree: self.children.tree,
                    id: self.tok,
                };
                self.tok += 1;
                Some(Element::Token(t))
            }
            _ => None,
        }
    }
}
