//! Signatures of built-in methods and constructors (language.md §25.2, §25.3; stdlib.md §2).
//! Anything not listed takes what it likes and yields any; add a line to make one known.

use super::Method;
use super::call::Sig;
use super::driver::{Fx, Want};
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{IntTy, Ty, TyKind};

impl Fx<'_, '_> {
    pub(super) fn builtin_method(
        &mut self,
        e: ExprId,
        recv: Ty,
        name: Name,
        explicit: &[Ty],
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let text = self.u.hir.text(name).to_owned();
        let text = text.as_str();
        let given = self.body.args_of(args).len();
        // The ways out of taint work on any text (§16).
        match text {
            "matches_regex" if given == 1 => {
                self.loose_args(args);
                let ty = self.option(Ty::STR);
                return self.done(e, Method::Builtin { known: true }, ty);
            }
            "sanitize_with" => {
                self.loose_args(args);
                return self.done(e, Method::Builtin { known: true }, Ty::STR);
            }
            "in_allowlist" => {
                self.loose_args(args);
                let inner = match explicit.first() {
                    Some(t) => self.u.instantiate(*t),
                    None => self.u.fresh(),
                };
                let ty = self.option(inner);
                return self.done(e, Method::Builtin { known: true }, ty);
            }
            _ => {}
        }
        if let ("extend" | "append", Some(elem)) = (text, self.element(recv)) {
            return self.growing(e, recv, elem, args);
        }
        let kind = self.u.hir.tys.kind(recv);
        let sig = match kind {
            TyKind::Str | TyKind::String => self.text_method(text, given),
            TyKind::Vec(t) | TyKind::List(t) => self.vec_method(recv, t, text, given),
            TyKind::Array(t, _) | TyKind::Slice(t) => match text {
                "push" | "pop" | "insert" | "remove" | "clear" | "extend" | "append"
                | "reserve" => None,
                _ => self.vec_method(recv, t, text, given),
            },
            TyKind::Set(t) => self.set_method(recv, t, text, given),
            TyKind::Map(k, v) => self.map_method(k, v, text, given),
            TyKind::Option(t) => self.option_method(recv, t, text, given),
            TyKind::Result(t, err) => self.result_method(recv, t, err, text, given),
            TyKind::Range(t) => match text {
                "iter" => Some(Sig::plain(vec![], recv)),
                _ => self.sequence(t, text, given),
            },
            TyKind::Bytes => match (text, given) {
                ("len", 0) => Some(Sig::plain(vec![], Ty::USIZE)),
                ("get", 1) => {
                    let i = self.u.var(Kind::Integer);
                    let ret = self.option(Ty::U8);
                    Some(Sig::plain(vec![i], ret))
                }
                ("is_empty", 0) => Some(Sig::plain(vec![], Ty::BOOL)),
                _ => None,
            },
            TyKind::Var(_) => match self.u.open_kind(recv) {
                Some(Kind::Seq { elem, .. }) => {
                    if matches!(
                        text,
                        "push"
                            | "pop"
                            | "insert"
                            | "remove"
                            | "clear"
                            | "extend"
                            | "append"
                            | "reserve"
                    ) {
                        let vec = self.u.hir.tys.intern(TyKind::Vec(elem));
                        let _ = self.u.unify(recv, vec);
                    }
                    self.vec_method(recv, elem, text, given)
                }
                _ => None,
            },
            _ => None,
        };
        match sig {
            Some(sig) => {
                self.hint_result(&sig, want);
                self.check_args(e, &format!("`{text}`"), &sig, args);
                self.done(e, Method::Builtin { known: true }, sig.ret)
            }
            None => {
                self.loose_args(args);
                let any = self.u.fresh();
                let opaque = matches!(
                    kind,
                    TyKind::Var(_) | TyKind::Unknown | TyKind::Opaque(_) | TyKind::AgentRef(_)
                );
                let m = if opaque {
                    Method::Opaque
                } else {
                    Method::Builtin { known: false }
                };
                self.done(e, m, any)
            }
        }
    }

    /// The element type of a collection or sequence literal.
    fn element(&self, ty: Ty) -> Option<Ty> {
        match self.u.shape(ty) {
            TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t)
            | TyKind::Slice(t)
            | TyKind::Array(t, _)
            | TyKind::Range(t) => Some(t),
            _ => match self.u.open_kind(ty) {
                Some(Kind::Seq { elem, .. }) => Some(elem),
                _ => None,
            },
        }
    }

    /// `extend` and `append`: what they take is not fixed (§25.3), but its elements name the receiver's.
    fn growing(&mut self, e: ExprId, recv: Ty, elem: Ty, args: List<Arg>) -> Ty {
        if let Some(Kind::Seq { .. }) = self.u.open_kind(recv) {
            let vec = self.vec_of(elem);
            let _ = self.u.unify(recv, vec);
        }
        for a in self.body.args_of(args) {
            let found = self.infer(a.value, Want::Ty(recv));
            let (found, _) = self.u.peel(found);
            match self.element(found) {
                Some(t) => {
                    let (t, _) = self.u.peel(t);
                    let _ = self.u.unify(elem, t);
                }
                // Of what is not known nothing can be missed.
                None => self.u.touch(elem),
            }
        }
        let any = self.u.fresh();
        self.done(e, Method::Builtin { known: false }, any)
    }

    fn option(&mut self, t: Ty) -> Ty {
        self.u.hir.tys.intern(TyKind::Option(t))
    }

    fn vec_of(&mut self, t: Ty) -> Ty {
        self.u.hir.tys.intern(TyKind::Vec(t))
    }

    fn function(&mut self, params: &[Ty], ret: Ty) -> Ty {
        let list = self.u.hir.tys.list_of(params);
        self.u.hir.tys.intern(TyKind::Fn(list, ret))
    }

    /// Text arguments are any: a `Char` or a reference serves as well.
    fn any(&mut self, n: usize) -> Vec<Ty> {
        (0..n).map(|_| self.u.fresh()).collect()
    }

    fn int(&mut self) -> Ty {
        self.u.fresh()
    }

    fn text_method(&mut self, name: &str, given: usize) -> Option<Sig> {
        let (n, ret) = match name {
            "len" | "capacity" => (0, Ty::USIZE),
            "is_empty" => (0, Ty::BOOL),
            "contains" | "starts_with" | "ends_with" | "is_char_boundary" => (1, Ty::BOOL),
            "find" | "rfind" | "position" | "next_char_boundary" | "prev_char_boundary" => {
                (1, self.option(Ty::USIZE))
            }
            "char_at" => (1, self.option(Ty::CHAR)),
            "slice" => (2, self.option(Ty::STR)),
            "to_lower" | "to_lowercase" | "to_upper" | "to_uppercase" | "trim" | "trim_start"
            | "trim_end" | "as_str" => (0, Ty::STR),
            "replace" => (2, Ty::STR),
            "repeat" => (1, Ty::STR),
            "split" => (1, self.vec_of(Ty::STR)),
            "lines" => (0, self.vec_of(Ty::STR)),
            "chars" => (0, self.vec_of(Ty::CHAR)),
            "bytes" => (0, self.vec_of(Ty::U8)),
            "char_indices" => {
                let pair = self.u.hir.tys.tuple(&[Ty::USIZE, Ty::CHAR]);
                (0, self.vec_of(pair))
            }
            "into_bytes" => (0, Ty::BYTES),
            "push_str" | "clear" if given <= 1 => {
                let any = self.u.fresh();
                (usize::from(name == "push_str"), any)
            }
            "pop" => (0, self.option(Ty::CHAR)),
            "insert_at" | "remove_range" => (2, self.option(Ty::STR)),
            "replace_range" => (3, self.option(Ty::STR)),
            "parse" => {
                let t = self.u.fresh();
                (0, self.option(t))
            }
            _ => return None,
        };
        let params = self.any(n);
        Some(Sig::plain(params, ret))
    }

    fn vec_method(&mut self, recv: Ty, t: Ty, name: &str, given: usize) -> Option<Sig> {
        Some(match (name, given) {
            ("push", _) => Sig::plain(vec![t], recv),
            ("pop" | "first" | "last", _) => Sig::plain(vec![], self.option(t)),
            ("get", _) => {
                let i = self.int();
                Sig::plain(vec![i], self.option(t))
            }
            ("get_mut", _) => {
                let i = self.int();
                let place = self.u.hir.tys.intern(TyKind::Ref(t, true));
                Sig::plain(vec![i], self.option(place))
            }
            ("len" | "capacity", _) => Sig::plain(vec![], Ty::USIZE),
            ("is_empty", _) => Sig::plain(vec![], Ty::BOOL),
            ("clear", _) => {
                let any = self.u.fresh();
                Sig::plain(vec![], any)
            }
            ("iter", _) => Sig::plain(vec![], recv),
            ("as_slice", _) => {
                let slice = self.u.hir.tys.intern(TyKind::Slice(t));
                Sig::plain(vec![], self.u.hir.tys.intern(TyKind::Ref(slice, false)))
            }
            ("insert", 2) => {
                let i = self.int();
                let any = self.u.fresh();
                Sig::plain(vec![i, t], any)
            }
            ("remove" | "reserve", _) => return None,
            ("contains", 1) => {
                let any = self.u.fresh();
                Sig::plain(vec![any], Ty::BOOL)
            }
            // What a drained iterator or a vector gives next.
            ("next", 0) => Sig::plain(vec![], self.option(t)),
            _ => return self.sequence(t, name, given),
        })
    }

    /// Higher-order methods of everything that can be iterated.
    fn sequence(&mut self, t: Ty, name: &str, given: usize) -> Option<Sig> {
        Some(match (name, given) {
            ("map", 1) => {
                let u = self.u.fresh();
                let f = self.function(&[t], u);
                Sig::plain(vec![f], self.vec_of(u))
            }
            ("filter", 1) => {
                let f = self.function(&[t], Ty::BOOL);
                Sig::plain(vec![f], self.vec_of(t))
            }
            ("fold", 2) => {
                let acc = self.u.fresh();
                let f = self.function(&[acc, t], acc);
                Sig::plain(vec![acc, f], acc)
            }
            ("flat_map", 1) => {
                let u = self.u.fresh();
                let f = self.function(&[t], u);
                let any = self.u.fresh();
                Sig::plain(vec![f], any)
            }
            ("for_each", 1) => {
                let f = self.function(&[t], Ty::UNIT);
                Sig::plain(vec![f], Ty::UNIT)
            }
            ("find", 1) => {
                let f = self.function(&[t], Ty::BOOL);
                Sig::plain(vec![f], self.option(t))
            }
            ("any" | "all", 1) => {
                let f = self.function(&[t], Ty::BOOL);
                Sig::plain(vec![f], Ty::BOOL)
            }
            _ => return None,
        })
    }

    fn set_method(&mut self, recv: Ty, t: Ty, name: &str, given: usize) -> Option<Sig> {
        Some(match (name, given) {
            ("insert" | "push", 1) => {
                let any = self.u.fresh();
                Sig::plain(vec![t], any)
            }
            ("contains" | "remove", 1) => {
                let key = self.u.fresh();
                Sig::plain(vec![key], Ty::BOOL)
            }
            ("len", _) => Sig::plain(vec![], Ty::USIZE),
            ("is_empty", _) => Sig::plain(vec![], Ty::BOOL),
            ("iter", _) => Sig::plain(vec![], recv),
            _ => return self.sequence(t, name, given),
        })
    }

    fn map_method(&mut self, k: Ty, v: Ty, name: &str, given: usize) -> Option<Sig> {
        Some(match (name, given) {
            ("insert", _) => {
                let any = self.u.fresh();
                Sig::plain(vec![k, v], any)
            }
            ("get" | "remove", _) => {
                let key = self.key(k);
                Sig::plain(vec![key], self.option(v))
            }
            ("contains_key", _) => {
                let key = self.key(k);
                Sig::plain(vec![key], Ty::BOOL)
            }
            ("len", _) => Sig::plain(vec![], Ty::USIZE),
            ("is_empty", _) => Sig::plain(vec![], Ty::BOOL),
            ("keys", _) => Sig::plain(vec![], self.vec_of(k)),
            ("values", _) => Sig::plain(vec![], self.vec_of(v)),
            _ => return None,
        })
    }

    /// A key to look up may stand behind a reference; only scalars are compared strictly.
    fn key(&mut self, k: Ty) -> Ty {
        match self.u.shape(k) {
            TyKind::Int(_) | TyKind::Char | TyKind::Bool => k,
            TyKind::Var(_) if self.u.open_kind(k) == Some(Kind::Any) => k,
            TyKind::Str | TyKind::String => k,
            _ => self.u.fresh(),
        }
    }

    fn option_method(&mut self, recv: Ty, t: Ty, name: &str, given: usize) -> Option<Sig> {
        Some(match (name, given) {
            ("unwrap_or", _) => Sig::plain(vec![t], t),
            ("ok_or", _) => {
                let err = self.u.fresh();
                Sig::plain(vec![err], self.u.hir.tys.intern(TyKind::Result(t, err)))
            }
            ("map", _) => {
                let u = self.u.fresh();
                let f = self.function(&[t], u);
                Sig::plain(vec![f], self.option(u))
            }
            ("and_then", _) => {
                let u = self.u.fresh();
                let o = self.option(u);
                let f = self.function(&[t], o);
                Sig::plain(vec![f], o)
            }
            ("or_else", _) => {
                let f = self.function(&[], recv);
                Sig::plain(vec![f], recv)
            }
            ("filter", 1) => {
                let f = self.function(&[t], Ty::BOOL);
                Sig::plain(vec![f], recv)
            }
            ("is_some" | "is_none", _) => Sig::plain(vec![], Ty::BOOL),
            ("unwrap", _) => Sig::plain(vec![], t),
            ("expect", _) => {
                let any = self.u.fresh();
                Sig::plain(vec![any], t)
            }
            _ => return None,
        })
    }

    fn result_method(&mut self, recv: Ty, t: Ty, err: Ty, name: &str, given: usize) -> Option<Sig> {
        let _ = given;
        Some(match name {
            "unwrap_or" => Sig::plain(vec![t], t),
            "map" => {
                let u = self.u.fresh();
                let f = self.function(&[t], u);
                Sig::plain(vec![f], self.u.hir.tys.intern(TyKind::Result(u, err)))
            }
            "map_err" => {
                let x = self.u.fresh();
                let f = self.function(&[err], x);
                Sig::plain(vec![f], self.u.hir.tys.intern(TyKind::Result(t, x)))
            }
            "and_then" => {
                let u = self.u.fresh();
                let r = self.u.hir.tys.intern(TyKind::Result(u, err));
                let f = self.function(&[t], r);
                Sig::plain(vec![f], r)
            }
            "or_else" => {
                let x = self.u.fresh();
                let r = self.u.hir.tys.intern(TyKind::Result(t, x));
                let f = self.function(&[err], r);
                Sig::plain(vec![f], r)
            }
            "is_ok" | "is_err" => Sig::plain(vec![], Ty::BOOL),
            "unwrap" => Sig::plain(vec![], t),
            "expect" => {
                let any = self.u.fresh();
                Sig::plain(vec![any], t)
            }
            "ok" => Sig::plain(vec![], self.option(t)),
            _ => {
                let _ = recv;
                return None;
            }
        })
    }

    /// Associated functions of core types; arguments were taken already.
    pub(super) fn builtin_assoc(&mut self, ty: Ty, name: Name) -> Ty {
        let text = self.u.hir.text(name);
        match (self.u.hir.tys.kind(ty), text) {
            (TyKind::String | TyKind::Str, "new" | "with_capacity" | "from_str" | "from") => {
                Ty::STRING
            }
            (
                TyKind::Vec(_) | TyKind::List(_) | TyKind::Set(_) | TyKind::Map(..),
                "new" | "with_capacity",
            ) => ty,
            (TyKind::Char, "from_u32") => self.option(Ty::CHAR),
            (TyKind::Int(_), "from_str") => self.u.fresh(),
            (TyKind::Int(t), "MAX" | "MIN") => self.u.hir.tys.intern(TyKind::Int(t)),
            (TyKind::Bytes, "new" | "with_capacity") => Ty::BYTES,
            _ => {
                let _ = IntTy::I32;
                self.u.fresh()
            }
        }
    }
}
