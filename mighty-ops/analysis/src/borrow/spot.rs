//! Place expressions, `&` and assignments: from the expression to the place, then to its use.
//! Must not hold the table of uses; `uses` does.

use super::place::{Holder, Place, Proj, Root};
use super::uses::Spot;
use super::walk::{Mode, Pend, Pending, Walker};
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Walker<'_, '_> {
    /// Evaluates the parts of a place expression; for anything else, the value.
    pub(super) fn spot(&mut self, e: ExprId) -> Result<Spot, Pending> {
        let locals = self.body.locals.len() as u32;
        let root = |n: u32| Spot {
            place: Place::whole(Root(n)),
            expr: e,
            through: false,
            indexed: false,
            unknown: false,
        };
        match self.body.expr(e).kind {
            ExprKind::Path(Res::Local(l)) => {
                self.now = self.live.end(e);
                Ok(root(l.0))
            }
            ExprKind::Path(Res::State(_, i)) => Ok(root(locals + i)),
            ExprKind::Path(Res::Ctor(a, i)) => {
                let state = self.hir.agents[a.index()].state.len() as u32;
                Ok(root(locals + state + i))
            }
            ExprKind::Field { base, name, .. } => self.part(e, base, Proj::Field(name)),
            ExprKind::TupleField { base, index, .. } => self.part(e, base, Proj::Element(index)),
            ExprKind::Index { base, index } => {
                let spot = self.part(e, base, Proj::Index);
                self.walk_off(index);
                spot.map(|s| Spot { indexed: true, ..s })
            }
            ExprKind::Unary {
                op: UnOp::Deref,
                operand,
            } => {
                let spot = self.part(e, operand, Proj::Deref)?;
                Ok(Spot {
                    through: true,
                    ..spot
                })
            }
            _ => Err(self.walk(e, Mode::Read)),
        }
    }

    pub(super) fn part(&mut self, e: ExprId, base: ExprId, proj: Proj) -> Result<Spot, Pending> {
        let spot = self.spot(base)?;
        let ty = self.types.of(base);
        let pointer = matches!(self.hir.tys.kind(ty), TyKind::Ref(..) | TyKind::Ptr(..));
        Ok(Spot {
            place: spot.place.project(proj),
            expr: e,
            through: spot.through || pointer,
            indexed: spot.indexed,
            unknown: spot.unknown || ty == Ty::UNKNOWN,
        })
    }

    pub(super) fn use_place(&mut self, e: ExprId, mode: Mode, peek: bool) -> Pending {
        let spot = match self.spot(e) {
            Ok(s) => s,
            Err(value) => return value,
        };
        let ty = self.types.of(e);
        let copy = self.shapes.is_copy(ty);
        if mode.moves() && !copy && self.moves_out(&spot) {
            self.move_out(&spot);
        } else {
            self.read(&spot);
        }
        if let ExprKind::Unary {
            op: UnOp::Deref,
            operand,
        } = self.body.expr(e).kind
            && !peek
            && !copy
            && ty != Ty::UNKNOWN
            && self.is_reference(self.types.of(operand))
        {
            self.moved_out_of_reference(e);
        }
        let carried = if self.shapes.has_reference(ty) {
            self.carried(spot.place)
        } else {
            Vec::new()
        };
        self.release(spot.place.root);
        carried
    }

    /// Copies of the borrows that a place holds (§12.4 rule 2: `let s = r`).
    pub(super) fn carried(&self, place: Place) -> Pending {
        self.state
            .records()
            .iter()
            .filter(|r| matches!(r.holder, Holder::Local(p) if p.overlaps(place)))
            .map(|r| Pend::Copy(*r))
            .collect()
    }

    /// Rule 3 of §12.4, after a read.
    pub(super) fn release(&mut self, root: Root) {
        if self.state.records().is_empty() {
            return;
        }
        if let Some(l) = self.local_of(root)
            && self.live.last_use(l) <= self.now
        {
            self.pay(self.state.records().len());
            self.state.retain(|r| !r.held_by(root));
        }
    }

    /// Rule 3 for all holders at once: where ways meet or a body restored the state, last reads may lie
    /// behind that dropped nothing on this way.
    pub(super) fn expire(&mut self) {
        if self.state.records().is_empty() {
            return;
        }
        self.pay(self.state.records().len());
        let (live, now, locals) = (&self.live, self.now, self.body.locals.len());
        self.state.retain(|r| match r.holder {
            Holder::Local(p) if p.root.index() < locals => live.last_use(LocalId(p.root.0)) > now,
            _ => true,
        });
    }

    pub(super) fn reference(&mut self, e: ExprId, mutable: bool, operand: ExprId) -> Pending {
        let spot = match self.spot(operand) {
            Ok(s) => s,
            Err(value) => return value,
        };
        let mut value = self.borrow(&spot, mutable, e);
        if spot.through || self.shapes.has_reference(self.types.of(operand)) {
            value.extend(self.carried(Place::whole(spot.place.root)));
        }
        self.release(spot.place.root);
        value
    }

    pub(super) fn assignment(
        &mut self,
        e: ExprId,
        op: Option<BinOp>,
        place: ExprId,
        value: ExprId,
    ) {
        let slot = self.slot_mode(self.types.of(place));
        if let (None, ExprKind::Path(Res::Local(l))) = (op, self.body.expr(place).kind) {
            let root = Root(l.0);
            // An assignment first drops the old records, unless its value still needs them.
            let late = self.live.reads_itself(e);
            if !late {
                self.state.retain(|r| !r.held_by(root));
            }
            let carried = self.walk(value, slot);
            if late {
                self.state.retain(|r| !r.held_by(root));
            }
            self.assign(&Spot {
                place: Place::whole(root),
                expr: place,
                through: false,
                indexed: false,
                unknown: false,
            });
            self.hold(&carried, &[Place::whole(root)]);
            return;
        }
        let spot = match self.spot(place) {
            Ok(s) => s,
            Err(carried) => {
                self.drop_all(&carried);
                self.walk_off(value);
                return;
            }
        };
        if op.is_some() || spot.through || spot.indexed {
            self.read(&spot);
        }
        let mode = if op.is_some() { Mode::Read } else { slot };
        let carried = self.walk(value, mode);
        if !self.state.reachable {
            return;
        }
        self.assign(&spot);
        if op.is_none() && !spot.through && self.local_of(spot.place.root).is_some() {
            let holder = Holder::Local(spot.place);
            if !spot.indexed {
                self.state.retain(|r| r.holder != holder);
            }
            self.hold(&carried, &[spot.place]);
        } else {
            self.drop_all(&carried);
        }
        self.release(spot.place.root);
    }
}
