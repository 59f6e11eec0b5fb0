//! The diagnostic catalogue: each assigned number with its constant, severity and status.
//! Facts only, as data. Texts live in `explain.txt`, the conditions themselves in the checker.

/// How a diagnostic weighs on the outcome of the command that reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Makes `check` fail.
    Error,
    /// Reported, and leaves the exit code alone.
    Warning,
    /// An error in strict scopes and a warning in permissive ones.
    ByScope,
    /// Raised while a program runs; an error where it is put into an envelope.
    Trap,
}

/// Whether, and by whom, a number is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Reported by checker, interpreter or macro expander.
    Emitted,
    /// Registered, while its condition is mostly reported under another number.
    Folded,
    /// Set aside: never reported, and never given to another condition.
    Reserved,
    /// Reported by native and wasm code generation only.
    Codegen,
    /// Reported by a cluster or reload run-time only.
    Cluster,
    /// Reported by us, and absent from the public registry.
    Private,
}

/// One assigned number. A number is never reused or moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diagnostic {
    /// 1 to 9999; shown as `MT` and four digits.
    pub number: u16,
    /// The registry's constant, where it has given one.
    pub name: Option<&'static str>,
    pub severity: Severity,
    pub status: Status,
}

/// Every assigned number, ascending.
#[must_use]
pub fn catalogue() -> &'static [Diagnostic] {
    CATALOGUE
}

/// The entry of `number`, if that number is assigned.
#[must_use]
pub fn lookup(number: u16) -> Option<&'static Diagnostic> {
    let at = CATALOGUE.binary_search_by_key(&number, |d| d.number).ok()?;
    CATALOGUE.get(at)
}

const fn row(number: u16, name: &'static str, severity: Severity, status: Status) -> Diagnostic {
    Diagnostic {
        number,
        name: Some(name),
        severity,
        status,
    }
}

const fn unnamed(number: u16, severity: Severity, status: Status) -> Diagnostic {
    Diagnostic {
        number,
        name: None,
        severity,
        status,
    }
}

use Severity::{ByScope, Error, Trap, Warning};
use Status::{Cluster, Codegen, Emitted, Folded, Private, Reserved};

static CATALOGUE: &[Diagnostic] = &[
    // MT0xxx: lexer, parser
    row(1, "UNEXPECTED_TOKEN", Error, Emitted),
    row(2, "UNTERMINATED_STRING", Error, Emitted),
    row(3, "INVALID_ESCAPE", Error, Emitted),
    row(4, "UNKNOWN_DURATION_UNIT", Error, Emitted),
    row(6, "MALFORMED_NUMERIC_LITERAL", Error, Emitted),
    row(10, "EXPECTED_ITEM", Error, Emitted),
    row(11, "EXPECTED_EXPR", Error, Emitted),
    row(12, "MISMATCHED_DELIMITER", Error, Emitted),
    row(20, "DUPLICATE_ON_HANDLER", Error, Emitted),
    row(21, "PUB_NEEDS_RETURN_TYPE", Error, Emitted),
    row(30, "DEPTH_LIMIT_EXCEEDED", Error, Emitted),
    // MT1xxx: names, attributes
    row(1001, "UNRESOLVED_NAME", Error, Emitted),
    row(1002, "USE_RESOLVES_TO_NOTHING", Error, Emitted),
    unnamed(1003, Error, Emitted),
    unnamed(1004, Error, Emitted),
    row(1090, "DUPLICATE_ITEM", Warning, Private),
    // MT2xxx: types
    row(2001, "TYPE_MISMATCH", Error, Emitted),
    row(2002, "UNRESOLVED_TYPE", Error, Emitted),
    row(2003, "CANNOT_INFER_TYPE", Error, Emitted),
    row(2004, "WRONG_GENERIC_ARITY", Error, Emitted),
    row(2005, "WRONG_ARG_COUNT", Error, Emitted),
    row(2006, "UNKNOWN_FIELD", Error, Emitted),
    row(2007, "UNKNOWN_METHOD", Error, Emitted),
    row(2008, "NOT_CALLABLE", Error, Emitted),
    row(2009, "UNKNOWN_VARIANT", Error, Emitted),
    row(2010, "QUESTION_OUTSIDE_RESULT", Error, Emitted),
    row(2011, "QUESTION_ERROR_MISMATCH", Error, Emitted),
    row(2012, "WRONG_VARIANT_ARITY", Error, Emitted),
    row(2013, "MISSING_STRUCT_FIELD", Error, Emitted),
    row(2014, "DUPLICATE_STRUCT_FIELD", Error, Emitted),
    row(2015, "NON_EXHAUSTIVE_MATCH", Error, Emitted),
    row(2016, "UNREACHABLE_MATCH_ARM", Warning, Emitted),
    row(2017, "BINOP_TYPE_MISMATCH", Error, Emitted),
    row(2018, "IF_BRANCH_MISMATCH", Error, Emitted),
    row(2019, "RETURN_TYPE_MISMATCH", Error, Emitted),
    row(2020, "PUB_PARAM_NEEDS_TYPE", Error, Emitted),
    row(2021, "UNRESOLVED_VALUE", ByScope, Emitted),
    row(2022, "NOT_A_STRUCT", Error, Emitted),
    row(2023, "GENERIC_ARG_MISMATCH", Error, Emitted),
    row(2024, "LAMBDA_ARITY_MISMATCH", Error, Emitted),
    row(2025, "CANNOT_TAKE_REF", Error, Emitted),
    row(2026, "PROTOCOL_MSG_UNKNOWN", Warning, Emitted),
    row(2027, "INVALID_CAST", Error, Emitted),
    row(2028, "INVALID_CODEPOINT", Error, Emitted),
    row(2029, "UNRESOLVED_MODULE", Error, Emitted),
    row(2030, "SYMBOL_NOT_IN_MODULE", Error, Emitted),
    // MT3xxx: ownership
    row(3001, "USE_AFTER_MOVE", Error, Emitted),
    row(3002, "MOVE_OUT_OF_BORROW", Error, Emitted),
    row(3003, "BORROW_AFTER_MOVE", Error, Emitted),
    row(3004, "MUT_BORROW_WHILE_SHARED", Error, Emitted),
    row(3005, "SHARED_BORROW_WHILE_MUT", Error, Emitted),
    row(3006, "TWO_MUT_BORROWS", Error, Emitted),
    row(3007, "BORROW_OUTLIVES_OWNER", Error, Emitted),
    row(3008, "CANNOT_MOVE_BORROWED", Error, Emitted),
    row(3009, "MOVE_OUT_OF_REF", Error, Emitted),
    row(3010, "ARENA_ESCAPE", Error, Emitted),
    row(3011, "NON_SENDABLE_MESSAGE_ARG", Error, Emitted),
    row(3012, "DROP_IN_CONST_CONTEXT", Error, Reserved),
    row(3013, "MUT_BORROW_OF_IMMUT_LOCAL", Error, Emitted),
    row(3014, "ASSIGN_TO_IMMUT_LOCAL", Error, Emitted),
    row(3015, "USE_OF_UNINITIALIZED", Error, Emitted),
    unnamed(3020, Error, Folded),
    // MT4xxx: effects, capabilities, traits, protocols, taint
    row(4001, "EFFECT_UNDECLARED", Error, Emitted),
    row(4002, "ALLOC_IN_CORE", Error, Emitted),
    row(4010, "CAPABILITY_TOO_BROAD", Error, Folded),
    row(4020, "METHOD_AMBIGUOUS", Error, Emitted),
    row(4021, "METHOD_NOT_FOUND", Error, Folded),
    row(4022, "TRAIT_COHERENCE_VIOLATION", Error, Emitted),
    row(4023, "DYN_REQUIRES_OBJECT_SAFE", Error, Emitted),
    row(4030, "PROTOCOL_ARITY_MISMATCH", Error, Emitted),
    row(4031, "PROTOCOL_PARAM_TYPE_MISMATCH", Error, Emitted),
    row(4032, "PROTOCOL_MISSING_HANDLER", Error, Emitted),
    row(4033, "PROTOCOL_EXTRA_HANDLER", Error, Emitted),
    row(4040, "DERIVE_COPY_FIELD_NOT_COPY", Error, Emitted),
    row(4041, "DERIVE_UNKNOWN", Error, Emitted),
    row(4050, "ROW_SUBSUMPTION_FAIL", Error, Emitted),
    row(4051, "ROW_OCCURS_CHECK", Error, Reserved),
    row(4052, "ROW_VAR_IN_STRUCT", Error, Reserved),
    row(4053, "ROW_VAR_UNBOUND", Error, Reserved),
    row(4054, "ROW_EFFECT_MISMATCH", Error, Reserved),
    row(4055, "ROW_VAR_UNUSED", Error, Emitted),
    row(4056, "ROW_VAR_IN_CONCRETE_ONLY", Error, Emitted),
    row(4057, "ROW_VAR_RETURNED_UNBOUND", Error, Emitted),
    row(4058, "ROW_VAR_ARITY_MISMATCH", Error, Emitted),
    row(4059, "ROW_VAR_SUBSUMPTION_FAIL", Error, Emitted),
    row(4060, "CAP_NAME_UNBOUND", Error, Emitted),
    row(4061, "CAP_FAMILY_MISMATCH", Error, Emitted),
    row(4062, "CAP_SCOPE_VIOLATION", Error, Emitted),
    row(4063, "CAP_REDECLARATION", Error, Emitted),
    row(4064, "CAP_METHOD_UNKNOWN", Error, Emitted),
    row(4065, "CAP_CONSTRAINT_INVALID", Error, Emitted),
    row(4090, "UNSAFE_OUTSIDE_UNSAFE", Error, Private),
    row(4099, "TAINTED_VALUE_TO_SINK", Error, Emitted),
    // MT5xxx: run-time traps; 503x, 506x and 507x are the cluster and reload bands
    row(5001, "RUNTIME_PANIC", Trap, Emitted),
    row(5002, "USE_AFTER_DROP", Trap, Folded),
    row(5003, "DIVISION_BY_ZERO", Trap, Emitted),
    row(5004, "INTEGER_OVERFLOW", Trap, Folded),
    row(5005, "UNREACHABLE_MATCH", Trap, Folded),
    row(5006, "UNHANDLED_ERROR_RESULT", Trap, Folded),
    row(5007, "ARENA_ESCAPE_RUNTIME", Trap, Reserved),
    row(5008, "UNCALLABLE_BUILTIN", Trap, Folded),
    row(5009, "BUDGET_EXCEEDED", Trap, Emitted),
    row(5010, "SANDBOX_VIOLATION", Trap, Folded),
    row(5011, "DEADLINE_EXCEEDED", Trap, Emitted),
    row(5012, "MAILBOX_FULL", Trap, Emitted),
    row(5013, "SUPERVISOR_ESCALATED", Trap, Emitted),
    row(5014, "RESTART_LIMIT_EXCEEDED", Trap, Emitted),
    row(5015, "CAPABILITY_OUTSIDE_SANDBOX", Trap, Emitted),
    row(5020, "AGENT_HANDLER_MISSING", Trap, Emitted),
    row(5021, "SEND_TO_DEAD_AGENT", Trap, Emitted),
    unnamed(5030, Trap, Cluster),
    unnamed(5031, Trap, Cluster),
    unnamed(5032, Trap, Cluster),
    unnamed(5033, Trap, Cluster),
    row(5050, "EXTERN_FN_UNIMPL", Trap, Emitted),
    unnamed(5060, Trap, Cluster),
    unnamed(5061, Trap, Cluster),
    unnamed(5062, Trap, Cluster),
    unnamed(5063, Trap, Cluster),
    unnamed(5064, Trap, Cluster),
    unnamed(5065, Trap, Cluster),
    unnamed(5066, Trap, Cluster),
    unnamed(5067, Trap, Cluster),
    unnamed(5068, Trap, Cluster),
    unnamed(5069, Trap, Cluster),
    unnamed(5070, Trap, Cluster),
    unnamed(5071, Trap, Cluster),
    unnamed(5072, Trap, Cluster),
    unnamed(5073, Trap, Cluster),
    unnamed(5074, Trap, Cluster),
    unnamed(5075, Trap, Cluster),
    unnamed(5080, Trap, Emitted),
    unnamed(5081, Trap, Reserved),
    unnamed(5901, Trap, Reserved),
    unnamed(5902, Trap, Reserved),
    // MT6xxx: macros and tool attributes
    row(6001, "UNKNOWN_MACRO", Error, Emitted),
    row(6002, "MACRO_ARITY_MISMATCH", Error, Emitted),
    row(6003, "MACRO_BODY_PARSE_FAILED", Error, Emitted),
    row(6004, "RECURSIVE_MACRO_TOO_DEEP", Error, Emitted),
    row(6005, "PROC_MACRO_IMPURE", Error, Emitted),
    row(6006, "PROC_MACRO_UNSUPPORTED_V0_5", Error, Emitted),
    row(6007, "PROC_MACRO_IMPURE_AT_RUNTIME", Error, Reserved),
    row(6008, "PROC_MACRO_RESOURCE_EXCEEDED", Error, Emitted),
    row(6009, "MACRO_FORMAT_BAD_TEMPLATE", Error, Emitted),
    row(6010, "MACRO_FORMAT_UNSUPPORTED_SPEC", Error, Emitted),
    row(6011, "MACRO_FORMAT_BAD_WIDTH", Error, Emitted),
    row(6012, "MACRO_FORMAT_BAD_PRECISION", Error, Emitted),
    unnamed(6013, Error, Emitted),
    unnamed(6014, Error, Emitted),
    unnamed(6015, Error, Emitted),
    unnamed(6016, Error, Emitted),
    unnamed(6017, Error, Emitted),
    unnamed(6018, Error, Emitted),
    unnamed(6019, Error, Emitted),
    unnamed(6020, Error, Emitted),
    // MT8xxx: code generation
    row(8001, "CODEGEN_DIV_BY_ZERO", Error, Codegen),
    row(8002, "CODEGEN_OOB_INDEX", Error, Codegen),
    row(8003, "CODEGEN_INT_OVERFLOW", Error, Codegen),
    row(8004, "CODEGEN_NULL_DEREF", Error, Codegen),
    row(8005, "CODEGEN_EXTERN_UNRESOLVED", Error, Codegen),
    row(8006, "CODEGEN_UNREACHABLE", Error, Codegen),
    row(8007, "CODEGEN_UNSUPPORTED_SHAPE", Error, Codegen),
    row(8008, "CODEGEN_LINKER_MISSING", Error, Codegen),
    row(8009, "CODEGEN_WASM_VALIDATION", Error, Codegen),
    row(8010, "CODEGEN_MONO_FAILED", Error, Codegen),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_ascend_without_repeats() {
        assert!(CATALOGUE.is_sorted_by(|a, b| a.number < b.number));
        assert_eq!(CATALOGUE.len(), 165);
    }

    #[test]
    fn names_are_constants_and_unique() {
        let names: Vec<_> = CATALOGUE.iter().filter_map(|d| d.name).collect();
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        for name in names {
            let constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(constant), "{name}");
        }
    }

    /// The severity rule: warnings are these three, one depends on the scope, traps are the 5xxx band.
    #[test]
    fn severities_follow_the_rule() {
        let of = |s| {
            CATALOGUE
                .iter()
                .filter(move |d| d.severity == s)
                .map(|d| d.number)
        };
        assert_eq!(of(Warning).collect::<Vec<_>>(), [1090, 2016, 2026]);
        assert_eq!(of(ByScope).collect::<Vec<_>>(), [2021]);
        assert!(of(Trap).all(|n| n / 1000 == 5));
        assert!(of(Error).all(|n| n / 1000 != 5));
    }

    #[test]
    fn bands_and_statuses() {
        // Band 7 is reserved whole, and band 9 has no number yet.
        assert!(
            CATALOGUE
                .iter()
                .all(|d| matches!(d.number / 1000, 0..=6 | 8))
        );
        let of = |s| {
            CATALOGUE
                .iter()
                .filter(move |d| d.status == s)
                .map(|d| d.number)
        };
        let reserved = [3012, 4051, 4052, 4053, 4054, 5007, 5081, 5901, 5902, 6007];
        assert_eq!(of(Reserved).collect::<Vec<_>>(), reserved);
        assert_eq!(of(Private).collect::<Vec<_>>(), [1090, 4090]);
        assert_eq!(
            of(Codegen).collect::<Vec<_>>(),
            (8001..=8010).collect::<Vec<_>>()
        );
        let cluster = (5030..=5033).chain(5060..=5075);
        assert_eq!(of(Cluster).collect::<Vec<_>>(), cluster.collect::<Vec<_>>());
        let folded = [3020, 4010, 4021, 5002, 5004, 5005, 5006, 5008, 5010];
        assert_eq!(of(Folded).collect::<Vec<_>>(), folded);
    }

    #[test]
    fn lookup_finds_assigned_numbers_only() {
        for d in CATALOGUE {
            assert_eq!(lookup(d.number), Some(d));
        }
        let assigned = (0..=u16::MAX).filter(|n| lookup(*n).is_some()).count();
        assert_eq!(assigned, CATALOGUE.len());
        assert_eq!(lookup(4099).unwrap().name, Some("TAINTED_VALUE_TO_SINK"));
    }
}
