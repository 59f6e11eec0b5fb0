//! Views of protocols, agents, supervisors and entries (language.md §3.1, §18, §19, §21).

use super::{
    Block, Expr, ExprBody, FnDef, Param, ParamList, Path, RetType, Type, Vis, choice, named, nodes,
    view, views,
};
use crate::SyntaxKind::*;
use crate::tree::Token;

nodes! {
    /// `protocol Name v1 { … }`.
    ProtocolDef;
    /// `{ messages }`.
    MessageList;
    /// `msg Name(a: T) -> U`.
    Message;
    /// `agent Name(p): P { … }`.
    AgentDef;
    /// `: P, Q`.
    ProtocolRefs;
    /// `{ members }`.
    AgentBody;
    /// `state name: T = e`.
    StateField;
    /// `state { … }`.
    StateBlock;
    /// `{ fields }` of a state block.
    StateFieldList;
    /// `on Msg(a) -> …`.
    Handler;
    /// `init(a) { … }`.
    InitDef;
    /// `supervisor Name { … }`.
    SupervisorDef;
    /// `(strategy: s)` or `strategy s`.
    Strategy;
    /// `{ members }`.
    SupBody;
    /// `child name = spawn A()`.
    ChildDef;
    /// `on_fail(name) { actions }`.
    OnFail;
    /// `restart up_to N in D`.
    RestartAction;
    /// `backoff a..b`.
    BackoffAction;
    /// `escalate`.
    EscalateAction;
    /// `{ entries }` of a sandbox or budget.
    EntryList;
    /// `key = value`, `key value`.
    Entry;
    /// `fs.read`.
    EntryKey;
}

choice! {
    /// A member of an agent.
    AgentMember { StateField, StateBlock, Handler, InitDef, FnDef }
}

choice! {
    /// A member of a supervisor.
    SupMember { ChildDef, OnFail, RestartAction, BackoffAction, EscalateAction }
}

choice! {
    /// What a supervisor does about a failure.
    SupAction { RestartAction, BackoffAction, EscalateAction }
}

named! {
    ProtocolDef skips [ProtocolKw];
    AgentDef skips [AgentKw];
    Handler skips [OnKw];
    ChildDef skips [ChildKw];
    OnFail skips [OnFailKw];
}

impl<'t> super::HasName<'t> for Message<'t> {
    fn name(self) -> Option<Token<'t>> {
        // The name stands last; `msg` alone is a name too.
        self.0.own_tokens().filter(|t| t.kind() == Ident).last()
    }
}

impl<'t> super::HasName<'t> for StateField<'t> {
    fn name(self) -> Option<Token<'t>> {
        let mut words = self
            .0
            .own_tokens()
            .take_while(|t| !matches!(t.kind(), Colon | Eq));
        let first = words.next()?;
        Some(words.next().unwrap_or(first))
    }
}

impl<'t> super::HasName<'t> for SupervisorDef<'t> {
    fn name(self) -> Option<Token<'t>> {
        // `supervisor` is an identifier too.
        self.0.own_tokens().skip(1).find(|t| t.kind() == Ident)
    }
}

impl<'t> ProtocolDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// `v1`.
    #[must_use]
    pub fn version(self) -> Option<Token<'t>> {
        self.0.own_tokens().filter(|t| t.kind() == Ident).nth(1)
    }

    /// The braces.
    #[must_use]
    pub fn message_list(self) -> Option<MessageList<'t>> {
        view(self.0)
    }

    /// Messages in source order.
    pub fn messages(self) -> impl Iterator<Item = Message<'t>> {
        self.message_list().into_iter().flat_map(|l| views(l.0))
    }
}

impl<'t> Message<'t> {
    /// The `msg` before the name.
    #[must_use]
    pub fn msg_token(self) -> Option<Token<'t>> {
        let mut words = self.0.own_tokens().filter(|t| t.kind() == Ident);
        let first = words.next()?;
        words.next().map(|_| first)
    }

    /// `( … )`.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `-> T`.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }
}

impl<'t> AgentDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// Constructor parameters.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `: P, Q`.
    #[must_use]
    pub fn protocol_refs(self) -> Option<ProtocolRefs<'t>> {
        view(self.0)
    }

    /// Protocols it implements.
    pub fn protocols(self) -> impl Iterator<Item = Path<'t>> {
        self.protocol_refs().into_iter().flat_map(|r| views(r.0))
    }

    /// The braces.
    #[must_use]
    pub fn body(self) -> Option<AgentBody<'t>> {
        view(self.0)
    }

    /// Members in source order.
    pub fn members(self) -> impl Iterator<Item = AgentMember<'t>> {
        self.body().into_iter().flat_map(|b| views(b.0))
    }

    /// Handlers in source order.
    pub fn handlers(self) -> impl Iterator<Item = Handler<'t>> {
        self.body().into_iter().flat_map(|b| views(b.0))
    }

    /// Methods in source order.
    pub fn functions(self) -> impl Iterator<Item = FnDef<'t>> {
        self.body().into_iter().flat_map(|b| views(b.0))
    }

    /// `init`.
    #[must_use]
    pub fn init(self) -> Option<InitDef<'t>> {
        self.body().and_then(|b| view(b.0))
    }

    /// State fields, those in `state { … }` blocks included, in source order.
    pub fn state_fields(self) -> impl Iterator<Item = StateField<'t>> {
        self.members().flat_map(|m| {
            let one = if let AgentMember::StateField(f) = m {
                Some(f)
            } else {
                None
            };
            let block = if let AgentMember::StateBlock(b) = m {
                Some(b)
            } else {
                None
            };
            one.into_iter()
                .chain(block.into_iter().flat_map(StateBlock::fields))
        })
    }
}

impl<'t> StateField<'t> {
    /// The `state` before the name.
    #[must_use]
    pub fn state_token(self) -> Option<Token<'t>> {
        let mut words = self
            .0
            .own_tokens()
            .take_while(|t| !matches!(t.kind(), Colon | Eq));
        let first = words.next()?;
        words.next().map(|_| first)
    }

    /// `: T`.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// `= e`.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> StateBlock<'t> {
    /// The braces.
    #[must_use]
    pub fn field_list(self) -> Option<StateFieldList<'t>> {
        view(self.0)
    }

    /// Fields in source order.
    pub fn fields(self) -> impl Iterator<Item = StateField<'t>> {
        self.field_list().into_iter().flat_map(|l| views(l.0))
    }
}

impl<'t> Handler<'t> {
    /// `( … )`.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `-> T` before a block.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }

    /// The braced body.
    #[must_use]
    pub fn block(self) -> Option<Block<'t>> {
        view(self.0)
    }

    /// `-> expr`.
    #[must_use]
    pub fn expr_body(self) -> Option<ExprBody<'t>> {
        view(self.0)
    }

    /// The `->` of `-> { … }`.
    #[must_use]
    pub fn arrow_token(self) -> Option<Token<'t>> {
        self.0.own_token(Arrow)
    }

    /// The body as an expression, in either form.
    #[must_use]
    pub fn body(self) -> Option<Expr<'t>> {
        self.block()
            .map(Expr::Block)
            .or_else(|| self.expr_body()?.expr())
    }
}

impl<'t> InitDef<'t> {
    /// The `init`.
    #[must_use]
    pub fn init_token(self) -> Option<Token<'t>> {
        self.0.first_token()
    }

    /// `( … )`.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `-> T`.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }

    /// The body.
    #[must_use]
    pub fn block(self) -> Option<Block<'t>> {
        view(self.0)
    }
}

impl<'t> SupervisorDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// The strategy clause.
    #[must_use]
    pub fn strategy(self) -> Option<Strategy<'t>> {
        view(self.0)
    }

    /// The braces.
    #[must_use]
    pub fn body(self) -> Option<SupBody<'t>> {
        view(self.0)
    }

    /// Members in source order.
    pub fn members(self) -> impl Iterator<Item = SupMember<'t>> {
        self.body().into_iter().flat_map(|b| views(b.0))
    }
}

impl<'t> Strategy<'t> {
    /// The strategy's name.
    #[must_use]
    pub fn value(self) -> Option<Token<'t>> {
        self.0.own_tokens().filter(|t| t.kind() == Ident).nth(1)
    }

    /// Whether it is written in parentheses.
    #[must_use]
    pub fn is_parens(self) -> bool {
        self.0.own_token(LParen).is_some()
    }
}

impl<'t> ChildDef<'t> {
    /// The `spawn` or call.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> OnFail<'t> {
    /// Actions in source order.
    pub fn actions(self) -> impl Iterator<Item = SupAction<'t>> {
        views(self.0)
    }
}

impl<'t> RestartAction<'t> {
    /// `N` of `up_to N`.
    #[must_use]
    pub fn count(self) -> Option<Token<'t>> {
        self.0.own_token(IntNumber)
    }

    /// `D` of `in D`.
    #[must_use]
    pub fn window(self) -> Option<Token<'t>> {
        self.0.own_token(DurationLit)
    }
}

impl<'t> BackoffAction<'t> {
    /// The shorter wait.
    #[must_use]
    pub fn low(self) -> Option<Token<'t>> {
        self.0.own_token(DurationLit)
    }

    /// The longer wait.
    #[must_use]
    pub fn high(self) -> Option<Token<'t>> {
        self.0
            .own_tokens()
            .filter(|t| t.kind() == DurationLit)
            .nth(1)
    }
}

impl<'t> EntryList<'t> {
    /// Entries in source order.
    pub fn entries(self) -> impl Iterator<Item = Entry<'t>> {
        views(self.0)
    }
}

impl<'t> Entry<'t> {
    /// The dotted key.
    #[must_use]
    pub fn key(self) -> Option<EntryKey<'t>> {
        view(self.0)
    }

    /// The `=`.
    #[must_use]
    pub fn eq_token(self) -> Option<Token<'t>> {
        self.0.own_token(Eq)
    }

    /// The value.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> EntryKey<'t> {
    /// Its words.
    pub fn segments(self) -> impl Iterator<Item = Token<'t>> {
        super::items::names(self.0)
    }

    /// The key without blanks, `fs.read`.
    #[must_use]
    pub fn joined(self) -> String {
        self.segments()
            .map(Token::text)
            .collect::<Vec<_>>()
            .join(".")
    }
}

impl<'t> Message<'t> {
    /// Parameters in source order.
    pub fn param_views(self) -> impl Iterator<Item = Param<'t>> {
        self.params().into_iter().flat_map(ParamList::params)
    }
}
