//! Arguments against a signature: number, names, types, and what foreign functions take for pointers
//! (language.md §7.4, §23, [R:G78]).
//! Must not know where a signature comes from.

use syntax::TextRange;

use super::call::Sig;
use super::driver::{Fx, Want};
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{IntTy, Ty, TyKind};

impl Fx<'_, '_> {
    /// Arguments of which nothing is wanted.
    pub(super) fn loose_args(&mut self, args: List<Arg>) {
        for a in self.body.args_of(args) {
            self.synth(a.value);
        }
    }

    /// Compares arguments with a signature.
    pub(super) fn check_args(&mut self, e: ExprId, what: &str, sig: &Sig, args: List<Arg>) {
        let body = self.body;
        let args = body.args_of(args);
        let n = sig.params.len();
        let named = args.iter().any(|a| a.name.is_some()) && !sig.names.is_empty();
        let fits = if sig.variadic {
            args.len() >= n
        } else {
            args.len() == n
        };
        if !fits {
            let range = self.args_range(e, args);
            self.wrong_count(range, what, &sig.params, sig.variadic, args.len());
        }
        // Which parameters have their value already.
        let mut given = vec![false; if named { n } else { 0 }];
        for (i, a) in args.iter().enumerate() {
            let mut at = i;
            if named && let Some((name, range)) = a.name {
                match sig.names.iter().position(|p| *p == Some(name)) {
                    Some(p) => at = p,
                    None => {
                        self.synth(a.value);
                        if fits {
                            let names: Vec<Name> = sig.names.iter().flatten().copied().collect();
                            let title =
                                format!("{what} has no parameter `{}`", self.u.hir.text(name));
                            let d = self.diagnostic(2005, range, title);
                            let d = self.with_near(d, name, &names);
                            self.push(d);
                        }
                        continue;
                    }
                }
            }
            if let Some(was) = given.get_mut(at)
                && std::mem::replace(was, true)
                && fits
            {
                self.synth(a.value);
                let name = sig.names.get(at).copied().flatten();
                let name = name.map_or("_", |n| self.u.hir.text(n));
                let title = format!("the parameter `{name}` of {what} is given twice");
                let range = a.name.map_or(body.expr(a.value).range, |(_, r)| r);
                self.error(2005, range, title);
                continue;
            }
            match sig.params.get(at) {
                Some(p) if fits => self.check_arg(a.value, *p, sig.foreign),
                Some(p) => {
                    // The count is reported; types only help inference.
                    let found = self.infer(a.value, Want::Ty(*p));
                    let _ = found;
                }
                None => {
                    self.synth(a.value);
                }
            }
        }
    }

    fn check_arg(&mut self, e: ExprId, want: Ty, foreign: bool) {
        if !foreign {
            self.check(e, want, 2001);
            return;
        }
        let found = self.infer(e, Want::Ty(want));
        match self.u.shape(want) {
            TyKind::Opaque(_) => {}
            TyKind::Ptr(inner, mutable) => {
                if !self.fits_pointer(found, inner, mutable) {
                    let range = self.value_range(e);
                    self.mismatch(2001, range, want, found);
                }
            }
            _ => {
                self.expect(e, found, want, 2001);
            }
        }
    }

    /// §23: text for `*U8`, references for pointers to what they refer to, `&mut` for `*mut`.
    fn fits_pointer(&mut self, found: Ty, inner: Ty, mutable: bool) -> bool {
        let byte = |fx: &mut Self| {
            matches!(
                fx.u.shape(inner),
                TyKind::Int(IntTy::U8 | IntTy::I8)
                    | TyKind::Char
                    | TyKind::Opaque(_)
                    | TyKind::Unknown
                    | TyKind::Error
            )
        };
        match self.u.shape(found) {
            TyKind::Ref(t, m) | TyKind::Ptr(t, m) => {
                let (t, _) = self.u.peel(t);
                let elem = match self.u.shape(t) {
                    TyKind::Vec(x) | TyKind::Array(x, _) | TyKind::Slice(x) => x,
                    TyKind::Str | TyKind::String | TyKind::Bytes => {
                        return (m || !mutable) && byte(self);
                    }
                    _ => t,
                };
                (m || !mutable) && (self.u.unify(t, inner) || self.u.unify(elem, inner))
            }
            TyKind::Str | TyKind::String | TyKind::Bytes => !mutable && byte(self),
            TyKind::Int(_)
            | TyKind::Float(_)
            | TyKind::Bool
            | TyKind::Char
            | TyKind::Unit
            | TyKind::Duration
            | TyKind::Size
            | TyKind::Tuple(_)
            | TyKind::Struct(..)
            | TyKind::Enum(..)
            | TyKind::Option(_)
            | TyKind::Result(..) => false,
            TyKind::Var(_) => !matches!(self.u.open_kind(found), Some(Kind::Integer | Kind::Float)),
            _ => true,
        }
    }

    /// What lies between the parentheses of a call.
    fn args_range(&self, e: ExprId, args: &[Arg]) -> TextRange {
        let whole = self.body.expr(e).range;
        if let (Some(a), Some(b)) = (args.first(), args.last()) {
            let start = a
                .name
                .map_or(self.body.expr(a.value).range.start, |(_, r)| r.start);
            return TextRange::new(start, self.body.expr(b.value).range.end);
        }
        whole
    }
}
