//! The families of kinds: trivia, literals, keywords, items, types, patterns, expressions.
//! Must follow the order of the enum, whose ranges it compares.

use super::SyntaxKind::{self, *};

impl SyntaxKind {
    /// Blank, comment or unknown bytes: never seen by the grammar.
    #[must_use]
    pub fn is_trivia(self) -> bool {
        self <= Error
    }

    /// A comment of any form.
    #[must_use]
    pub fn is_comment(self) -> bool {
        matches!(self, LineComment | DocComment | BlockComment)
    }

    /// One of the 63 reserved words.
    #[must_use]
    pub fn is_keyword(self) -> bool {
        (AgentKw..=YieldKw).contains(&self)
    }

    /// A literal token, `true` and `false` included.
    #[must_use]
    pub fn is_literal(self) -> bool {
        (IntNumber..=HtmlStr).contains(&self) || matches!(self, TrueKw | FalseKw)
    }

    /// A numeric literal token.
    #[must_use]
    pub fn is_number(self) -> bool {
        (IntNumber..=DurationLit).contains(&self)
    }

    /// An operator, separator or bracket.
    #[must_use]
    pub fn is_punct(self) -> bool {
        (Plus..=RBrace).contains(&self)
    }

    /// A kind of token (as opposed to node).
    #[must_use]
    pub fn is_token(self) -> bool {
        self < Eof
    }

    /// `(`, `[` or `{`.
    #[must_use]
    pub fn is_opener(self) -> bool {
        matches!(self, LParen | LBracket | LBrace)
    }

    /// `)`, `]` or `}`.
    #[must_use]
    pub fn is_closer(self) -> bool {
        matches!(self, RParen | RBracket | RBrace)
    }

    /// `=` or a compound assignment.
    #[must_use]
    pub fn is_assign_op(self) -> bool {
        self == Eq || (PlusEq..=ShrEq).contains(&self)
    }

    /// An item node.
    #[must_use]
    pub fn is_item(self) -> bool {
        matches!(
            self,
            UseItem
                | ModItem
                | FnDef
                | StructDef
                | EnumDef
                | TypeAlias
                | ConstDef
                | TraitDef
                | ImplDef
                | CapDecl
                | ProtocolDef
                | AgentDef
                | SupervisorDef
                | SandboxItem
                | ExternBlock
                | ExportItem
                | MacroDef
                | ProcMacroDef
        )
    }

    /// A type node.
    #[must_use]
    pub fn is_type(self) -> bool {
        matches!(
            self,
            PathType
                | RefType
                | PtrType
                | TupleType
                | ParenType
                | SliceType
                | ArrayType
                | FnType
                | DynType
                | ResultType
        )
    }

    /// A pattern node.
    #[must_use]
    pub fn is_pattern(self) -> bool {
        (WildcardPat..=OrPat).contains(&self) && !matches!(self, FieldPatList | FieldPat | RestPat)
    }

    /// An expression node.
    #[must_use]
    pub fn is_expr(self) -> bool {
        (Literal..=AwaitExpr).contains(&self)
            && !matches!(
                self,
                LetCond
                    | ArmList
                    | MatchArm
                    | Guard
                    | StructLitFields
                    | StructLitField
                    | MapEntries
                    | MapEntry
            )
    }
}
