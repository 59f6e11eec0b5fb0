//! The prelude and the shape of the standard library, as data (language.md §5.3, stdlib.md §8).
//! Must not hold signatures; `infer` has those. To let programs use one more name, add it here.

use crate::hir::PreludeVariant;
use crate::ty::{Family, FloatTy, IntTy, Prim};

/// Functions known everywhere.
pub(crate) const VALUES: &[&str] = &[
    "dbg",
    "eprint",
    "eprintln",
    "fetch",
    "log",
    "move",
    "null",
    "panic",
    "print",
    "println",
    "raw_ptr",
    "spawn",
    "str",
    "valid",
    // Plain calls of the standard macros are their legacy form.
    "assert",
    "assert_eq",
    "assert_ne",
    "debug",
    "format",
    "unreachable",
    "vec",
    // Named by the digest only as what the interpreter pumps on.
    "sleep",
];

/// Modules of the standard library; each is also known by its last name before a dot.
pub(crate) const MODULES: &[&str] = &[
    "agent",
    "bytes",
    "cbor",
    "clock",
    "collections",
    "computer",
    "core",
    "crypto",
    "dom",
    "encoding",
    "env",
    "error",
    "eval",
    "fmt",
    "fs",
    "http",
    "io",
    "iter",
    "json",
    "llm",
    "log",
    "math",
    "mcp",
    "memory",
    "model",
    "net",
    "observe",
    "option",
    "os",
    "panic",
    "path",
    "process",
    "proto",
    "rag",
    "rand",
    "random",
    "regex",
    "result",
    "sql",
    "string",
    "swarm",
    "test",
    "text",
    "time",
    "tls",
    "tool",
    "trace",
    "url",
    "uuid",
    "web",
];

/// Types of which only the name is known.
pub(crate) const OPAQUE: &[&str] = &[
    // core
    "Instant",
    "Json",
    "Path",
    "Regex",
    "Url",
    "Uuid",
    // samples
    "Ast",
    "Command",
    "Config",
    "Fetcher",
    "Html",
    "Logger",
    "Lowered",
    "Metadata",
    "Page",
    "Planner",
    "Request",
    "Response",
    "Search",
    "Shape",
    "TokenStream",
    "Tokens",
    "UserId",
    // library handles
    "AnthropicClient",
    "BedrockClient",
    "Case",
    "Compare",
    "DollarBudget",
    "Episodic",
    "Equal",
    "FirstAgreed",
    "GeminiClient",
    "Index",
    "Majority",
    "McpClient",
    "McpServer",
    "Member",
    "Message",
    "MessageStream",
    "OpenAiClient",
    "Rag",
    "Report",
    "Retriever",
    "Suite",
    "TokenBudget",
    "ToolCallSetEqual",
    "Unanimous",
    "VectorStore",
    "WeightedVote",
    "Working",
    // sanitisers
    "HtmlEscape",
    "PathBoundary",
    "Sanitizer",
    "ShellEscape",
    "SqlEscape",
    // traits of the run-time that are accepted as ordinary ones
    "Drop",
    "MigrateFrom",
    "Resumable",
];

/// Opaque error types.
pub(crate) const ERRORS: &[&str] = &[
    "ConfigErr",
    "FetchErr",
    "HttpErr",
    "IoErr",
    "JsonErr",
    "MainErr",
    "NetErr",
    "ParseErr",
    "RunErr",
    "SearchErr",
    "WorkErr",
];

/// Traits that are satisfied by structure, and the derives (§10, [R:G27]).
pub(crate) const MARKERS: &[&str] = &["Copy", "Eq", "Hash", "Sendable"];

/// Known symbols of standard modules, for near misses of imports only.
const SYMBOLS: &[(&str, &[&str])] = &[
    (
        "fs",
        &[
            "append",
            "create_dir_all",
            "exists",
            "list_dir",
            "metadata",
            "read",
            "read_dir",
            "read_file",
            "read_to_string",
            "remove_dir_all",
            "remove_file",
            "stat",
            "write",
            "write_file",
            "write_string",
        ],
    ),
    ("env", &["args", "var"]),
    ("time", &["Instant", "now", "now_ms", "sleep"]),
    ("rand", &["LogicalClock", "XorShift", "fill"]),
    ("random", &["LogicalClock", "XorShift", "fill"]),
    ("log", &["debug", "error", "info", "log", "trace", "warn"]),
    (
        "json",
        &[
            "Json",
            "JsonErr",
            "decode",
            "encode",
            "encode_pretty",
            "parse",
        ],
    ),
    (
        "http",
        &[
            "Request",
            "Response",
            "get",
            "parse_request_line",
            "post",
            "serve",
            "shutdown",
        ],
    ),
    ("net", &["Request", "get", "post", "tcp"]),
    ("tls", &["connect", "server"]),
    ("process", &["Command"]),
    ("sql", &["execute"]),
    ("panic", &["assert", "panic", "unreachable"]),
    (
        "fmt",
        &[
            "to_bin_str",
            "to_debug_str",
            "to_hex_str",
            "to_hex_upper_str",
            "to_oct_str",
            "to_str",
        ],
    ),
    ("string", &["Str", "String"]),
    ("bytes", &["Bytes"]),
    ("collections", &["List", "Map", "Set", "Vec"]),
    (
        "dom",
        &[
            "get_element_by_id",
            "get_text",
            "on_click",
            "query",
            "set_text",
            "set_text_handle",
        ],
    ),
    ("web", &["Canvas", "Input"]),
    ("regex", &["Regex"]),
    (
        "crypto",
        &[
            "aes_gcm",
            "blake3",
            "hmac_sha256",
            "hmac_sha512",
            "random_bytes",
            "sha256",
            "sha512",
            "subtle_eq",
        ],
    ),
    ("encoding", &["base64", "hex"]),
    ("url", &["Url", "parse", "percent_decode", "percent_encode"]),
    ("uuid", &["Uuid"]),
    (
        "llm",
        &[
            "AnthropicClient",
            "BedrockClient",
            "DollarBudget",
            "GeminiClient",
            "OpenAiClient",
            "TokenBudget",
        ],
    ),
    (
        "swarm",
        &[
            "FirstAgreed",
            "Majority",
            "Member",
            "Unanimous",
            "WeightedVote",
            "swarm",
        ],
    ),
    ("mcp", &["McpClient", "McpServer"]),
    ("memory", &["Episodic", "VectorStore", "Working"]),
    ("rag", &["Index", "Rag", "Retriever"]),
    (
        "eval",
        &[
            "Case",
            "Compare",
            "Equal",
            "Report",
            "Suite",
            "ToolCallSetEqual",
        ],
    ),
    ("observe", &["span"]),
];

/// Whether a value of this name is known everywhere.
#[must_use]
pub(crate) fn is_value(name: &str) -> bool {
    VALUES.contains(&name)
}

/// Whether it is a module of the standard library.
#[must_use]
pub(crate) fn is_module(name: &str) -> bool {
    MODULES.binary_search(&name).is_ok()
}

/// Whether it is an opaque type.
#[must_use]
pub(crate) fn is_opaque(name: &str) -> bool {
    OPAQUE.contains(&name) || ERRORS.contains(&name)
}

/// Whether it is a marker trait.
#[must_use]
pub(crate) fn is_marker(name: &str) -> bool {
    MARKERS.contains(&name)
}

/// Known symbols of a standard module.
#[must_use]
pub(crate) fn symbols(module: &str) -> &'static [&'static str] {
    SYMBOLS
        .iter()
        .find(|(m, _)| *m == module)
        .map_or(&[], |(_, s)| s)
}

/// A variant known without its enum.
#[must_use]
pub(crate) fn variant(name: &str) -> Option<PreludeVariant> {
    Some(match name {
        "Some" => PreludeVariant::Some,
        "None" => PreludeVariant::None,
        "Ok" => PreludeVariant::Ok,
        "Err" => PreludeVariant::Err,
        _ => return None,
    })
}

/// A capability family.
#[must_use]
pub(crate) fn family(name: &str) -> Option<Family> {
    Some(match name {
        "Net" => Family::Net,
        "Fs" => Family::Fs,
        "Clock" => Family::Clock,
        "Dom" => Family::Dom,
        "Model" => Family::Model,
        "Canvas" => Family::Canvas,
        "Input" => Family::Input,
        _ => return None,
    })
}

/// The family of an untyped constructor parameter of this name (§14).
#[must_use]
pub(crate) fn family_of_parameter(name: &str) -> Option<Family> {
    Some(match name {
        "net" => Family::Net,
        "fs" => Family::Fs,
        "clock" => Family::Clock,
        "dom" => Family::Dom,
        "model" => Family::Model,
        _ => return None,
    })
}

/// A primitive or collection type.
#[must_use]
pub(crate) fn prim(name: &str) -> Option<Prim> {
    Some(match name {
        "Bool" => Prim::Bool,
        "Char" => Prim::Char,
        "Unit" => Prim::Unit,
        "Duration" => Prim::Duration,
        "Size" => Prim::Size,
        "Str" => Prim::Str,
        "String" => Prim::String,
        "Bytes" => Prim::Bytes,
        "Never" => Prim::Never,
        "Option" => Prim::Option,
        "Result" => Prim::Result,
        "AgentRef" => Prim::AgentRef,
        "Task" => Prim::Task,
        "Vec" => Prim::Vec,
        "Map" => Prim::Map,
        "List" => Prim::List,
        "Set" => Prim::Set,
        "Tainted" => Prim::Tainted,
        "F32" => Prim::Float(FloatTy::F32),
        "F64" => Prim::Float(FloatTy::F64),
        _ => Prim::Int(int(name)?),
    })
}

/// An integer type by its name.
#[must_use]
pub(crate) fn int(name: &str) -> Option<IntTy> {
    Some(match name {
        "I8" => IntTy::I8,
        "I16" => IntTy::I16,
        "I32" => IntTy::I32,
        "I64" => IntTy::I64,
        "I128" => IntTy::I128,
        "ISize" => IntTy::ISize,
        "U8" => IntTy::U8,
        "U16" => IntTy::U16,
        "U32" => IntTy::U32,
        "U64" => IntTy::U64,
        "U128" => IntTy::U128,
        "USize" => IntTy::USize,
        _ => return None,
    })
}

/// An integer type by its literal suffix.
#[must_use]
pub(crate) fn int_suffix(suffix: &str) -> Option<IntTy> {
    Some(match suffix {
        "i8" => IntTy::I8,
        "i16" => IntTy::I16,
        "i32" => IntTy::I32,
        "i64" => IntTy::I64,
        "i128" => IntTy::I128,
        "isize" => IntTy::ISize,
        "u8" => IntTy::U8,
        "u16" => IntTy::U16,
        "u32" => IntTy::U32,
        "u64" => IntTy::U64,
        "u128" => IntTy::U128,
        "usize" => IntTy::USize,
        _ => return None,
    })
}

/// Names of primitive types, for near misses.
pub(crate) const PRIMS: &[&str] = &[
    "AgentRef", "Bool", "Bytes", "Char", "Clock", "Dom", "Duration", "F32", "F64", "Fs", "I128",
    "I16", "I32", "I64", "I8", "ISize", "List", "Map", "Model", "Net", "Never", "Option", "Result",
    "Set", "Size", "Str", "String", "Task", "U128", "U16", "U32", "U64", "U8", "USize", "Unit",
    "Vec",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_sorted_and_every_module_with_symbols_exists() {
        assert!(MODULES.is_sorted());
        assert!(SYMBOLS.iter().all(|(m, _)| is_module(m)));
        assert!(is_module("fs") && is_module("web") && !is_module("jsn"));
    }
}
