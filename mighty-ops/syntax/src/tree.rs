//! The lossless tree: three flat vectors, built once; the handles that walk them are in `handles`.
//! Must not know what a node means; the typed views in `ast` do.

mod handles;

use std::fmt::{self, Write as _};
use std::sync::Arc;

pub use handles::{Children, Element, Elements, Node, Token};

use crate::SyntaxKind;
use crate::error::TextRange;

/// Nodes deeper than this are cut off with MT0030, so that users of the tree may recurse.
pub const MAX_DEPTH: u32 = 4096;

/// A node before the tree is built; nodes stand in the order in which they were finished.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostNode {
    pub(crate) kind: SyntaxKind,
    pub(crate) tok_start: u32,
    pub(crate) tok_end: u32,
    /// Index of the first node of the subtree.
    pub(crate) first: u32,
}

#[derive(Debug, Clone, Copy)]
struct NodeData {
    kind: SyntaxKind,
    tok_start: u32,
    tok_end: u32,
    /// One past the last node of the subtree: nodes stand in source order, parents first.
    end: u32,
    parent: u32,
}

/// Identity of a node within its tree; ordered by position, parents before children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// Index below [`Tree::node_count`], fit for a side table.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Identity of a token within its tree, in source order, trivia included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(u32);

impl TokenId {
    /// Index below [`Tree::token_count`], fit for a side table.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed text. Cheap to drop and to walk whatever its shape; `Send` and `Sync`.
pub struct Tree {
    text: Arc<str>,
    kinds: Vec<SyntaxKind>,
    starts: Vec<u32>,
    nodes: Vec<NodeData>,
    max_depth: u32,
}

impl Tree {
    /// Turns finished-order nodes (the root last) into the tree. Returns the range of the first subtree
    /// that was cut off for its depth, if any.
    pub(crate) fn build(
        text: Arc<str>,
        kinds: Vec<SyntaxKind>,
        starts: Vec<u32>,
        post: &[PostNode],
    ) -> (Self, Option<TextRange>) {
        let n = post.len();
        let blank = NodeData {
            kind: SyntaxKind::ErrorNode,
            tok_start: 0,
            tok_end: 0,
            end: 0,
            parent: u32::MAX,
        };
        let mut nodes = vec![blank; n];
        // (first index of the subtree, end of what is not yet placed, own place)
        let mut stack: Vec<(u32, u32, u32)> = Vec::with_capacity(64);
        let mut max_depth = 0;
        for i in (0..n).rev() {
            let p = post[i];
            while stack.last().is_some_and(|s| s.0 as usize > i) {
                stack.pop();
            }
            let size = i as u32 - p.first + 1;
            let (at, parent) = match stack.last_mut() {
                Some(s) => {
                    s.1 -= size;
                    (s.1, s.2)
                }
                None => (0, u32::MAX),
            };
            let end = at + size;
            nodes[at as usize] = NodeData {
                kind: p.kind,
                tok_start: p.tok_start,
                tok_end: p.tok_end,
                end,
                parent,
            };
            stack.push((p.first, end, at));
            max_depth = max_depth.max(stack.len() as u32);
        }
        let mut tree = Self {
            text,
            kinds,
            starts,
            nodes,
            max_depth,
        };
        let cut = if max_depth > MAX_DEPTH {
            tree.cut_deep()
        } else {
            None
        };
        (tree, cut)
    }

    /// Makes every node at the depth limit an error node without children.
    fn cut_deep(&mut self) -> Option<TextRange> {
        let old = std::mem::take(&mut self.nodes);
        let mut first = None;
        // New index and depth of each ancestor of the node at hand, with the old end of its subtree.
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut i = 0usize;
        while i < old.len() {
            let mut node = old[i];
            while open.last().is_some_and(|(end, _)| *end as usize <= i) {
                if let Some((_, at)) = open.pop() {
                    self.nodes[at as usize].end = self.nodes.len() as u32;
                }
            }
            node.parent = open.last().map_or(u32::MAX, |(_, at)| *at);
            let at = self.nodes.len() as u32;
            let next = if open.len() as u32 + 1 >= MAX_DEPTH && node.end as usize > i + 1 {
                node.kind = SyntaxKind::ErrorNode;
                first.get_or_insert((node.tok_start, node.tok_end));
                node.end as usize
            } else {
                open.push((node.end, at));
                i + 1
            };
            node.end = at + 1;
            self.nodes.push(node);
            i = next;
        }
        while let Some((_, at)) = open.pop() {
            self.nodes[at as usize].end = self.nodes.len() as u32;
        }
        self.max_depth = MAX_DEPTH;
        first.map(|(a, b)| self.tok_range(a, b))
    }

    fn tok_range(&self, start: u32, end: u32) -> TextRange {
        TextRange::new(self.starts[start as usize], self.starts[end as usize])
    }

    /// The whole (normalised) text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, shared.
    #[must_use]
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The `SourceFile` node.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, id: 0 }
    }

    /// Number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of tokens, trivia included.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.kinds.len()
    }

    /// Nodes on the longest way from the root; at most [`MAX_DEPTH`].
    #[must_use]
    pub fn max_depth(&self) -> u32 {
        self.max_depth
    }

    /// Bytes on the heap, text included.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.len()
            + self.kinds.capacity() * size_of::<SyntaxKind>()
            + self.starts.capacity() * size_of::<u32>()
            + self.nodes.capacity() * size_of::<NodeData>()
    }

    /// The node of an identity taken from this tree.
    ///
    /// # Panics
    /// If the identity is out of range, that is, another tree's.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Node<'_> {
        assert!(id.index() < self.nodes.len(), "node of another tree");
        Node {
            tree: self,
            id: id.0,
        }
    }

    /// The token of an identity taken from this tree.
    ///
    /// # Panics
    /// If the identity is out of range, that is, another tree's.
    #[must_use]
    pub fn token(&self, id: TokenId) -> Token<'_> {
        assert!(id.index() < self.kinds.len(), "token of another tree");
        Token {
            tree: self,
            id: id.0,
        }
    }

    /// The token of an index below [`Tree::token_count`].
    pub(crate) fn nth_token(&self, index: usize) -> Token<'_> {
        debug_assert!(index < self.kinds.len());
        Token {
            tree: self,
            id: index as u32,
        }
    }

    /// All tokens, trivia included, in source order; their texts concatenate to [`Tree::text`].
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = Token<'_>> + ExactSizeIterator {
        (0..self.kinds.len() as u32).map(|id| Token { tree: self, id })
    }

    /// All nodes, parents before children, in source order. The way to walk without recursion.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node<'_>> + ExactSizeIterator {
        (0..self.nodes.len() as u32).map(|id| Node { tree: self, id })
    }

    /// The token that holds the byte at `offset`.
    #[must_use]
    pub fn token_at(&self, offset: u32) -> Option<Token<'_>> {
        let i = self
            .starts
            .partition_point(|s| *s <= offset)
            .checked_sub(1)?;
        (i < self.kinds.len()).then_some(Token {
            tree: self,
            id: i as u32,
        })
    }

    /// The innermost node whose range covers `range`.
    #[must_use]
    pub fn covering_node(&self, range: TextRange) -> Node<'_> {
        let mut node = self.root();
        while let Some(child) = node.children().find(|c| c.range().covers(range)) {
            node = child;
        }
        node
    }

    /// An indented listing of nodes and significant tokens; for tests and debugging.
    #[must_use]
    pub fn dump(&self) -> String {
        let mut out = String::new();
        let mut open: Vec<Node<'_>> = Vec::new();
        for node in self.nodes() {
            let start = node.data().tok_start;
            while let Some(top) = open.last().copied() {
                if node.id < top.data().end {
                    break;
                }
                open.pop();
            }
            let _ = start;
            let _ = writeln!(
                out,
                "{:w$}{:?} {:?}",
                "",
                node.kind(),
                node.text(),
                w = open.len() * 2
            );
            open.push(node);
        }
        out
    }

    /// A one-line listing, `Kind(child token …)`, without trivia; for tests.
    #[must_use]
    pub fn sketch(&self) -> String {
        self.root().sketch()
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.dump())
    }
}
