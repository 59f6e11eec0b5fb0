//! What the rules decide: one entry per token, saying what stands before it and which groups begin and
//! end at it. Must not hold rules of single constructs.

use crate::SyntaxKind::{self, *};
use crate::tree::{Element, Node, Token, Tree};

/// What separates a token from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Break {
    #[default]
    None,
    Space,
    /// Nothing, or a line break if the group is broken.
    Soft,
    /// A space, or a line break if the group is broken.
    Line,
    Hard,
    /// See `Op::Choice`; the second one hugs.
    Choice,
    ChoiceHug,
}

/// A separator that the rules put behind the token before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sep {
    #[default]
    None,
    Comma,
    CommaIfBroken,
    SemiIfFlat,
}

/// What becomes of empty lines before a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Blanks {
    /// None, unless comments stand there.
    #[default]
    Drop,
    Keep,
    /// One, in any case.
    One,
    /// Kept, and one is added next to an item of several lines.
    Item,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gap {
    pub(super) brk: Break,
    pub(super) sep: Sep,
    pub(super) blanks: Blanks,
    /// A nested part begins behind the token before, comments included.
    pub(super) enter: bool,
    /// A nested part ends here, behind the comments.
    pub(super) leave: bool,
    /// The token is a separator that is not printed.
    pub(super) dropped: bool,
    pub(super) item_start: bool,
    /// An item ends behind the token; `Some(true)` if it counts as one of several lines.
    pub(super) item_end: Option<bool>,
    /// Groups that begin with the token.
    pub(super) opens: u16,
    /// They are `Tail::Rigid`.
    pub(super) rigid: bool,
    /// Groups that end with the token.
    pub(super) closes: u16,
    /// Nested parts that end with the token.
    pub(super) unnests: u16,
}

/// A significant child of a node, token or node.
#[derive(Clone, Copy)]
pub(super) struct El<'t> {
    pub(super) kind: SyntaxKind,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) node: Option<Node<'t>>,
}

/// Tokens that are copied with everything between them.
pub(super) struct Copied {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Blanks next to the brackets are not copied (macro calls, formatting.md §4).
    pub(super) trim: bool,
}

/// How a block is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BlockForm {
    /// As its own contents allow.
    #[default]
    Own,
    /// Its lines are those of the group around it.
    Shared,
    Broken,
}

/// What a node has been told by the rule of a node around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    /// A link of a chain whose outermost node has made the group.
    pub(super) link: bool,
    /// The body of a handler or lambda.
    pub(super) body: bool,
    pub(super) form: BlockForm,
}

pub(super) struct Plan<'t> {
    pub(super) tree: &'t Tree,
    pub(super) gaps: Vec<Gap>,
    pub(super) told: Vec<Told>,
    pub(super) copied: Vec<Copied>,
    /// Line feeds before each token, and before the end of the file.
    lines: Vec<u32>,
}

impl<'t> Plan<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        let mut lines = Vec::with_capacity(tree.token_count() + 1);
        let mut n = 0;
        for token in tree.tokens() {
            lines.push(n);
            if matches!(
                token.kind(),
                Newline | BlockComment | Str | RawStr | ByteStr | HtmlStr
            ) {
                n += memchr::memchr_iter(b'\n', token.text().as_bytes()).count() as u32;
            }
        }
        lines.push(n);
        Self {
            tree,
            gaps: vec![Gap::default(); tree.token_count()],
            told: vec![Told::default(); tree.node_count()],
            copied: Vec::new(),
            lines,
        }
    }

    pub(super) fn gap(&mut self, token: usize) -> &mut Gap {
        &mut self.gaps[token]
    }

    pub(super) fn set(&mut self, token: usize, brk: Break) {
        self.gaps[token].brk = brk;
    }

    /// A group from one token to another, both included.
    pub(super) fn group(&mut self, first: usize, last: usize) {
        self.gaps[first].opens += 1;
        self.gaps[last].closes += 1;
    }

    /// An indented part from the break before `first` to the end of `last`.
    pub(super) fn nest(&mut self, first: usize, last: usize) {
        self.gaps[first].enter = true;
        self.gaps[last].unnests += 1;
    }

    /// `Break::Choice` before `first`, with the group it asks for.
    pub(super) fn choice(&mut self, first: usize, last: usize, hug: bool) {
        self.gaps[first].brk = if hug { Break::ChoiceHug } else { Break::Choice };
        self.group(first, last);
        self.gaps[last].unnests += 1;
    }

    pub(super) fn told(&mut self, node: Node<'t>) -> &mut Told {
        &mut self.told[node.id().index()]
    }

    /// Whether the source has a line feed between two tokens or inside them.
    pub(super) fn lines_in(&self, first: usize, last: usize) -> bool {
        self.lines[last + 1] > self.lines[first]
    }

    /// Whether the source has a line feed between the end of one token and the begin of a later one.
    pub(super) fn line_between(&self, before: usize, after: usize) -> bool {
        self.lines[after] > self.lines[before + 1]
    }

    pub(super) fn kind(&self, token: usize) -> SyntaxKind {
        self.token(token).kind()
    }

    pub(super) fn token(&self, token: usize) -> Token<'t> {
        self.tree.nth_token(token)
    }

    /// The significant children of a node.
    pub(super) fn elements(node: Node<'t>, into: &mut Vec<El<'t>>) {
        into.clear();
        into.extend(node.elements().filter_map(|e| match e {
            Element::Token(t) if t.kind().is_trivia() => None,
            Element::Token(t) => Some(El {
                kind: t.kind(),
                first: t.id().index(),
                last: t.id().index(),
                node: None,
            }),
            Element::Node(n) => El::of(n),
        }));
    }
}

impl<'t> El<'t> {
    pub(super) fn of(node: Node<'t>) -> Option<Self> {
        Some(Self {
            kind: node.kind(),
            first: node.first_token()?.id().index(),
            last: node.last_token()?.id().index(),
            node: Some(node),
        })
    }
}
