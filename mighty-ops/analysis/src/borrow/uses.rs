//! The table of §12.3: what reading, moving, borrowing and assigning a place does, and its reports.
//! Must not decide which of these an expression does; `walk` and `calls` do.

use super::place::{Gone, Holder, Move, Place, Proj, Record, Root};
use super::walk::{Pend, Pending, Walker};
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::ty::{Ty, TyKind};

/// A place expression after its parts were evaluated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) place: Place,
    /// The expression itself.
    pub(super) expr: ExprId,
    /// Whether it goes through a reference, a pointer or a smart handle.
    pub(super) through: bool,
    /// Whether it goes through an index.
    pub(super) indexed: bool,
    /// Whether it is a part of something of unknown type, perhaps of a reference or handle.
    pub(super) unknown: bool,
}

impl Walker<'_, '_> {
    /// The local that a root is.
    pub(super) fn local_of(&self, root: Root) -> Option<LocalId> {
        (root.index() < self.body.locals.len()).then_some(LocalId(root.0))
    }

    /// A root in words.
    pub(super) fn root_name(&self, root: Root) -> &str {
        if let Some(l) = self.local_of(root) {
            return self.hir.text(self.body.local(l).name);
        }
        let i = root.index() - self.body.locals.len();
        let Some(a) = self.agent.map(|a| &self.hir.agents[a.index()]) else {
            return "self";
        };
        let name = match a.state.get(i) {
            Some(f) => Some(f.name),
            None => a.ctor.get(i - a.state.len()).and_then(|p| p.name),
        };
        name.map_or("self", |n| self.hir.text(n))
    }

    pub(super) fn is_ctor(&self, root: Root) -> bool {
        self.local_of(root).is_none()
            && self.agent.is_some_and(|a| {
                root.index() - self.body.locals.len() >= self.hir.agents[a.index()].state.len()
            })
    }

    pub(super) fn place_name(&self, place: Place) -> String {
        let root = self.root_name(place.root);
        match place.proj {
            None => root.to_owned(),
            Some(Proj::Field(n)) => format!("{root}.{}", self.hir.text(n)),
            Some(Proj::Element(n)) => format!("{root}.{n}"),
            Some(Proj::Index) => format!("{root}[_]"),
            Some(Proj::Deref) => format!("*{root}"),
        }
    }

    /// Reports once per place in the source.
    pub(super) fn report(&mut self, code: u16, at: ExprId, title: String, more: Report) {
        if !self.state.reachable || !self.reported.insert((code, at)) {
            return;
        }
        let mut d = Diagnostic::error(code, self.body.file, self.body.expr(at).range, title);
        for n in more.notes {
            d = d.note(n);
        }
        self.sink.push(d.hint(more.hint));
    }

    /// How a copy could be given away instead, if the type has one.
    pub(super) fn clone_hint(&self, e: ExprId) -> FixHint {
        let range = self.body.expr(e).range;
        if !self.shapes.can_clone(self.types.of(e)) {
            return FixHint::None;
        }
        if self.shorthand.contains(&e) {
            let name = self.hir.text_of(self.body.file, range);
            return FixHint::Replace {
                range,
                text: format!("{name}: {name}.clone()"),
            };
        }
        FixHint::CloneOrBorrow { range }
    }

    /// The first line of what stands at a range, for notes.
    pub(super) fn quote(&self, range: syntax::TextRange) -> String {
        let line = self.hir.text_of(self.body.file, range);
        let line = line.lines().next().unwrap_or_default().trim();
        let short: String = line.chars().take(60).collect();
        if short.len() < line.len() {
            format!("`{short}…`")
        } else {
            format!("`{short}`")
        }
    }

    /// MT3001, MT3003 or MT3015 if a place cannot be used now.
    pub(super) fn usable(&mut self, place: Place, at: ExprId, borrow: bool) -> bool {
        match self.state.gone(place) {
            None => true,
            Some((_, Gone::Uninit)) => {
                let name = self.root_name(place.root).to_owned();
                let hint = self.initial_value(place.root);
                let report = Report::hint(hint).note(
                    "the `let` only names it; a value has to be assigned on every way to here",
                );
                self.report(
                    3015,
                    at,
                    format!("`{name}` is read before it has a value"),
                    report,
                );
                false
            }
            Some((part, Gone::Moved(m))) => {
                let name = self.place_name(place);
                let code = if borrow { 3003 } else { 3001 };
                let what = if borrow { "borrowed" } else { "used" };
                let title = if part.proj.is_some() && place.proj.is_none() {
                    let part = self.place_name(part);
                    format!("`{name}` is {what} as a whole after `{part}` was moved out of it")
                } else {
                    format!("`{name}` is {what} after its value was moved")
                };
                let note = if m.expr == at {
                    "the move is this one, in an earlier round of the loop".to_owned()
                } else {
                    let elsewhere = if m.several {
                        ", and on other ways too"
                    } else {
                        ""
                    };
                    format!("its value went away in {}{elsewhere}", self.quote(m.site))
                };
                let hint = if m.several {
                    FixHint::None
                } else {
                    self.clone_hint(m.expr)
                };
                let report = Report::hint(hint).note(note);
                self.report(code, at, title, report);
                false
            }
        }
    }

    /// A start value for a `let` without one, if the type has an obvious one.
    fn initial_value(&self, root: Root) -> FixHint {
        let Some(l) = self.local_of(root) else {
            return FixHint::None;
        };
        let Some(at) = self.valueless.get(&l) else {
            return FixHint::None;
        };
        let value = match self.hir.tys.kind(self.types.local(l)) {
            TyKind::Int(_) => "0",
            TyKind::Float(_) => "0.0",
            TyKind::Bool => "false",
            TyKind::Char => "' '",
            TyKind::Str => "\"\"",
            TyKind::String => "String(\"\")",
            TyKind::Vec(_) => "Vec.new()",
            TyKind::Option(_) => "None",
            _ => return FixHint::None,
        };
        let local = self.body.local(l);
        if local.mutable || !self.live.is_assigned(l) {
            return FixHint::Insert {
                at: *at,
                text: format!(" = {value}"),
            };
        }
        // With a start value, what was its first write is a second one.
        let range = syntax::TextRange::new(local.range.start, *at);
        let old = self.hir.text_of(self.body.file, range);
        FixHint::Replace {
            range,
            text: format!("mut {old} = {value}"),
        }
    }

    /// Reading: any borrow may be there.
    pub(super) fn read(&mut self, spot: &Spot) {
        self.usable(spot.place, spot.expr, false);
    }

    /// Moving a value that is not copied. `false` for places that give copies ([R:G126]).
    pub(super) fn moves_out(&self, spot: &Spot) -> bool {
        let Some(local) = self.local_of(spot.place.root) else {
            return false;
        };
        let of_self = spot.place.proj.is_some() && self.body.self_local == Some(local);
        !(spot.through || spot.indexed || spot.unknown || of_self)
    }

    pub(super) fn move_out(&mut self, spot: &Spot) {
        if !self.usable(spot.place, spot.expr, false) {
            return;
        }
        let mut place = spot.place;
        let held = self
            .state
            .records()
            .iter()
            .find(|r| r.place.overlaps(place))
            .copied();
        if let Some(r) = held {
            let name = self.place_name(place);
            let whole = place.proj.is_none();
            let code = if whole { 3008 } else { 3002 };
            let title = if whole {
                format!("`{name}` is moved while it is borrowed")
            } else {
                format!("`{name}` is moved out while it or its owner is borrowed")
            };
            let report = self.conflict(&r).with_hint(self.clone_hint(spot.expr));
            self.report(code, spot.expr, title, report);
        }
        if self.options.whole_root_moves {
            place.proj = None;
        }
        let gone = Gone::Moved(Move {
            expr: spot.expr,
            site: self.site,
            several: false,
        });
        self.state.lose(place, gone);
    }

    /// What is to be said about the borrow in the way.
    pub(super) fn conflict(&self, r: &Record) -> Report {
        let kind = if r.mutable { "`&mut`" } else { "shared" };
        let borrow = self.quote(self.body.expr(r.expr).range);
        let mut facts = Vec::new();
        let range = |e: ExprId| {
            let r = self.body.expr(e).range;
            format!("{}..{}", r.start, r.end)
        };
        facts.push(("borrow", range(r.expr)));
        let note = match r.holder {
            Holder::Local(p) => {
                let name = self.root_name(p.root).to_owned();
                let note =
                    format!("`{name}` keeps the {kind} borrow {borrow} and is read again later");
                if let Some(e) = self.local_of(p.root).and_then(|l| self.live.last_read(l)) {
                    facts.push(("last_read", range(e)));
                }
                facts.push(("holder", name));
                note
            }
            Holder::Temporary => {
                format!(
                    "the {kind} borrow {borrow} lasts until the call or statement around it ends"
                )
            }
            Holder::Receiver => {
                format!("the receiver {borrow} stays borrowed ({kind}) until the call ends")
            }
        };
        Report::hint(FixHint::Facts(facts)).note(note)
    }

    /// `&place` and `&mut place`; `at` is the whole borrow.
    pub(super) fn borrow(&mut self, spot: &Spot, mutable: bool, at: ExprId) -> Pending {
        if self.start_borrow(spot, mutable, at, Holder::Temporary) {
            vec![Pend::Temp(at)]
        } else {
            Vec::new()
        }
    }

    /// The row of the table; `true` if there is a record now.
    pub(super) fn start_borrow(
        &mut self,
        spot: &Spot,
        mutable: bool,
        at: ExprId,
        holder: Holder,
    ) -> bool {
        if !self.usable(spot.place, at, true) {
            return false;
        }
        let place = spot.place;
        self.pay(self.state.records().len());
        let in_way = self
            .state
            .records()
            .iter()
            .filter(|r| r.holder != Holder::Receiver && r.place.overlaps(place))
            .filter(|r| mutable || r.mutable)
            .max_by_key(|r| r.mutable)
            .copied();
        if let Some(r) = in_way {
            self.overlapping(&r, mutable, place, at);
            return false;
        }
        if mutable && !spot.through && !self.is_mutable(place.root) {
            let name = self.root_name(place.root).to_owned();
            let report = Report::hint(self.make_mut(place.root));
            let title = format!("`{name}` is borrowed with `&mut` but not declared `mut`");
            self.report(3013, at, title, report);
            return false;
        }
        let owned = !spot.through
            && self
                .local_of(place.root)
                .is_some_and(|l| !self.is_reference(self.types.local(l)));
        self.state.add(Record {
            place,
            mutable,
            holder,
            expr: at,
            owned,
        });
        true
    }

    /// MT3004, MT3005 or MT3006: a new borrow meets an old one.
    pub(super) fn overlapping(&mut self, old: &Record, mutable: bool, place: Place, at: ExprId) {
        let name = self.place_name(place);
        let (code, title) = match (old.mutable, mutable) {
            (false, _) => (
                3004,
                format!("`{name}` is borrowed with `&mut` while a shared borrow of it is alive"),
            ),
            (true, false) => (
                3005,
                format!("`{name}` is borrowed while a `&mut` borrow of it is alive"),
            ),
            (true, true) => (
                3006,
                format!("`{name}` is borrowed with `&mut` twice at a time"),
            ),
        };
        let report = self.conflict(old);
        self.report(code, at, title, report);
    }

    pub(super) fn is_mutable(&self, root: Root) -> bool {
        match self.local_of(root) {
            // `self: Self` cannot be declared `mut`, so it is left alone.
            Some(l) => {
                let local = self.body.local(l);
                local.mutable || local.kind == LocalKind::SelfParam
            }
            None => !self.is_ctor(root),
        }
    }

    pub(super) fn make_mut(&self, root: Root) -> FixHint {
        match self.local_of(root) {
            Some(l) => FixHint::MakeMut {
                binding: self.body.local(l).range,
            },
            None => FixHint::None,
        }
    }

    pub(super) fn is_reference(&self, ty: Ty) -> bool {
        matches!(self.hir.tys.kind(ty), TyKind::Ref(..))
    }

    /// The write of an assignment, plain or compound, to a place of an owned local or of state.
    pub(super) fn assign(&mut self, spot: &Spot) {
        let place = spot.place;
        if self.state.gone(place).is_some() {
            // The first write, or one that mends what was moved.
            self.state.refill(place);
            return;
        }
        if !spot.through && !self.is_mutable(place.root) {
            let name = self.root_name(place.root).to_owned();
            let title = if place.proj.is_some() {
                format!("a part of `{name}` is assigned to, but `{name}` is not declared `mut`")
            } else {
                format!("`{name}` is assigned to a second time, but not declared `mut`")
            };
            let report = Report::hint(self.make_mut(place.root));
            self.report(3014, spot.expr, title, report);
        }
    }

    /// MT3009: the value of an explicit `*r` that is not copied.
    pub(super) fn moved_out_of_reference(&mut self, e: ExprId) {
        let ty = self.hir.show(self.types.of(e));
        let name = self.quote(self.body.expr(e).range);
        let report = Report::hint(self.clone_hint(e)).note(format!(
            "`{ty}` is not copied, and a reference only lends it"
        ));
        self.report(
            3009,
            e,
            format!("{name} would take the value out of the reference"),
            report,
        );
    }

    /// MT3007: a borrow that something outside still holds when the owner's block ends.
    pub(super) fn outlives(&mut self, r: &Record) {
        let name = self.place_name(r.place);
        let note = match r.holder {
            Holder::Local(p) => format!(
                "`{}` still holds the reference when the block of `{}` ends, and is read later",
                self.root_name(p.root),
                self.root_name(r.place.root)
            ),
            _ => "the block's value still holds the reference when the owner is dropped".to_owned(),
        };
        self.report(
            3007,
            r.expr,
            format!("the reference to `{name}` lives longer than `{name}`"),
            Report::hint(FixHint::Facts(vec![(
                "owner",
                self.root_name(r.place.root).to_owned(),
            )]))
            .note(note),
        );
    }
}

/// What goes with a title.
#[derive(Default)]
pub(super) struct Report {
    notes: Vec<String>,
    hint: FixHint,
}

impl Report {
    pub(super) fn hint(hint: FixHint) -> Self {
        Self {
            notes: Vec::new(),
            hint,
        }
    }

    pub(super) fn with_hint(mut self, hint: FixHint) -> Self {
        self.hint = hint;
        self
    }

    pub(super) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}
