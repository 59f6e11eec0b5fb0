//! Bodies: expressions, patterns, locals and statements in arenas, with names already resolved.
//! Must not hold types; those are in `infer::BodyTypes`, by the same identities.

use std::marker::PhantomData;

use syntax::{NodeId, TextRange};

use super::ids::*;
use super::pattern::{FieldPat, Local, Pat};
use super::words::*;
use crate::package::FileId;
use crate::ty::{Family, Prim, Ty};

/// What a body belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A function of any kind, agent methods included.
    Fn(FnId),
    /// The initialiser of a constant.
    Const(ConstId),
    /// The initialiser of a state field: agent and index into its `state`.
    State(AgentId, u32),
    /// A handler: agent and index into its `handlers`.
    Handler(AgentId, u32),
    /// `init` of an agent.
    Init(AgentId),
    /// A top-level sandbox.
    Sandbox(SandboxId),
}

/// A list of nodes in one of the pools of a [`Body`]; read it with the method named in the field's doc.
pub struct List<T> {
    pub(crate) start: u32,
    pub(crate) len: u32,
    pub(crate) of: PhantomData<T>,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}; {}]", self.start, self.len)
    }
}

impl<T> List<T> {
    /// Number of elements.
    #[must_use]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// The code of one function, handler or initialiser. Lambdas belong to the body around them.
#[derive(Debug)]
pub struct Body {
    pub owner: Owner,
    pub file: FileId,
    pub module: ModuleId,
    /// Whether an unknown plain name is an error here (§5.2); blocks inside may be permissive.
    pub strict: bool,
    pub exprs: Vec<Expr>,
    pub pats: Vec<Pat>,
    pub locals: Vec<Local>,
    /// `self` of a method; agent members refer to their agent by [`Res::AgentSelf`] instead.
    pub self_local: Option<LocalId>,
    /// Patterns of the parameters without `self`, in source order.
    pub params: Vec<PatId>,
    /// The code. A block for most; the tail is the result.
    pub root: ExprId,
    pub(crate) expr_pool: Vec<ExprId>,
    pub(crate) pat_pool: Vec<PatId>,
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) inits: Vec<FieldInit>,
    pub(crate) field_pats: Vec<FieldPat>,
    pub(crate) args: Vec<Arg>,
    pub(crate) type_args: Vec<Ty>,
    pub(crate) pairs: Vec<(ExprId, ExprId)>,
    pub(crate) paths: Vec<Name>,
}

/// An expression.
#[derive(Debug, Clone, Copy)]
pub struct Expr {
    pub kind: ExprKind,
    /// Its range in the expanded text, without outer parentheses.
    pub range: TextRange,
    /// Its node in the expanded tree (for arguments of standard macros: the macro call's node).
    pub node: NodeId,
}

/// What a name or a path of names means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Res {
    /// A binding of this body, `self` included.
    Local(LocalId),
    /// `self` in an agent; `self.name` is [`Res::State`] or [`Res::AgentMethod`] or [`Res::Ctor`].
    AgentSelf(AgentId),
    /// State field: agent and index into its `state`.
    State(AgentId, u32),
    /// Constructor parameter: agent and index into its `ctor`.
    Ctor(AgentId, u32),
    /// A free, extern or exported function.
    Fn(FnId),
    /// A sibling method in an agent.
    AgentMethod(FnId),
    Const(ConstId),
    /// A unit struct as a value, or any struct name as a callee.
    Struct(StructId),
    /// A variant: enum and index into its `variants`.
    Variant(EnumId, u32),
    /// `Some`, `None`, `Ok`, `Err`.
    PreludeVariant(PreludeVariant),
    /// A function of the prelude (`log`, `panic`, …): its name.
    Prelude(Name),
    /// `T.name` of a type that is no enum with such a variant: an associated function or constant. Which one
    /// is in [`BodyTypes::callee`](crate::infer::BodyTypes::callee).
    Assoc(Ty, Name),
    /// `Trait.name`.
    TraitMember(TraitId, Name),
    /// A primitive or collection type as a callable value, `String("x")`.
    PrimValue(Prim),
    /// A path into the standard library (without `std`) or a foreign module, joined with dots by
    /// [`Body::path`]. Everything through it is accepted and typed as any.
    Opaque(OpaquePath),
    /// A name of a prelude type that is opaque (`Member`, `Regex`, …), with what follows it joined.
    OpaqueType(OpaquePath),
    /// A capability family name as a value or receiver: MT4060 is due, by the capability pass.
    Family(Family),
    /// Unknown here, but a capability parameter elsewhere in the file, used as a receiver or an argument:
    /// MT4062 is due, by the capability pass; MT2021 was not reported.
    CapElsewhere(Name),
    /// Unknown, already reported as an error, or due to another pass. Typed as poison.
    Error,
    /// Unknown, reported as a warning. Typed as a fresh variable.
    Tolerated(Name),
    /// A supervisor's name after `spawn`.
    Supervisor(SupervisorId),
    /// An agent's name after `spawn`.
    Agent(AgentId),
}

/// A dotted path kept as names, see [`Body::path`].
pub type OpaquePath = OpaqueNames;

/// Start and length in the pool of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueNames {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The forms of expressions. Parentheses and `.await` are gone; dotted paths whose head is no value are one
/// [`ExprKind::Path`].
#[derive(Debug, Clone, Copy)]
pub enum ExprKind {
    /// Lost to an error that was reported, or a failed macro call.
    Missing,
    Lit(Lit),
    Path(Res),
    /// Two or more elements, one with a comma, or none (`()`). [`Body::exprs_of`].
    Tuple(List<ExprId>),
    /// [`Body::exprs_of`].
    Array(List<ExprId>),
    Repeat {
        elem: ExprId,
        count: ExprId,
    },
    /// [`Body::stmts_of`]; the tail is not among the statements.
    Block {
        stmts: List<Stmt>,
        tail: Option<ExprId>,
    },
    /// `unsafe`, `arena`, `task scope`, `detach`, `budget`, `sandbox` around a body. Entries of budgets and
    /// sandboxes are no expressions of the body (§5.2).
    Region {
        kind: Region,
        body: ExprId,
    },
    /// The condition may be a [`ExprKind::Let`].
    If {
        cond: ExprId,
        then: ExprId,
        els: Option<ExprId>,
    },
    /// `let p = e` as a condition; what it binds is visible in the body only.
    Let {
        pat: PatId,
        value: ExprId,
    },
    /// [`Body::arms_of`].
    Match {
        scrutinee: ExprId,
        arms: List<Arm>,
    },
    Loop {
        body: ExprId,
    },
    While {
        cond: ExprId,
        body: ExprId,
    },
    For {
        pat: PatId,
        iter: ExprId,
        body: ExprId,
    },
    Return(Option<ExprId>),
    Break(Option<ExprId>),
    Continue,
    /// Parameters by [`Body::pats_of`]; their declared types are those of the locals.
    Lambda {
        params: List<PatId>,
        ret: Option<Ty>,
        body: ExprId,
    },
    /// [`Body::inits_of`].
    StructLit {
        head: LitHead,
        head_range: TextRange,
        fields: List<FieldInit>,
    },
    /// `Map::[K, V]{…}`: keys and values by [`Body::pairs_of`].
    MapLit {
        ty: Ty,
        entries: List<(ExprId, ExprId)>,
    },
    /// A call of a path or any value. Arguments by [`Body::args_of`].
    Call {
        callee: ExprId,
        /// Explicit type arguments (`Some::[I32](4)`, `Vec::[U8]::new()`), by [`Body::type_args_of`].
        type_args: List<Ty>,
        args: List<Arg>,
    },
    /// A call through a value: method, or field that holds a function.
    MethodCall {
        receiver: ExprId,
        name: Name,
        name_range: TextRange,
        type_args: List<Ty>,
        args: List<Arg>,
    },
    Field {
        base: ExprId,
        name: Name,
        name_range: TextRange,
    },
    TupleField {
        base: ExprId,
        index: u32,
        index_range: TextRange,
    },
    Index {
        base: ExprId,
        index: ExprId,
    },
    /// The target is [`Res::Agent`], [`Res::Supervisor`], opaque or an error.
    Spawn {
        target: Res,
        args: List<Arg>,
    },
    Send {
        target: ExprId,
        msg: Name,
        msg_range: TextRange,
        args: List<Arg>,
    },
    Ask {
        target: ExprId,
        msg: Name,
        msg_range: TextRange,
        args: List<Arg>,
    },
    Deadline(ExprId),
    Join(ExprId),
    /// `run e`; means `e`.
    Run(ExprId),
    Propagate(ExprId),
    Unary {
        op: UnOp,
        operand: ExprId,
    },
    Ref {
        mutable: bool,
        operand: ExprId,
    },
    Move(ExprId),
    Binary {
        op: BinOp,
        op_range: TextRange,
        lhs: ExprId,
        rhs: ExprId,
    },
    /// `op` is that of a compound assignment.
    Assign {
        op: Option<BinOp>,
        op_range: TextRange,
        place: ExprId,
        value: ExprId,
    },
    Range {
        low: ExprId,
        high: ExprId,
        inclusive: bool,
    },
    Cast {
        operand: ExprId,
        ty: Ty,
        ty_range: TextRange,
    },
    /// A call of a standard macro; named holes of a `format!` template are further arguments at the end.
    /// [`Body::exprs_of`].
    StdMacro {
        mac: StdMacro,
        args: List<ExprId>,
    },
}

/// The head of a struct literal or pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LitHead {
    Struct(StructId),
    /// The agent's own name, in its `init`.
    Agent(AgentId),
    /// A type alias for a struct, or `Self`.
    Ty(Ty),
    /// An opaque or foreign type: fields are not checked.
    Opaque,
    /// Something that is no struct (MT2022), or reported already.
    NotAStruct,
    Error,
}

/// A statement of a block.
#[derive(Debug, Clone, Copy)]
pub enum Stmt {
    Let {
        pat: PatId,
        /// The written type.
        ty: Option<Ty>,
        ty_range: TextRange,
        init: Option<ExprId>,
        range: TextRange,
    },
    /// With or without `;`; never the tail.
    Expr(ExprId),
}

/// An arm of a `match`.
#[derive(Debug, Clone, Copy)]
pub struct Arm {
    pub pat: PatId,
    pub guard: Option<ExprId>,
    pub body: ExprId,
    pub range: TextRange,
}

/// A field of a struct literal.
#[derive(Debug, Clone, Copy)]
pub struct FieldInit {
    pub name: Name,
    pub name_range: TextRange,
    pub value: ExprId,
}

/// An argument of a call.
#[derive(Debug, Clone, Copy)]
pub struct Arg {
    /// `name: e`.
    pub name: Option<(Name, TextRange)>,
    pub value: ExprId,
}

macro_rules! pools {
    ($($(#[$doc:meta])* $get:ident, $pool:ident: $ty:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $get(&self, list: List<$ty>) -> &[$ty] {
            &self.$pool[list.range()]
        }
    )*};
}

impl Body {
    /// An expression.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// A pattern.
    #[must_use]
    pub fn pat(&self, id: PatId) -> &Pat {
        &self.pats[id.index()]
    }

    /// A binding.
    #[must_use]
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }

    /// The names of an opaque path.
    #[must_use]
    pub fn path(&self, path: OpaquePath) -> &[Name] {
        &self.paths[path.start as usize..(path.start + path.len) as usize]
    }

    pools! {
        /// Expressions of a list.
        exprs_of, expr_pool: ExprId;
        /// Patterns of a list.
        pats_of, pat_pool: PatId;
        /// Statements of a block.
        stmts_of, stmts: Stmt;
        /// Arms of a match.
        arms_of, arms: Arm;
        /// Fields of a struct literal.
        inits_of, inits: FieldInit;
        /// Fields of a struct pattern.
        field_pats_of, field_pats: FieldPat;
        /// Arguments of a call.
        args_of, args: Arg;
        /// Explicit type arguments.
        type_args_of, type_args: Ty;
        /// Entries of a map literal.
        pairs_of, pairs: (ExprId, ExprId);
    }
}
