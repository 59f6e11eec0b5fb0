//! Types as text, as a program would write them.
//! Must not be used to compare types.

use std::fmt::Write as _;

use super::{Family, FloatTy, IntTy, Ty, TyKind, Tys};
use crate::hir::Hir;

/// Types deeper than this are cut with `…`.
const MAX_SHOWN_DEPTH: u32 = 8;

/// A type as it would be written. `Unknown`, poison and variables read `_`.
#[must_use]
pub fn show(hir: &Hir, ty: Ty) -> String {
    let mut out = String::new();
    write(hir, ty, 0, &mut out);
    out
}

impl IntTy {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IntTy::I8 => "I8",
            IntTy::I16 => "I16",
            IntTy::I32 => "I32",
            IntTy::I64 => "I64",
            IntTy::I128 => "I128",
            IntTy::ISize => "ISize",
            IntTy::U8 => "U8",
            IntTy::U16 => "U16",
            IntTy::U32 => "U32",
            IntTy::U64 => "U64",
            IntTy::U128 => "U128",
            IntTy::USize => "USize",
        }
    }

    /// Whether it has negative values.
    #[must_use]
    pub fn signed(self) -> bool {
        self <= IntTy::ISize
    }

    /// Bits; `ISize` and `USize` have 64.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            IntTy::I8 | IntTy::U8 => 8,
            IntTy::I16 | IntTy::U16 => 16,
            IntTy::I32 | IntTy::U32 => 32,
            IntTy::I64 | IntTy::U64 | IntTy::ISize | IntTy::USize => 64,
            IntTy::I128 | IntTy::U128 => 128,
        }
    }

    /// Whether a literal of this magnitude, perhaps negated, is a value of the type.
    #[must_use]
    pub fn holds(self, magnitude: u128, negative: bool) -> bool {
        let bits = self.bits();
        match (self.signed(), negative) {
            (true, true) => magnitude <= 1 << (bits - 1),
            (true, false) => magnitude < 1 << (bits - 1),
            (false, true) => magnitude == 0,
            (false, false) => bits == 128 || magnitude < 1 << bits,
        }
    }
}

impl FloatTy {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FloatTy::F32 => "F32",
            FloatTy::F64 => "F64",
        }
    }
}

impl Family {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Net => "Net",
            Family::Fs => "Fs",
            Family::Clock => "Clock",
            Family::Dom => "Dom",
            Family::Model => "Model",
            Family::Canvas => "Canvas",
            Family::Input => "Input",
        }
    }
}

fn write(hir: &Hir, ty: Ty, depth: u32, out: &mut String) {
    if depth > MAX_SHOWN_DEPTH {
        out.push('…');
        return;
    }
    let d = depth + 1;
    match hir.tys.kind(ty) {
        TyKind::Error | TyKind::Unknown | TyKind::Var(_) => out.push('_'),
        TyKind::Never => out.push_str("Never"),
        TyKind::Int(t) => out.push_str(t.name()),
        TyKind::Float(t) => out.push_str(t.name()),
        TyKind::Bool => out.push_str("Bool"),
        TyKind::Char => out.push_str("Char"),
        TyKind::Unit => out.push_str("Unit"),
        TyKind::Duration => out.push_str("Duration"),
        TyKind::Size => out.push_str("Size"),
        TyKind::Str => out.push_str("Str"),
        TyKind::String => out.push_str("String"),
        TyKind::Bytes => out.push_str("Bytes"),
        TyKind::Html => out.push_str("Html"),
        TyKind::Tuple(l) => {
            out.push('(');
            list(hir, l, d, out);
            out.push(')');
        }
        TyKind::Array(t, n) => {
            out.push('[');
            write(hir, t, d, out);
            match n {
                Some(n) => {
                    let _ = write!(out, "; {n}]");
                }
                None => out.push_str("; _]"),
            }
        }
        TyKind::Slice(t) => around(hir, "[", &[t], "]", d, out),
        TyKind::Ref(t, m) => around(hir, if m { "&mut " } else { "&" }, &[t], "", d, out),
        TyKind::Ptr(t, m) => around(hir, if m { "*mut " } else { "*" }, &[t], "", d, out),
        TyKind::Fn(p, r) => {
            out.push_str("fn(");
            list(hir, p, d, out);
            out.push_str(") -> ");
            write(hir, r, d, out);
        }
        TyKind::Dyn(t) => {
            let _ = write!(out, "dyn {}", hir.text(hir.traits[t.index()].head.name));
        }
        TyKind::Struct(s, l) => named(hir, hir.text(hir.structs[s.index()].head.name), l, d, out),
        TyKind::Enum(e, l) => named(hir, hir.text(hir.enums[e.index()].head.name), l, d, out),
        TyKind::Option(t) => around(hir, "Option[", &[t], "]", d, out),
        TyKind::Result(t, e) => around(hir, "Result[", &[t, e], "]", d, out),
        TyKind::Vec(t) => around(hir, "Vec[", &[t], "]", d, out),
        TyKind::List(t) => around(hir, "List[", &[t], "]", d, out),
        TyKind::Set(t) => around(hir, "Set[", &[t], "]", d, out),
        TyKind::Map(k, v) => around(hir, "Map[", &[k, v], "]", d, out),
        TyKind::Range(t) => around(hir, "range of ", &[t], "", d, out),
        TyKind::AgentRef(t) => around(hir, "AgentRef[", &[t], "]", d, out),
        TyKind::Agent(a) => out.push_str(hir.text(hir.agents[a.index()].head.name)),
        TyKind::Protocol(p) => out.push_str(hir.text(hir.protocols[p.index()].head.name)),
        TyKind::Supervisor(s) => out.push_str(hir.text(hir.supervisors[s.index()].head.name)),
        TyKind::Task(t) => around(hir, "Task[", &[t], "]", d, out),
        TyKind::Family(f) => out.push_str(f.name()),
        TyKind::Cap(c) => out.push_str(hir.text(hir.caps[c.index()].head.name)),
        TyKind::Opaque(n) => out.push_str(hir.text(n)),
        TyKind::Param(g) => out.push_str(hir.text(hir.generics[g.index()].name)),
        TyKind::SelfOf(_) => out.push_str("Self"),
    }
}

fn around(hir: &Hir, open: &str, types: &[Ty], close: &str, depth: u32, out: &mut String) {
    out.push_str(open);
    for (i, t) in types.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(hir, *t, depth, out);
    }
    out.push_str(close);
}

fn list(hir: &Hir, types: Tys, depth: u32, out: &mut String) {
    around(hir, "", hir.tys.list(types), "", depth, out);
}

fn named(hir: &Hir, name: &str, args: Tys, depth: u32, out: &mut String) {
    out.push_str(name);
    if !hir.tys.list(args).is_empty() {
        around(hir, "[", hir.tys.list(args), "]", depth, out);
    }
}
