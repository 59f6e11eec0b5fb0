//! The lossless tree: three flat vectors, and `Copy` handles that walk them.
//! Must not know what a node means; the typed views in `ast` do.

use std::fmt::{self, Write as _};
use std::sync::Arc;

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

/// A node of a tree. Its range begins with its first significant token and ends with its last;
/// trivia between siblings belong to their parent.
#[derive(Clone, Copy)]
pub struct Node<'t> {
    tree: &'t Tree,
    id: u32,
}

/// A token of a tree, possibly trivia.
#[derive(Clone, Copy)]
pub struct Token<'t> {
    tree: &'t Tree,
    id: u32,
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
    fn data(self) -> &'t NodeData {
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
