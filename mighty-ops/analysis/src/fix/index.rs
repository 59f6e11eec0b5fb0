//! What fixes of one check share: an index of the package's named items, and budgets that keep a file full of
//! errors from costing more than its check. Must not hold anything that outlives the check.

use std::cell::{Cell, OnceCell, RefCell};

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::{Node, NodeId, SyntaxKind, Tree};

use crate::package::Package;

/// Bytes that may be parsed again to see that a draft leaves its file sound, or which of several places is
/// right. Beyond it fixes that depend on that proof are left out, and the others are trusted.
const PROOF_BYTES: usize = 8 << 20;
/// What one syntax error adds to the cost of a proof, as bytes that are parsed again.
const ERROR_BYTES: usize = 64;
/// Bytes of all diffs together.
const DIFF_BYTES: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Index<'p> {
    package: &'p Package,
    proof: Cell<usize>,
    diffs: Cell<usize>,
    items: OnceCell<Items>,
    /// Identifiers by file.
    words: RefCell<FxHashMap<*const Tree, FxHashSet<Box<str>>>>,
}

/// A file and a node of it; as plain numbers, so that the index borrows nothing from itself.
type Place = (usize, NodeId);

#[derive(Debug, Default)]
struct Items {
    all: Vec<Place>,
    by_name: FxHashMap<Box<str>, Vec<Place>>,
}

impl<'p> Index<'p> {
    pub(super) fn new(package: &'p Package) -> Self {
        Self {
            package,
            proof: Cell::new(PROOF_BYTES),
            diffs: Cell::new(DIFF_BYTES),
            items: OnceCell::new(),
            words: RefCell::default(),
        }
    }

    /// Takes a text of so many bytes and errors from the budget of proofs; says whether it was there.
    pub(super) fn spend_proof(&self, bytes: usize, errors: usize) -> bool {
        spend(&self.proof, bytes + errors * ERROR_BYTES)
    }

    /// Takes bytes from the budget of diffs; says whether they were there.
    pub(super) fn spend_diff(&self, bytes: usize) -> bool {
        spend(&self.diffs, bytes)
    }

    fn node(&self, (file, id): Place) -> Node<'p> {
        self.package.files[file].parse.tree.node(id)
    }

    /// Items with a name, and parameters, in the order of files and positions.
    pub(super) fn items(&self) -> impl Iterator<Item = Node<'p>> {
        self.indexed().all.iter().map(|at| self.node(*at))
    }

    /// Those of a name.
    pub(super) fn named(&self, name: &str) -> Vec<Node<'p>> {
        let found = self.indexed().by_name.get(name);
        found
            .into_iter()
            .flatten()
            .map(|at| self.node(*at))
            .collect()
    }

    fn indexed(&self) -> &Items {
        self.items.get_or_init(|| {
            let mut items = Items::default();
            for (at, file) in self.package.files.iter().enumerate() {
                for node in file.parse.tree.nodes() {
                    let listed = matches!(
                        node.kind(),
                        SyntaxKind::FnDef
                            | SyntaxKind::StructDef
                            | SyntaxKind::EnumDef
                            | SyntaxKind::TraitDef
                            | SyntaxKind::ProtocolDef
                            | SyntaxKind::MacroDef
                            | SyntaxKind::Param
                    );
                    if !listed {
                        continue;
                    }
                    let place = (at, node.id());
                    items.all.push(place);
                    let name = match node.kind() {
                        SyntaxKind::Param => node.tokens().find(|t| t.kind() == SyntaxKind::Ident),
                        _ => node.own_tokens().find(|t| t.kind() == SyntaxKind::Ident),
                    };
                    if let Some(name) = name {
                        items
                            .by_name
                            .entry(name.text().into())
                            .or_default()
                            .push(place);
                    }
                }
            }
            items
        })
    }

    /// The last name of the module that an item stands in: the block around it, else its file's.
    pub(super) fn module_of(&self, node: Node<'p>) -> Option<&'p str> {
        let block = node
            .ancestors()
            .find(|n| n.kind() == SyntaxKind::ModItem)
            .and_then(|n| n.own_tokens().find(|t| t.kind() == SyntaxKind::Ident));
        if let Some(name) = block {
            return Some(name.text());
        }
        let tree: *const Tree = node.tree();
        let file = self
            .package
            .files
            .iter()
            .find(|f| std::ptr::eq(&raw const f.parse.tree, tree))?;
        file.module.last().map(String::as_str)
    }

    /// Whether a file uses an identifier.
    pub(super) fn has_word(&self, tree: &Tree, word: &str) -> bool {
        let mut words = self.words.borrow_mut();
        let set = words.entry(std::ptr::from_ref(tree)).or_insert_with(|| {
            let idents = tree.tokens().filter(|t| t.kind() == SyntaxKind::Ident);
            idents.map(|t| t.text().into()).collect()
        });
        set.contains(word)
    }
}

fn spend(budget: &Cell<usize>, bytes: usize) -> bool {
    match budget.get().checked_sub(bytes) {
        Some(left) => {
            budget.set(left);
            true
        }
        None => false,
    }
}
