//! What a token or node of the tree is. The token part doubles as the logos definition of the lexer.
//! Must not hold grammar decisions: contextual words stay `Ident` here and are promoted by the parser.

mod sets;

use logos::Logos;

/// The kind of a token or node.
///
/// Order matters: trivia, then literals and identifiers, then keywords, then punctuation, then nodes;
/// the predicates below compare ranges.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SyntaxKind {
    // ---- trivia
    /// Spaces and tabs without a line feed.
    #[regex(r"[ \t]+")]
    Whitespace,
    /// A run of blanks holding at least one line feed.
    #[regex(r"[ \t]*\n[ \t\n]*")]
    Newline,
    /// `// …`, also `//// …`.
    #[token("//")]
    LineComment,
    /// `/// …`, exactly three slashes.
    DocComment,
    /// `/* … */`, nested.
    #[token("/*")]
    BlockComment,
    /// A run of bytes that are no token; already reported unless inside macro arguments.
    Error,

    // ---- names and literals
    /// An identifier, contextual keywords included.
    #[regex("[a-zA-Z_][a-zA-Z0-9_]*")]
    Ident,
    /// An integer, with its suffix.
    #[regex(r"[0-9]")]
    IntNumber,
    /// A float, with its suffix.
    FloatNumber,
    /// `64MiB`, `1k`.
    SizeLit,
    /// `200ms`.
    DurationLit,
    /// `"…"`.
    #[token("\"")]
    Str,
    /// `r"…"`, `r#"…"#`.
    #[regex("r#*\"")]
    RawStr,
    /// `b"…"`.
    #[token("b\"")]
    ByteStr,
    /// `'x'`.
    #[token("'")]
    Char,
    /// `html"…"`.
    #[token("html\"")]
    HtmlStr,

    // ---- keywords, alphabetical (language.md §1.4)
    #[token("agent")]
    AgentKw,
    #[token("arena")]
    ArenaKw,
    #[token("as")]
    AsKw,
    #[token("async")]
    AsyncKw,
    #[token("await")]
    AwaitKw,
    #[token("backoff")]
    BackoffKw,
    #[token("break")]
    BreakKw,
    #[token("budget")]
    BudgetKw,
    #[token("cap")]
    CapKw,
    #[token("child")]
    ChildKw,
    #[token("const")]
    ConstKw,
    #[token("continue")]
    ContinueKw,
    #[token("derive")]
    DeriveKw,
    #[token("detach")]
    DetachKw,
    #[token("dyn")]
    DynKw,
    #[token("effect")]
    EffectKw,
    #[token("else")]
    ElseKw,
    #[token("enum")]
    EnumKw,
    #[token("export")]
    ExportKw,
    #[token("extern")]
    ExternKw,
    #[token("false")]
    FalseKw,
    #[token("fn")]
    FnKw,
    #[token("for")]
    ForKw,
    #[token("if")]
    IfKw,
    #[token("impl")]
    ImplKw,
    #[token("import")]
    ImportKw,
    #[token("in")]
    InKw,
    #[token("join")]
    JoinKw,
    #[token("let")]
    LetKw,
    #[token("loop")]
    LoopKw,
    #[token("macro")]
    MacroKw,
    #[token("match")]
    MatchKw,
    #[token("mod")]
    ModKw,
    #[token("move")]
    MoveKw,
    #[token("mut")]
    MutKw,
    #[token("on")]
    OnKw,
    #[token("on_fail")]
    OnFailKw,
    #[token("package")]
    PackageKw,
    #[token("protocol")]
    ProtocolKw,
    #[token("pub")]
    PubKw,
    #[token("ref")]
    RefKw,
    #[token("requires")]
    RequiresKw,
    #[token("restart")]
    RestartKw,
    #[token("return")]
    ReturnKw,
    #[token("run")]
    RunKw,
    #[token("sandbox")]
    SandboxKw,
    #[token("scope")]
    ScopeKw,
    #[token("self")]
    SelfKw,
    #[token("spawn")]
    SpawnKw,
    #[token("state")]
    StateKw,
    #[token("struct")]
    StructKw,
    #[token("sup")]
    SupKw,
    #[token("task")]
    TaskKw,
    #[token("trait")]
    TraitKw,
    #[token("true")]
    TrueKw,
    #[token("type")]
    TypeKw,
    #[token("unsafe")]
    UnsafeKw,
    #[token("up_to")]
    UpToKw,
    #[token("use")]
    UseKw,
    #[token("where")]
    WhereKw,
    #[token("while")]
    WhileKw,
    #[token("with")]
    WithKw,
    #[token("yield")]
    YieldKw,

    // ---- punctuation
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("^")]
    Caret,
    #[token("&")]
    Amp,
    #[token("|")]
    Pipe,
    #[token("!")]
    Bang,
    #[token("=")]
    Eq,
    #[token("==")]
    EqEq,
    #[token("!=")]
    NotEq,
    #[token("<")]
    Lt,
    #[token("<=")]
    LtEq,
    #[token(">")]
    Gt,
    #[token(">=")]
    GtEq,
    #[token("&&")]
    AmpAmp,
    #[token("||")]
    PipePipe,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("+=")]
    PlusEq,
    #[token("-=")]
    MinusEq,
    #[token("*=")]
    StarEq,
    #[token("/=")]
    SlashEq,
    #[token("%=")]
    PercentEq,
    #[token("&=")]
    AmpEq,
    #[token("|=")]
    PipeEq,
    #[token("^=")]
    CaretEq,
    #[token("<<=")]
    ShlEq,
    #[token(">>=")]
    ShrEq,
    #[token("..")]
    DotDot,
    #[token("..=")]
    DotDotEq,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token("::")]
    ColonColon,
    #[token("->")]
    Arrow,
    #[token("=>")]
    FatArrow,
    #[token("?")]
    Question,
    #[token("@")]
    At,
    #[token("#")]
    Hash,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    /// End of input; only in the parser's stream, never in a tree.
    Eof,
    /// Stands for an opener nested too deeply; only in the parser's stream.
    TooDeep,
    /// Ends what `TooDeep` began; only in the parser's stream.
    TooDeepEnd,

    // ---- nodes: files and items
    SourceFile,
    PackageDecl,
    /// `a.b.c`.
    Path,
    UseItem,
    /// `mighty:web/dom`.
    HostPath,
    /// `as name`.
    Rename,
    ModItem,
    /// `{ items }` of a module.
    ItemList,
    Attr,
    Vis,
    FnDef,
    GenericParamList,
    GenericParam,
    Bounds,
    ParamList,
    Param,
    SelfParam,
    /// `...` at the end of an extern parameter list.
    VariadicParam,
    /// `-> T`.
    RetType,
    EffectClause,
    WhereClause,
    WherePred,
    RequiresClause,
    /// `= expr` as a function body.
    ExprBody,
    StructDef,
    FieldList,
    FieldDef,
    EnumDef,
    VariantList,
    Variant,
    TypeAlias,
    ConstDef,
    TraitDef,
    ImplDef,
    /// `{ … }` of a trait, impl or extern block.
    MemberList,
    DeriveClause,
    CapDecl,
    /// Balanced raw tokens with their brackets.
    TokenTree,
    ProtocolDef,
    MessageList,
    Message,
    AgentDef,
    /// `: P, Q` of an agent.
    ProtocolRefs,
    AgentBody,
    StateField,
    StateBlock,
    StateFieldList,
    Handler,
    InitDef,
    SupervisorDef,
    Strategy,
    SupBody,
    ChildDef,
    OnFail,
    RestartAction,
    BackoffAction,
    EscalateAction,
    SandboxItem,
    EntryList,
    Entry,
    EntryKey,
    ExternBlock,
    ExportItem,
    MacroDef,
    MacroParamList,
    ProcMacroDef,

    // ---- types
    PathType,
    TypeArgs,
    RefType,
    PtrType,
    TupleType,
    ParenType,
    SliceType,
    ArrayType,
    FnType,
    FnTypeParams,
    DynType,
    /// `T!E` and `T!{A, B}`.
    ResultType,
    /// `{A, B}` of `T!{A, B}`.
    ErrorUnion,

    // ---- patterns
    WildcardPat,
    LiteralPat,
    RangePat,
    IdentPat,
    RefPat,
    TuplePat,
    ParenPat,
    PathPat,
    VariantPat,
    StructPat,
    FieldPatList,
    FieldPat,
    RestPat,
    OrPat,
    /// `A.B` or `A::B` at the head of a pattern.
    QualPath,

    // ---- statements
    LetStmt,
    ExprStmt,
    EmptyStmt,

    // ---- expressions
    Literal,
    SelfExpr,
    PathExpr,
    FieldExpr,
    ScopeExpr,
    TurbofishExpr,
    ParenExpr,
    TupleExpr,
    ArrayExpr,
    RepeatExpr,
    Block,
    IfExpr,
    LetCond,
    MatchExpr,
    ArmList,
    MatchArm,
    Guard,
    LoopExpr,
    WhileExpr,
    ForExpr,
    ReturnExpr,
    BreakExpr,
    ContinueExpr,
    LambdaExpr,
    StructLit,
    StructLitFields,
    StructLitField,
    MapLit,
    MapEntries,
    MapEntry,
    MacroCall,
    SpawnExpr,
    DetachExpr,
    JoinExpr,
    RunExpr,
    ArenaExpr,
    TaskExpr,
    BudgetExpr,
    SandboxExpr,
    UnsafeExpr,
    PrefixExpr,
    RefExpr,
    MoveExpr,
    BinaryExpr,
    AssignExpr,
    RangeExpr,
    CastExpr,
    CallExpr,
    MethodCallExpr,
    IndexExpr,
    PropagateExpr,
    AskExpr,
    SendExpr,
    DeadlineExpr,
    AwaitExpr,
    ArgList,
    NamedArg,
    /// What the parser had no use for; every one has a report.
    ErrorNode,
}
