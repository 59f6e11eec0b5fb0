//! The closed vocabularies of bodies: literals, operators, regions, standard macros.
//! Must not refer to nodes of a body.

use crate::ty::{FloatTy, IntTy};

/// The literal forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lit {
    Int(u128, Option<IntTy>),
    Float(f64, Option<FloatTy>),
    Bool(bool),
    Char(char),
    Str,
    Bytes,
    /// Nanoseconds.
    Duration(u128),
    /// Bytes or count.
    Size(u128),
    Html,
}

/// The variants known without an enum's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PreludeVariant {
    Some,
    None,
    Ok,
    Err,
}

/// The standard macros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdMacro {
    Assert,
    AssertEq,
    AssertNe,
    Debug,
    Unreachable,
    Format,
    Vec,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnOp {
    Neg,
    Not,
    Deref,
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    AndAnd,
    OrOr,
}

/// The braced forms that change how their body runs or is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    Unsafe,
    Arena,
    Task,
    Detach,
    Budget,
    Sandbox,
}
