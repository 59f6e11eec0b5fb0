//! Views of expressions (language.md §3.4).

use super::{
    AstNode, Block, EntryList, HasName, ParamList, Pattern, RetType, TokenTree, TypeArgs, choice,
    named, nodes, view, views,
};
use super::{LitToken, Type};
use crate::SyntaxKind::{self, *};
use crate::tree::Token;

mod operators;

nodes! {
    /// A literal token.
    Literal;
    /// `self`.
    SelfExpr;
    /// A single name. Longer paths are [`FieldExpr`] and [`ScopeExpr`] chains over it.
    PathExpr;
    /// `e.name`, `e.0`; also a dotted path.
    FieldExpr;
    /// `A::name`.
    ScopeExpr;
    /// `A::[T, U]`.
    TurbofishExpr;
    /// `(e)`.
    ParenExpr;
    /// `()`, `(e,)`, `(e, f)`.
    TupleExpr;
    /// `[e, f]`, `[]`.
    ArrayExpr;
    /// `[e; n]`.
    RepeatExpr;
    /// `if c { … } else …`.
    IfExpr;
    /// `let p = e` as a condition.
    LetCond;
    /// `match e { arms }`.
    MatchExpr;
    /// `{ arms }`.
    ArmList;
    /// `p if g => e`.
    MatchArm;
    /// `if g` of an arm.
    Guard;
    /// `loop { … }`.
    LoopExpr;
    /// `while c { … }`.
    WhileExpr;
    /// `for p in e { … }`.
    ForExpr;
    /// `return e`.
    ReturnExpr;
    /// `break e`.
    BreakExpr;
    /// `continue`.
    ContinueExpr;
    /// `fn(x) { … }` or `|x| e`.
    LambdaExpr;
    /// `A { x: e, y }`.
    StructLit;
    /// `{ … }` of a struct literal.
    StructLitFields;
    /// `x: e` or `y`.
    StructLitField;
    /// `Map::[K, V] { k: v }`.
    MapLit;
    /// `{ … }` of a map literal.
    MapEntries;
    /// `k: v`.
    MapEntry;
    /// `name!(…)`.
    MacroCall;
    /// `spawn A(…)`.
    SpawnExpr;
    /// `detach { … }`.
    DetachExpr;
    /// `join e`.
    JoinExpr;
    /// `run e`.
    RunExpr;
    /// `arena l { … }`, `arena l: e`.
    ArenaExpr;
    /// `task scope @d { … }`.
    TaskExpr;
    /// `budget { … } run e`, `budget { … } { … }`.
    BudgetExpr;
    /// `sandbox N with { … } { … }` as an expression.
    SandboxExpr;
    /// `unsafe { … }`.
    UnsafeExpr;
    /// `-e`, `!e`, `*e`.
    PrefixExpr;
    /// `&e`, `&mut e`.
    RefExpr;
    /// `move e`.
    MoveExpr;
    /// Arithmetic, comparison, logic.
    BinaryExpr;
    /// `a = b`, `a += b`.
    AssignExpr;
    /// `a..b`, `a..=b`.
    RangeExpr;
    /// `e as T`.
    CastExpr;
    /// `e(…)`.
    CallExpr;
    /// `e.name(…)`; also a call of a dotted path.
    MethodCallExpr;
    /// `e[i]`.
    IndexExpr;
    /// `e?`.
    PropagateExpr;
    /// `e?Msg(…)`.
    AskExpr;
    /// `e!Msg(…)`.
    SendExpr;
    /// `e @d`.
    DeadlineExpr;
    /// `e.await`; means `e`.
    AwaitExpr;
    /// `( … )` of a call.
    ArgList;
    /// `name: e` of a call.
    NamedArg;
}

choice! {
    /// An expression.
    Expr {
        Literal, SelfExpr, PathExpr, FieldExpr, ScopeExpr, TurbofishExpr, ParenExpr, TupleExpr,
        ArrayExpr, RepeatExpr, Block, IfExpr, MatchExpr, LoopExpr, WhileExpr, ForExpr, ReturnExpr,
        BreakExpr, ContinueExpr, LambdaExpr, StructLit, MapLit, MacroCall, SpawnExpr, DetachExpr,
        JoinExpr, RunExpr, ArenaExpr, TaskExpr, BudgetExpr, SandboxExpr, UnsafeExpr, PrefixExpr,
        RefExpr, MoveExpr, BinaryExpr, AssignExpr, RangeExpr, CastExpr, CallExpr, MethodCallExpr,
        IndexExpr, PropagateExpr, AskExpr, SendExpr, DeadlineExpr, AwaitExpr,
    }
}

named! {
    StructLitField skips [];
    NamedArg skips [];
    MacroCall skips [];
}

/// What a dotted or scoped path is made of, from left to right; `None` if the chain holds anything else.
impl<'t> Expr<'t> {
    /// The names of `a.b::c` read as a path, turbofishes left out; `None` if anything else is part of it.
    #[must_use]
    pub fn path_segments(self) -> Option<Vec<Token<'t>>> {
        let mut found = Vec::new();
        let mut at = self;
        loop {
            match at {
                Expr::PathExpr(p) => {
                    found.extend(p.name());
                    found.reverse();
                    return Some(found);
                }
                Expr::FieldExpr(f) => {
                    found.push(f.name().filter(|n| n.kind() != IntNumber)?);
                    at = f.base()?;
                }
                Expr::ScopeExpr(s) => {
                    found.push(s.name()?);
                    at = s.base()?;
                }
                Expr::TurbofishExpr(t) => at = t.base()?,
                _ => return None,
            }
        }
    }

    /// Without the parentheses around it.
    #[must_use]
    pub fn unparen(self) -> Option<Expr<'t>> {
        let mut at = self;
        while let Expr::ParenExpr(p) = at {
            at = p.inner()?;
        }
        Some(at)
    }
}

macro_rules! one {
    ($($name:ident . $part:ident -> $ty:ident $doc:literal;)*) => {$(
        impl<'t> $name<'t> {
            #[doc = $doc]
            #[must_use]
            pub fn $part(self) -> Option<$ty<'t>> {
                view(self.0)
            }
        }
    )*};
}

one! {
    FieldExpr.base -> Expr "What the field is of.";
    ScopeExpr.base -> Expr "What stands before `::`.";
    TurbofishExpr.base -> Expr "What stands before `::[`.";
    TurbofishExpr.args -> TypeArgs "`[T, U]`.";
    ParenExpr.inner -> Expr "What is in the parentheses.";
    LetCond.pattern -> Pattern "What it binds.";
    LetCond.value -> Expr "What is matched.";
    MatchExpr.scrutinee -> Expr "What is matched.";
    MatchExpr.arm_list -> ArmList "The braces.";
    MatchArm.pattern -> Pattern "The pattern.";
    MatchArm.guard -> Guard "`if g`.";
    MatchArm.body -> Expr "The body.";
    Guard.condition -> Expr "The condition.";
    LoopExpr.body -> Block "The body.";
    WhileExpr.body -> Block "The body.";
    ForExpr.pattern -> Pattern "What each round binds.";
    ForExpr.body -> Block "The body.";
    ReturnExpr.value -> Expr "The operand.";
    BreakExpr.value -> Expr "The operand.";
    LambdaExpr.params -> ParamList "`(x)` or `|x|`.";
    LambdaExpr.ret_type -> RetType "`-> T` of the `fn` form.";
    LambdaExpr.body -> Expr "The body; a block in the `fn` form.";
    StructLit.path -> Expr "The path before the braces.";
    StructLit.field_list -> StructLitFields "The braces.";
    StructLitField.value -> Expr "`: e`; without it the field takes the variable of its name.";
    MapLit.path -> TurbofishExpr "The path with its type arguments.";
    MapLit.entry_list -> MapEntries "The braces.";
    MapEntry.key -> Expr "The key.";
    MacroCall.args -> TokenTree "The raw arguments with their parentheses.";
    SpawnExpr.path -> Expr "What is spawned.";
    SpawnExpr.args -> ArgList "`( … )`.";
    DetachExpr.body -> Block "The body.";
    JoinExpr.inner -> Expr "The handle.";
    RunExpr.inner -> Expr "What is run.";
    ArenaExpr.block -> Block "The body of the braced form.";
    TaskExpr.body -> Block "The body.";
    BudgetExpr.entries -> EntryList "The limits.";
    BudgetExpr.block -> Block "The body of the braced form.";
    BudgetExpr.run -> RunExpr "`run e` of the other form.";
    SandboxExpr.entries -> EntryList "The limits.";
    SandboxExpr.body -> Block "The body.";
    UnsafeExpr.body -> Block "The body.";
    PrefixExpr.operand -> Expr "The operand.";
    RefExpr.operand -> Expr "The operand.";
    MoveExpr.operand -> Expr "The operand.";
    CastExpr.operand -> Expr "The operand.";
    CastExpr.ty -> Type "The type.";
    CallExpr.callee -> Expr "What is called.";
    CallExpr.args -> ArgList "`( … )`.";
    MethodCallExpr.receiver -> Expr "What stands before the dot.";
    MethodCallExpr.type_args -> TypeArgs "`[T]` of `.in_allowlist[T]()`.";
    MethodCallExpr.args -> ArgList "`( … )`.";
    IndexExpr.base -> Expr "What is indexed.";
    PropagateExpr.operand -> Expr "The operand.";
    AskExpr.target -> Expr "Who is asked.";
    AskExpr.args -> ArgList "`( … )`.";
    SendExpr.target -> Expr "Who gets it.";
    SendExpr.args -> ArgList "`( … )`.";
    DeadlineExpr.operand -> Expr "What must be done in time.";
    AwaitExpr.operand -> Expr "The operand.";
    RepeatExpr.element -> Expr "What is repeated.";
    NamedArg.value -> Expr "The value.";
}

impl<'t> Literal<'t> {
    /// The token with its decoded value.
    #[must_use]
    pub fn token(self) -> LitToken<'t> {
        // A literal node holds exactly one token.
        LitToken::new(self.0.first_token())
    }
}

impl<'t> PathExpr<'t> {
    /// The name; `budget` may be one.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        self.0.first_token()
    }
}

/// The last own token that is a word or an index, after the operator.
fn last_word<'t>(node: crate::tree::Node<'t>, op: SyntaxKind) -> Option<Token<'t>> {
    node.own_tokens().skip_while(|t| t.kind() != op).nth(1)
}

impl<'t> FieldExpr<'t> {
    /// The field: a word, or an index of a tuple.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        last_word(self.0, Dot)
    }

    /// The index, if it is one.
    #[must_use]
    pub fn tuple_index(self) -> Option<usize> {
        self.name()
            .filter(|t| t.kind() == IntNumber)?
            .text()
            .parse()
            .ok()
    }
}

impl<'t> ScopeExpr<'t> {
    /// The name after `::`.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        last_word(self.0, ColonColon)
    }
}

impl<'t> MethodCallExpr<'t> {
    /// The method.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        last_word(self.0, Dot)
    }
}

impl<'t> AskExpr<'t> {
    /// The message.
    #[must_use]
    pub fn message(self) -> Option<Token<'t>> {
        last_word(self.0, Question)
    }
}

impl<'t> SendExpr<'t> {
    /// The message.
    #[must_use]
    pub fn message(self) -> Option<Token<'t>> {
        last_word(self.0, Bang)
    }
}

impl<'t> DeadlineExpr<'t> {
    /// The duration.
    #[must_use]
    pub fn duration(self) -> Option<Token<'t>> {
        self.0.own_token(DurationLit)
    }
}

macro_rules! many {
    ($($name:ident . $part:ident -> $ty:ident $doc:literal;)*) => {$(
        impl<'t> $name<'t> {
            #[doc = $doc]
            pub fn $part(self) -> impl Iterator<Item = $ty<'t>> {
                views(self.0)
            }
        }
    )*};
}

many! {
    TupleExpr.elements -> Expr "Components in source order.";
    ArrayExpr.elements -> Expr "Elements in source order.";
    ArmList.arms -> MatchArm "Arms in source order.";
    StructLitFields.fields -> StructLitField "Fields in source order.";
    MapEntries.entries -> MapEntry "Entries in source order.";
    ArgList.args -> Arg "Arguments in source order.";
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg<'t> {
    /// `e`.
    Positional(Expr<'t>),
    /// `name: e`.
    Named(NamedArg<'t>),
}

impl<'t> AstNode<'t> for Arg<'t> {
    fn cast(node: crate::tree::Node<'t>) -> Option<Self> {
        NamedArg::cast(node)
            .map(Arg::Named)
            .or_else(|| Expr::cast(node).map(Arg::Positional))
    }

    fn syntax(self) -> crate::tree::Node<'t> {
        match self {
            Arg::Positional(e) => e.syntax(),
            Arg::Named(n) => n.0,
        }
    }
}

impl<'t> Arg<'t> {
    /// The value, named or not.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        match self {
            Arg::Positional(e) => Some(e),
            Arg::Named(n) => n.value(),
        }
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        match self {
            Arg::Positional(_) => None,
            Arg::Named(n) => n.name(),
        }
    }
}

impl<'t> MatchExpr<'t> {
    /// Arms in source order.
    pub fn arms(self) -> impl Iterator<Item = MatchArm<'t>> {
        self.arm_list().into_iter().flat_map(ArmList::arms)
    }
}

impl<'t> StructLit<'t> {
    /// Fields in source order.
    pub fn fields(self) -> impl Iterator<Item = StructLitField<'t>> {
        self.field_list()
            .into_iter()
            .flat_map(StructLitFields::fields)
    }
}

impl<'t> MapLit<'t> {
    /// Entries in source order.
    pub fn entries(self) -> impl Iterator<Item = MapEntry<'t>> {
        self.entry_list().into_iter().flat_map(MapEntries::entries)
    }
}

impl<'t> RepeatExpr<'t> {
    /// How often.
    #[must_use]
    pub fn count(self) -> Option<Expr<'t>> {
        views(self.0).nth(1)
    }
}

impl<'t> MapEntry<'t> {
    /// The value.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        views(self.0).nth(1)
    }
}
