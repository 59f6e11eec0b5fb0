//! Places, borrow records and the state of a body at one point (language.md §12.2, §12.3).
//! Must not know expressions or report; `uses` does.

use std::collections::BTreeMap;
use std::rc::Rc;

use syntax::TextRange;

use crate::hir::{ExprId, Name};

/// What a place begins with: a local of the body, or, numbered after the locals, a state field or a
/// constructor parameter of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Root(pub(super) u32);

impl Root {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The one projection that comparisons look at; all indices are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proj {
    Field(Name),
    Element(u32),
    Index,
    Deref,
}

/// A root, cut to at most one projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) root: Root,
    pub(super) proj: Option<Proj>,
}

impl Place {
    pub(super) fn whole(root: Root) -> Self {
        Self { root, proj: None }
    }

    /// With a further projection, unless there is one.
    pub(super) fn project(self, proj: Proj) -> Self {
        Self {
            root: self.root,
            proj: self.proj.or(Some(proj)),
        }
    }

    /// Whether one is a prefix of the other.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.root == other.root
            && (self.proj.is_none() || other.proj.is_none() || self.proj == other.proj)
    }
}

/// Who keeps a borrow alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// The call, operator or statement around the borrow (§12.4 rule 4).
    Temporary,
    /// The receiver of a call whose arguments are still being evaluated; it only blocks moves until then.
    Receiver,
    /// A local, or one projection of it.
    Local(Place),
}

/// A borrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub(super) place: Place,
    pub(super) mutable: bool,
    pub(super) holder: Holder,
    /// The `&e`, or the receiver.
    pub(super) expr: ExprId,
    /// Whether the root itself is what is borrowed, not something that it refers to.
    pub(super) owned: bool,
}

impl Record {
    /// Whether the root's local, or a projection of it, holds the borrow.
    pub(super) fn held_by(&self, root: Root) -> bool {
        matches!(self.holder, Holder::Local(p) if p.root == root)
    }
}

/// Why a place cannot be read. The order is that of joins: Moved wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    Uninit,
    Moved(Move),
}

/// Where a value went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) expr: ExprId,
    /// The call or statement that took it.
    pub(super) site: TextRange,
    /// Whether other ways to here move it elsewhere.
    pub(super) several: bool,
}

/// What holds at one point of a body. Cloning is cheap; arms of branches share what they do not change.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// Whether control can be here at all.
    pub(super) reachable: bool,
    /// Moved and uninitialised places; all others are owned.
    gone: Rc<BTreeMap<Place, Gone>>,
    /// Ascending.
    records: Rc<Vec<Record>>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.reachable == other.reachable
            && (Rc::ptr_eq(&self.records, &other.records) || self.records == other.records)
            && (Rc::ptr_eq(&self.gone, &other.gone)
                || (self.gone.len() == other.gone.len()
                    && self.gone.iter().zip(other.gone.iter()).all(|(a, b)| {
                        a.0 == b.0 && matches!(a.1, Gone::Moved(_)) == matches!(b.1, Gone::Moved(_))
                    })))
    }
}

impl State {
    /// Everything owned, nothing borrowed.
    pub(super) fn new() -> Self {
        Self {
            reachable: true,
            gone: Rc::default(),
            records: Rc::default(),
        }
    }

    /// No way leads here.
    pub(super) fn unreachable() -> Self {
        Self {
            reachable: false,
            ..Self::new()
        }
    }

    /// Rule 6 of §12.4; ways that cannot be taken do not count.
    pub(super) fn join(mut self, other: &Self) -> Self {
        if !other.reachable {
            return self;
        }
        if !self.reachable {
            return other.clone();
        }
        if !Rc::ptr_eq(&self.gone, &other.gone) {
            for (place, gone) in other.gone.iter() {
                match (self.gone.get(place), gone) {
                    (Some(Gone::Moved(a)), Gone::Moved(b)) => {
                        if !a.several && (b.several || a.expr != b.expr) {
                            let several = Gone::Moved(Move {
                                several: true,
                                ..*a
                            });
                            Rc::make_mut(&mut self.gone).insert(*place, several);
                        }
                    }
                    (Some(Gone::Moved(_)), _) | (Some(Gone::Uninit), Gone::Uninit) => {}
                    _ => {
                        Rc::make_mut(&mut self.gone).insert(*place, *gone);
                    }
                }
            }
        }
        if !Rc::ptr_eq(&self.records, &other.records) {
            for r in other.records.iter() {
                self.add(*r);
            }
        }
        self
    }

    /// How much a copy of it takes, for bounds of work.
    pub(super) fn size(&self) -> usize {
        self.gone.len() + self.records.len()
    }

    /// What makes a use of a place impossible, with the place that is gone.
    pub(super) fn gone(&self, place: Place) -> Option<(Place, Gone)> {
        if self.gone.is_empty() {
            return None;
        }
        let whole = Place::whole(place.root);
        if let Some(g) = self.gone.get(&whole) {
            return Some((whole, *g));
        }
        match place.proj {
            Some(_) => self.gone.get(&place).map(|g| (place, *g)),
            None => self
                .gone
                .range(whole..)
                .next()
                .filter(|(p, _)| p.root == place.root)
                .map(|(p, g)| (*p, *g)),
        }
    }

    /// Marks a place as gone.
    pub(super) fn lose(&mut self, place: Place, gone: Gone) {
        Rc::make_mut(&mut self.gone).insert(place, gone);
    }

    /// Makes a place whole again: all of the root if it has no projection.
    pub(super) fn refill(&mut self, place: Place) {
        if self.gone.is_empty() {
            return;
        }
        match place.proj {
            Some(_) => {
                let whole = Place::whole(place.root);
                // The first write of a field counts as the first write of the whole.
                if self.gone.contains_key(&place)
                    || matches!(self.gone.get(&whole), Some(Gone::Uninit))
                {
                    let gone = Rc::make_mut(&mut self.gone);
                    gone.remove(&place);
                    if matches!(gone.get(&whole), Some(Gone::Uninit)) {
                        gone.remove(&whole);
                    }
                }
            }
            None => {
                let parts: Vec<Place> = self
                    .gone
                    .range(place..)
                    .take_while(|(p, _)| p.root == place.root)
                    .map(|(p, _)| *p)
                    .collect();
                if !parts.is_empty() {
                    let gone = Rc::make_mut(&mut self.gone);
                    for p in parts {
                        gone.remove(&p);
                    }
                }
            }
        }
    }

    /// The borrows, in a fixed order.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds a borrow once.
    pub(super) fn add(&mut self, record: Record) {
        if let Err(at) = self.records.binary_search(&record) {
            Rc::make_mut(&mut self.records).insert(at, record);
        }
    }

    /// Drops the borrows that do not meet the condition.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Record) -> bool) {
        if self.records.iter().any(|r| !keep(r)) {
            Rc::make_mut(&mut self.records).retain(|r| keep(r));
        }
    }

    /// Gives the temporary borrow of an expression to a local; `false` if there is none.
    pub(super) fn give(&mut self, expr: ExprId, holder: Place) -> bool {
        let Some(at) = self.temporary(expr) else {
            return false;
        };
        let mut record = self.records[at];
        record.holder = Holder::Local(holder);
        // A place cannot keep itself borrowed: `cur = &cur.next`.
        if record.place.root != holder.root {
            self.add(record);
        }
        true
    }

    /// Ends the temporary borrow of an expression.
    pub(super) fn end(&mut self, expr: ExprId) {
        if let Some(at) = self.temporary(expr) {
            Rc::make_mut(&mut self.records).remove(at);
        }
    }

    fn temporary(&self, expr: ExprId) -> Option<usize> {
        self.records
            .iter()
            .position(|r| r.expr == expr && !matches!(r.holder, Holder::Local(_)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn whole(n: u32) -> Place {
        Place::whole(Root(n))
    }

    fn field(n: u32, f: u32) -> Place {
        whole(n).project(Proj::Field(Name(f)))
    }

    fn moved() -> Gone {
        Gone::Moved(Move {
            expr: ExprId(0),
            site: TextRange::new(0, 1),
            several: false,
        })
    }

    fn record(place: Place, mutable: bool, holder: u32) -> Record {
        Record {
            place,
            mutable,
            holder: Holder::Local(whole(holder)),
            expr: ExprId(holder),
            owned: true,
        }
    }

    #[test]
    fn prefixes_overlap_and_fields_do_not() {
        assert!(whole(0).overlaps(field(0, 1)));
        assert!(field(0, 1).overlaps(whole(0)));
        assert!(field(0, 1).overlaps(field(0, 1)));
        assert!(!field(0, 1).overlaps(field(0, 2)));
        assert!(!whole(0).overlaps(whole(1)));
        let element = whole(0).project(Proj::Index);
        assert!(element.overlaps(whole(0).project(Proj::Index)));
    }

    #[test]
    fn places_are_cut_to_one_projection() {
        let deep = field(0, 1)
            .project(Proj::Field(Name(2)))
            .project(Proj::Index);
        assert_eq!(deep, field(0, 1));
    }

    #[test]
    fn a_moved_field_leaves_its_siblings() {
        let mut s = State::new();
        s.lose(field(0, 1), moved());
        assert!(s.gone(field(0, 1)).is_some());
        assert!(s.gone(field(0, 2)).is_none());
        assert_eq!(s.gone(whole(0)).unwrap().0, field(0, 1));
        assert!(s.gone(whole(1)).is_none());
        s.refill(field(0, 1));
        assert!(s.gone(whole(0)).is_none());
    }

    #[test]
    fn a_write_of_the_whole_mends_every_part() {
        let mut s = State::new();
        s.lose(field(0, 1), moved());
        s.lose(field(0, 2), moved());
        s.lose(field(1, 2), moved());
        s.refill(whole(0));
        assert!(s.gone(whole(0)).is_none());
        assert!(s.gone(field(1, 2)).is_some());
    }

    #[test]
    fn moved_wins_over_uninitialised_and_owned() {
        let mut a = State::new();
        a.lose(whole(0), Gone::Uninit);
        let mut b = State::new();
        b.lose(whole(0), moved());
        let ab = a.clone().join(&b);
        let ba = b.join(&a);
        assert!(matches!(ab.gone(whole(0)), Some((_, Gone::Moved(_)))));
        assert!(ab == ba);
        assert!(matches!(
            State::new().join(&a).gone(whole(0)),
            Some((_, Gone::Uninit))
        ));
    }

    #[test]
    fn joins_unite_records_once_and_skip_dead_ways() {
        let mut a = State::new();
        a.add(record(whole(0), false, 1));
        let mut b = State::new();
        b.add(record(whole(0), false, 1));
        b.add(record(whole(0), true, 2));
        assert_eq!(a.clone().join(&b).records().len(), 2);
        assert_eq!(a.clone().join(&State::unreachable()).records().len(), 1);
        assert_eq!(State::unreachable().join(&b).records().len(), 2);
    }

    #[test]
    fn a_temporary_ends_or_is_given_away() {
        let mut s = State::new();
        let r = Record {
            holder: Holder::Temporary,
            ..record(whole(0), false, 7)
        };
        s.add(r);
        assert!(s.give(ExprId(7), whole(3)));
        s.end(ExprId(7));
        assert_eq!(s.records().len(), 1);
        assert!(s.records()[0].held_by(Root(3)));
        assert!(!s.give(ExprId(7), whole(3)));
        s.retain(|r| !r.held_by(Root(3)));
        assert!(s.records().is_empty());
    }

    #[test]
    fn a_place_does_not_hold_itself() {
        let mut s = State::new();
        s.add(Record {
            holder: Holder::Temporary,
            ..record(field(3, 1), true, 7)
        });
        assert!(s.give(ExprId(7), whole(3)));
        s.end(ExprId(7));
        assert!(s.records().is_empty());
    }
}
