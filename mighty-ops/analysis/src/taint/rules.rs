//! Where untrusted values come from, where they must not go, and what clears them, as data (language.md §16).
//! Must not know about expressions.

/// A value whose methods or fields matter. Followed from its constructor, or known by its written type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handle {
    /// `swarm.Member`.
    Member,
    /// A client of a model provider.
    Client,
    /// A client of a tool server.
    Mcp,
    /// `process.Command`.
    Command,
    /// `net.Request`.
    Request,
    /// What `http.get` and `http.post` give: its body is untrusted, its status is not.
    Response,
}

/// The handle that a library type stands for. A response counts only where it comes from.
#[must_use]
pub(super) fn handle_type(name: &str) -> Option<Handle> {
    Some(match name {
        "Member" => Handle::Member,
        "AnthropicClient" | "OpenAiClient" | "GeminiClient" | "BedrockClient" => Handle::Client,
        "McpClient" => Handle::Mcp,
        "Command" => Handle::Command,
        "Request" => Handle::Request,
        _ => return None,
    })
}

/// Names without one of which a package has no source at all.
pub(super) const SOURCE_NAMES: &[&str] = &[
    "env",
    "http",
    "mcp",
    "llm",
    "call_tool",
    "Member",
    "AnthropicClient",
    "OpenAiClient",
    "GeminiClient",
    "BedrockClient",
    "McpClient",
    "Tainted",
];

/// Whether a method of a handle gives an untrusted value.
#[must_use]
pub(super) fn is_source(handle: Handle, method: &str) -> bool {
    match handle {
        Handle::Member => method == "ask",
        Handle::Client => is_client_call(method),
        Handle::Mcp => method == "call_tool",
        Handle::Response => method == "body",
        Handle::Command | Handle::Request => false,
    }
}

/// Calls of model clients.
#[must_use]
pub(super) fn is_client_call(name: &str) -> bool {
    matches!(
        name,
        "messages" | "responses" | "generate_content" | "converse" | "complete"
    )
}

/// What a call by a library path gives, whatever its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Untrusted,
    Handle(Handle),
    /// Untrusted if an argument is.
    Carried,
    Trusted,
}

/// By the path without `std`.
#[must_use]
pub(super) fn call(path: &[&str]) -> Given {
    match path {
        ["env", "var" | "args"] => Given::Untrusted,
        ["http", "get" | "post"] => Given::Handle(Handle::Response),
        ["llm", name] if is_client_call(name) => Given::Untrusted,
        ["mcp", .., "call_tool"] => Given::Untrusted,
        ["fs", "read_to_string"] => Given::Carried,
        [.., of, name] if let Some(h) = handle_type(of) => {
            if is_source(h, name) {
                Given::Untrusted
            } else {
                Given::Handle(h)
            }
        }
        ["mcp", ..] => Given::Handle(Handle::Mcp),
        // What these give does not consist of what they were given.
        [
            "fs" | "net" | "http" | "tls" | "process" | "sql" | "env" | "time" | "clock" | "rand"
            | "random" | "log" | "trace" | "dom" | "web" | "test" | "panic" | "observe",
            ..,
        ] => Given::Trusted,
        _ => Given::Carried,
    }
}

/// Which arguments of a sink are sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sensitive {
    /// Counted from 0, without a leading capability.
    One(usize),
    All,
}

/// A sink by its path without `std`: its name in reports, and its sensitive arguments.
#[must_use]
pub(super) fn sink(path: &[&str]) -> Option<(String, Sensitive)> {
    Some(match path {
        ["fs", name] => (format!("std.fs.{name}"), file_sink(name)?),
        ["sql", "execute"] => ("std.sql.execute".to_owned(), Sensitive::One(0)),
        [.., of, name] => handle_sink(handle_type(of)?, name)?,
        _ => return None,
    })
}

/// Of `std.fs` and of an `Fs` handle.
#[must_use]
pub(super) fn file_sink(name: &str) -> Option<Sensitive> {
    matches!(name, "write" | "write_file" | "write_string" | "append").then_some(Sensitive::One(1))
}

/// Of a handle.
#[must_use]
pub(super) fn handle_sink(handle: Handle, method: &str) -> Option<(String, Sensitive)> {
    match (handle, method) {
        (Handle::Command, "arg") => Some(("process.Command.arg".to_owned(), Sensitive::All)),
        (Handle::Request, "body") => Some(("net.Request.body".to_owned(), Sensitive::One(0))),
        _ => None,
    }
}

/// The only ways out.
#[must_use]
pub(super) fn is_exit(method: &str) -> bool {
    matches!(method, "matches_regex" | "in_allowlist" | "sanitize_with")
}

/// Functions of the prelude that only show their arguments.
#[must_use]
pub(super) fn is_display(name: &str) -> bool {
    matches!(
        name,
        "log" | "print" | "println" | "eprint" | "eprintln" | "panic" | "dbg" | "sleep"
    )
}

/// Built-in methods that store their arguments in the receiver.
#[must_use]
pub(super) fn is_storing(method: &str) -> bool {
    matches!(
        method,
        "push"
            | "push_str"
            | "insert"
            | "insert_at"
            | "append"
            | "extend"
            | "replace_range"
            | "push_back"
            | "push_front"
    )
}

/// Built-in methods whose arguments only choose among what the receiver holds.
#[must_use]
pub(super) fn is_lookup(method: &str) -> bool {
    matches!(
        method,
        "get"
            | "get_mut"
            | "remove"
            | "contains"
            | "contains_key"
            | "starts_with"
            | "ends_with"
            | "position"
            | "is_match"
            | "char_at"
            | "slice"
    )
}

/// Methods that take a handle out of an `Option` or `Result`, or pass it along.
#[must_use]
pub(super) fn is_unwrapping(method: &str) -> bool {
    matches!(
        method,
        "unwrap" | "unwrap_or" | "unwrap_or_else" | "expect" | "ok" | "ok_or" | "map_err" | "clone"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sources() {
        assert_eq!(call(&["env", "var"]), Given::Untrusted);
        assert_eq!(call(&["env", "args"]), Given::Untrusted);
        assert_eq!(call(&["env", "set"]), Given::Trusted);
        assert_eq!(call(&["http", "get"]), Given::Handle(Handle::Response));
        assert_eq!(call(&["http", "serve"]), Given::Trusted);
        assert_eq!(
            call(&["swarm", "Member", "mock"]),
            Given::Handle(Handle::Member)
        );
        assert_eq!(call(&["Member", "ask"]), Given::Untrusted);
        assert_eq!(call(&["mcp", "connect"]), Given::Handle(Handle::Mcp));
        assert_eq!(call(&["mcp", "call_tool"]), Given::Untrusted);
        assert_eq!(call(&["llm", "complete"]), Given::Untrusted);
        assert_eq!(call(&["json", "parse"]), Given::Carried);
        assert_eq!(call(&["fs", "read_to_string"]), Given::Carried);
        assert_eq!(call(&["fs", "read"]), Given::Trusted);
    }

    #[test]
    fn sinks_and_their_arguments() {
        let of = |p: &[&str]| sink(p).map(|(_, s)| s);
        assert_eq!(of(&["fs", "write"]), Some(Sensitive::One(1)));
        assert_eq!(of(&["fs", "append"]), Some(Sensitive::One(1)));
        assert_eq!(of(&["fs", "read"]), None);
        assert_eq!(of(&["sql", "execute"]), Some(Sensitive::One(0)));
        assert_eq!(of(&["process", "Command", "arg"]), Some(Sensitive::All));
        assert_eq!(of(&["Command", "arg"]), Some(Sensitive::All));
        assert_eq!(of(&["Command", "new"]), None);
        assert_eq!(of(&["net", "Request", "body"]), Some(Sensitive::One(0)));
        assert_eq!(of(&["write"]), None);
    }
}
