//! What a builder gives: a kind, words, a confidence and text edits. No diff is built here.

use syntax::TextRange;

/// What a fix does: the closed list of the envelope schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Untaint,
    MissingImport,
    AddEffect,
    AddCapability,
    RenameToMatchDecl,
    WrapInSome,
    TypeConversion,
    DeclareProtocolMessage,
    AddClone,
    TakeReference,
    AddMutability,
    BalanceDelimiters,
    AddMatchArm,
    RemoveUnreachable,
    CorrectMacroAttr,
    AddReturnType,
    AddTypeAnnotation,
    AddStructField,
    UnpackQuestion,
    InitializeBinding,
    Other,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::Untaint,
        Self::MissingImport,
        Self::AddEffect,
        Self::AddCapability,
        Self::RenameToMatchDecl,
        Self::WrapInSome,
        Self::TypeConversion,
        Self::DeclareProtocolMessage,
        Self::AddClone,
        Self::TakeReference,
        Self::AddMutability,
        Self::BalanceDelimiters,
        Self::AddMatchArm,
        Self::RemoveUnreachable,
        Self::CorrectMacroAttr,
        Self::AddReturnType,
        Self::AddTypeAnnotation,
        Self::AddStructField,
        Self::UnpackQuestion,
        Self::InitializeBinding,
        Self::Other,
    ];

    /// The word of the schema.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Untaint => "untaint",
            Self::MissingImport => "missing_import",
            Self::AddEffect => "add_effect",
            Self::AddCapability => "add_capability",
            Self::RenameToMatchDecl => "rename_to_match_decl",
            Self::WrapInSome => "wrap_in_some",
            Self::TypeConversion => "type_conversion",
            Self::DeclareProtocolMessage => "declare_protocol_message",
            Self::AddClone => "add_clone",
            Self::TakeReference => "take_reference",
            Self::AddMutability => "add_mutability",
            Self::BalanceDelimiters => "balance_delimiters",
            Self::AddMatchArm => "add_match_arm",
            Self::RemoveUnreachable => "remove_unreachable",
            Self::CorrectMacroAttr => "correct_macro_attr",
            Self::AddReturnType => "add_return_type",
            Self::AddTypeAnnotation => "add_type_annotation",
            Self::AddStructField => "add_struct_field",
            Self::UnpackQuestion => "unpack_question",
            Self::InitializeBinding => "initialize_binding",
            Self::Other => "other",
        }
    }
}

/// How sure a fix is, in hundredths, 0 to 100 (toolchain digest, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u8);

impl Confidence {
    /// Below this a fix is not offered.
    pub const FLOOR: Self = Self(50);

    pub(super) const fn new(hundredths: u8) -> Self {
        Self(hundredths)
    }

    /// 0 to 1; prints in its shortest decimal form.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// Replaces a range of the normalised text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: TextRange,
    pub(super) text: String,
}

impl Edit {
    pub(super) fn replace(range: TextRange, text: impl Into<String>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }

    pub(super) fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(TextRange::new(at, at), text)
    }

    pub(super) fn delete(range: TextRange) -> Self {
        Self::replace(range, "")
    }
}

/// An alternative before it is a diff.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) confidence: Confidence,
    pub(super) label: String,
    pub(super) rationale: String,
    pub(super) edits: Vec<Edit>,
}

impl Draft {
    /// A draft of one or more edits; `hundredths` is its confidence.
    pub(super) fn new(
        kind: Kind,
        hundredths: u8,
        label: impl Into<String>,
        rationale: impl Into<String>,
        edits: Vec<Edit>,
    ) -> Self {
        Self {
            kind,
            confidence: Confidence::new(hundredths),
            label: label.into(),
            rationale: rationale.into(),
            edits,
        }
    }
}
