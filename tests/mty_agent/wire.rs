//! Response lines and exchanges as the tests see them: strict about key order, kinds and `done`.
//! No transport lives here beyond the stdio child.

use serde_json::Value;

use crate::support::{Exit, Launch, Server};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_mty");

pub(crate) const DONE_0: &str = r#"{"kind":"done","exit_code":0}"#;
pub(crate) const DONE_2: &str = r#"{"kind":"done","exit_code":2}"#;
pub(crate) const HALT: &str = r#"{"op":"halt"}"#;
pub(crate) const HALTED: &str = r#"{"kind":"result","op":"halt","ok":true}"#;
pub(crate) const EXPLAIN: &str = r#"{"op":"explain","code":"MT4099"}"#;
/// Exit code 1.
pub(crate) const UNKNOWN_CODE: &str = r#"{"op":"explain","code":"MT9999"}"#;
/// Exit code 2.
pub(crate) const UNKNOWN_OP: &str = r#"{"op":"no-such-op"}"#;

/// The lines that answer one request.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) lines: Vec<String>,
}

impl Exchange {
    /// Takes lines up to and including the first `done`; `None` when there is none.
    pub(crate) fn take(lines: &mut impl Iterator<Item = String>) -> Option<Self> {
        let mut taken = Vec::new();
        for line in lines {
            check_line(&line);
            let done = line.starts_with(r#"{"kind":"done""#);
            taken.push(line);
            if done {
                return Some(Self { lines: taken });
            }
        }
        assert!(taken.is_empty(), "lines without a done: {taken:?}");
        None
    }

    /// Splits a whole response into its exchanges.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "the last line has no LF: {text:?}"
        );
        let mut lines = text.split_terminator('\n').map(str::to_owned);
        std::iter::from_fn(|| Self::take(&mut lines)).collect()
    }

    pub(crate) fn one(text: &str) -> Self {
        let mut all = Self::all(text);
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    pub(crate) fn exit_code(&self) -> i64 {
        json(self.lines.last().unwrap())["exit_code"]
            .as_i64()
            .unwrap()
    }

    /// Messages of the `error` lines.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.of_kind("error")
            .iter()
            .map(|v| v["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The only `result`, if there is one.
    pub(crate) fn result(&self) -> Option<Value> {
        let mut results = self.of_kind("result");
        assert!(results.len() <= 1, "{:?}", self.lines);
        results.pop()
    }

    /// An answer that is one `error` and `done` with 2, and that message.
    pub(crate) fn protocol_error(&self) -> String {
        let mut errors = self.errors();
        assert_eq!((self.lines.len(), errors.len()), (2, 1), "{:?}", self.lines);
        assert_eq!(self.lines[1], DONE_2);
        errors.remove(0)
    }

    /// The lines of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<Value> {
        self.lines
            .iter()
            .map(|line| json(line))
            .filter(|v| v["kind"] == kind)
            .collect()
    }
}

pub(crate) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Key order of every kind, as far as it is fixed for all ops (toolchain digest, section 3).
pub(crate) fn check_line(line: &str) {
    let value = json(line);
    let order: &[&str] = match value["kind"].as_str() {
        Some("error") => &["kind", "message"],
        Some("done") => &["kind", "exit_code"],
        Some("result") => &["kind", "op", "ok"],
        Some("log") => &["kind", "stream", "text"],
        Some("progress") => &["kind", "phase", "pct"],
        Some("patch") => &["kind", "applied", "diff"],
        Some("envelope") => &[
            "kind",
            "schema_version",
            "code",
            "severity",
            "span",
            "title",
            "prose",
        ],
        other => panic!("unknown kind {other:?}: {line}"),
    };
    let mut rest = line.strip_prefix('{').unwrap();
    for (i, key) in order.iter().enumerate() {
        let key = format!("\"{key}\":");
        // The first keys are short scalars; later ones only have to follow.
        let at = rest
            .find(&key)
            .unwrap_or_else(|| panic!("{key} is missing or out of order: {line}"));
        assert!(i > 0 || at == 0, "{line}");
        rest = &rest[at + key.len()..];
    }
    if let Some("error" | "done") = value["kind"].as_str() {
        assert_eq!(value.as_object().unwrap().len(), 2, "{line}");
    }
    if let Some(message) = value["message"].as_str() {
        assert!(!message.is_empty(), "{line}");
    }
}

pub(crate) fn launch(args: &[&str]) -> Launch {
    Launch::new(BIN, &[&["agent"], args].concat())
}

/// A stdio session.
pub(crate) struct Agent {
    pub(crate) server: Server,
}

impl Agent {
    pub(crate) fn spawn(launch: Launch) -> Self {
        Self {
            server: Server::spawn(launch),
        }
    }

    pub(crate) fn start() -> Self {
        Self::spawn(launch(&[]))
    }

    /// The next exchange; `None` at the end of stdout.
    pub(crate) fn try_recv(&mut self) -> Option<Exchange> {
        let server = &mut self.server;
        Exchange::take(&mut std::iter::from_fn(|| {
            let line = server.recv_line()?;
            assert!(line.terminated, "stdout ended inside a line");
            Some(String::from_utf8(line.bytes).expect("UTF-8"))
        }))
    }

    pub(crate) fn recv(&mut self) -> Exchange {
        self.try_recv().expect("stdout ended instead of an answer")
    }

    /// Sends bytes with an LF behind them and takes one exchange.
    pub(crate) fn ask(&mut self, line: impl AsRef<[u8]>) -> Exchange {
        self.server.send([line.as_ref(), b"\n"].concat());
        self.recv()
    }

    /// Proves that the loop goes on and no surplus line was written.
    pub(crate) fn assert_alive(&mut self) {
        let exchange = self.ask(r#"{"op":"alive?"}"#);
        assert!(
            exchange.protocol_error().contains("alive?"),
            "{:?}",
            exchange.lines
        );
    }

    /// Ends stdin; there must be no further line.
    pub(crate) fn finish(mut self) -> Exit {
        self.server.close_stdin();
        let rest = self.server.rest();
        assert!(rest.is_empty(), "{rest:?}");
        self.server.wait_exit()
    }
}

/// Runs a child on that stdin and gives its stdout and how it ended.
pub(crate) fn run(launch: Launch, stdin: impl Into<Vec<u8>>) -> (String, Exit) {
    let mut server = Server::spawn(launch);
    let _ = server.try_send(stdin);
    server.close_stdin();
    let mut out = String::new();
    for line in server.rest() {
        out.push_str(std::str::from_utf8(&line.bytes).expect("UTF-8"));
        if line.terminated {
            out.push('\n');
        }
    }
    (out, server.wait_exit())
}
