//! Type inference: from the HIR to the type of every expression, pattern and binding.
//! Must not report anything about ownership, effects, capabilities, taint or protocols.

mod args;
mod builtin;
mod call;
mod choose;
mod coerce;
mod control;
mod driver;
mod expr;
mod known;
mod literal;
mod message;
mod method;
mod ops;
mod pat;
mod places;
mod question;
mod report;
mod settle;
mod signatures;
mod tables;
mod unify;
mod zonk;

use rustc_hash::FxHashMap;

use crate::hir::{BodyId, ConstId, EnumId, ExprId, FnId, LocalId, PatId, TraitId};
use crate::ty::{Family, Ty};

/// What a method call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A method of a user type: inherent, or of the one trait that offers it.
    User(FnId),
    /// A method of a bound on a type parameter, or of a `dyn` type.
    Trait(TraitId, FnId),
    /// A sibling method called on `self` in an agent.
    Agent(FnId),
    /// A field that holds a function value.
    FieldCall,
    /// A method of a primitive, text, collection, `Option`, `Result`, range, tuple or array. `known` if its
    /// signature is in the tables of §25.
    Builtin { known: bool },
    /// A method of a capability handle.
    Family(Family),
    /// A method of an opaque or foreign value, a module, or a value of unknown type.
    Opaque,
    /// Lost to an error that was reported.
    Error,
}

/// The types of one body. No inference variable is left in them: what stayed open is `Unknown`.
#[derive(Debug, Default)]
pub struct BodyTypes {
    /// By [`ExprId`]: the type of the expression itself, before automatic dereference.
    pub exprs: Vec<Ty>,
    /// By [`PatId`]: the type matched against, references removed.
    pub pats: Vec<Ty>,
    /// By [`LocalId`]. A binding made by a pattern through a reference has the type of the copied part.
    pub locals: Vec<Ty>,
    /// For every `MethodCall`.
    pub methods: FxHashMap<ExprId, Method>,
    /// For every `Call` whose callee names a function, and every path that is an associated function: the
    /// function it comes to.
    pub callee: FxHashMap<ExprId, FnId>,
    /// For every path that is an associated constant.
    pub consts: FxHashMap<ExprId, ConstId>,
    /// How many references were followed automatically at this expression: receivers, bases of fields and
    /// indices, scrutinees, operands of comparisons, and `&T` given where a Copy `T` is wanted. Only entries
    /// above 0.
    pub derefs: FxHashMap<ExprId, u8>,
    /// For patterns that are decided by type: the variant that a bare or single name means.
    pub pat_res: FxHashMap<PatId, (EnumId, u32)>,
}

impl BodyTypes {
    /// The type of an expression.
    #[must_use]
    pub fn of(&self, expr: ExprId) -> Ty {
        self.exprs.get(expr.index()).copied().unwrap_or(Ty::UNKNOWN)
    }

    /// The type of a binding.
    #[must_use]
    pub fn local(&self, local: LocalId) -> Ty {
        self.locals
            .get(local.index())
            .copied()
            .unwrap_or(Ty::UNKNOWN)
    }

    /// The type a pattern is matched against.
    #[must_use]
    pub fn pat(&self, pat: PatId) -> Ty {
        self.pats.get(pat.index()).copied().unwrap_or(Ty::UNKNOWN)
    }

    /// References followed automatically at an expression.
    #[must_use]
    pub fn derefs(&self, expr: ExprId) -> u8 {
        self.derefs.get(&expr).copied().unwrap_or(0)
    }
}

/// The outcome of inference for a whole package.
#[derive(Debug, Default)]
pub struct Types {
    /// By [`BodyId`].
    pub bodies: Vec<BodyTypes>,
    /// By agent, then index into its state: the final type.
    pub state: Vec<Vec<Ty>>,
    /// By agent, then index of the constructor parameter: the final type.
    pub ctor: Vec<Vec<Ty>>,
    /// By function, then parameter: the final type (of untyped parameters the inferred one, or `Unknown`).
    pub params: Vec<Vec<Ty>>,
}

impl Types {
    /// The types of a body.
    #[must_use]
    pub fn body(&self, id: BodyId) -> &BodyTypes {
        &self.bodies[id.index()]
    }
}

pub(crate) use driver::infer;
pub(crate) use tables::head_key;
