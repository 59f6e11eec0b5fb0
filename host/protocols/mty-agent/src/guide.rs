//! mty-agent 1.0 in words, for people who write clients: launch, framing, envelope, order, closing.
//! Data of the reference page; what is enforced stands in `rules`, `codec` and `wire`.

use host::guide::{Bound, Guess, Guide, Part, Shape, always, with};

pub(crate) const GUIDE: Guide = Guide {
    launch: &[
        always(COMMANDS),
        if cfg!(feature = "http") {
            always(HTTP_COMMAND)
        } else {
            NOTHING
        },
        if cfg!(feature = "unix") {
            always(UNIX_COMMAND)
        } else {
            NOTHING
        },
        always(LAUNCH),
        if cfg!(feature = "http") {
            always(HTTP)
        } else {
            NOTHING
        },
    ],
    framing: &[
        always(FRAMING),
        if cfg!(feature = "http") {
            always(BODY)
        } else {
            NOTHING
        },
    ],
    envelope: &[
        always(ENVELOPE),
        with(
            &["fix"],
            "- A connection remembers the path, the diagnostics and the text of its last `check`, so that `fix` needs no `path`.",
        ),
        always(
            "\nA whole conversation, annotated: [transcripts/mty-agent.md](transcripts/mty-agent.md).",
        ),
    ],
    shapes: &[REQUEST, EVENT, RESULT, ERROR, DONE],
    guesses: GUESSES,
    order: &[always(ORDER)],
    closing: CLOSING,
    bounds: &[
        Bound::new(
            &[],
            "whitespace around a request",
            "64 KiB beyond the bound of a request",
        ),
        Bound::new(&[], "closing of a server", "2,000 ms"),
    ],
    whole: &[],
};

const NOTHING: Part = always("");

const COMMANDS: &str = "\
| command | serves |
| --- | --- |
| `mty agent` | standard input and output: one request a line, until `halt` or the end of input |
| `mty agent --single-shot` | one request, the whole of standard input; exits with its code |";

const HTTP_COMMAND: &str = "| `mty agent --transport http --port 8889` | HTTP/1.1 on `127.0.0.1`; `--listen HOST:PORT` for another address |";

const UNIX_COMMAND: &str = "| `mty agent --transport unix --socket PATH` | a Unix socket, mode 0600; each connection speaks as standard input and output do |";

const LAUNCH: &str = "
- Relative paths in requests are relative to the current directory of the process.
- Stdout carries response lines and nothing else. Stderr is for people.
- `--record FILE` appends every request that was read with its response to a file (not one beyond the bound of a request), \
in the order in which the responses end; which connection they belong to is not recorded. `--replay FILE` runs such a file again and compares: each request in a session of \
its own, or, where that answers with an error that was not recorded, in one that an earlier request left. Nothing is \
written; with `--allow-writes` it is, and all requests run in one session, since none may run twice: a recording of several \
connections then differs where one of them had checked a file and another had not.";

const HTTP: &str = "
**HTTP.** `POST /v1/agent` takes one request, which may span lines; `POST /v1/agent/batch` takes one a line; `GET \
/v1/agent/version` gives `{\"mty_version\":\"…\",\"agent_protocol\":\"1.0\"}`. Response lines come as \
`application/x-ndjson` with status 200, whatever their exit codes. Each connection serves one HTTP request and closes. What is \
refused has a body with an `error`, and runs nothing:

| status | refused |
| ---: | --- |
| 400 | no HTTP/1.1 request, no `Host` or more than one, a body that breaks off |
| 401 | with `--auth-token TOKEN` or `MTY_AUTH_TOKEN`: a request without `Authorization: Bearer TOKEN`. With it, `Origin` and `Host` don't matter |
| 403 | without a token: a request with an `Origin` header, as web pages send, or whose `Host` (or absolute target) is neither a loopback name nor the address that is listened on or was dialled; its port doesn't matter |
| 404, 405 | another path, another method (`Allow` names the right one) |
| 408 | a header that is not there after 10 s, a body that is not there 30 s later |
| 413 | a body of more than 8 MiB; the lines are those of standard input: `error`, then `done` with exit code 2 |
| 414 | a target of more than 64 KiB |
| 431 | more than 100 headers, or a header of more than about 100 KiB in all |
| 415 | a body with a `Content-Encoding` |
| 501 | a transfer coding other than `chunked` |";

const FRAMING: &str = "\
One JSON object (RFC 8259, UTF-8) a line, LF or CRLF from the client, LF from the server.

- Empty lines are skipped and answered with nothing.
- A line of more than 8 MiB is discarded up to its LF and answered with an `error` line; the next one is served.
- A last line without LF is a request like any other.
- A line holds one request; a second object behind it makes the line an error, and nothing of it runs. In a single-shot body \
later objects are `error` lines, and the first one runs.";

const BODY: &str = "- The body of `POST /v1/agent` is read as a single-shot body is.";

const ENVELOPE: &str = "\
A request is one object with `op` and the op's keys beside it: there is no id, no version and no object of params. The server \
answers each request with a **response**: any number of lines, the last of which is `done`. Every line has `kind`.

- Unknown keys of a request are ignored; a known key of the wrong type, or one that is given twice, is an error that names it.
- Ignore lines of an unknown `kind`, and members that you don't know.
- Success is `exit_code` 0 in `done`: 1 is an op that ran and found something (diagnostics, a missing file), 2 a request that \
is none. `error` lines say why, in words for people; don't parse them.";

const REQUEST: Shape = Shape {
    with: &[],
    name: "request",
    title: "Request",
    schema: r#"{
        "type": "object",
        "description": "Sent by the client.",
        "required": ["op"],
        "properties": {
            "op": {"type": "string", "description": "One of the operations below; their params stand beside it."}
        }
    }"#,
    example: r#"{"op":"check","path":"src/main.mty","include_source":true}"#,
};

const EVENT: Shape = Shape {
    with: &[],
    name: "event",
    title: "Line of an op",
    schema: r#"{
        "type": "object",
        "description": "What an op tells before its result: a diagnostic, a log line, a patch.",
        "required": ["kind"],
        "properties": {
            "kind": {"type": "string", "description": "One of the events below; their data stand beside it."}
        }
    }"#,
    example: r#"{"kind":"log","stream":"stderr","text":"compiling"}"#,
};

const RESULT: Shape = Shape {
    with: &[],
    name: "response",
    title: "Result",
    schema: r#"{
        "type": "object",
        "description": "The op ran. At most one in a response.",
        "required": ["kind", "op", "ok"],
        "properties": {
            "kind": {"const": "result"},
            "op": {"type": "string", "description": "The request's."},
            "ok": {"type": "boolean", "description": "Whether the exit code is 0. The op's answer stands beside it."}
        }
    }"#,
    example: r#"{"kind":"result","op":"fmt","ok":true,"would_reformat":false}"#,
};

const ERROR: Shape = Shape {
    with: &[],
    name: "refusal",
    title: "Error",
    schema: r#"{
        "type": "object",
        "description": "Why the request failed, or what of it was ignored.",
        "required": ["kind", "message"],
        "properties": {
            "kind": {"const": "error"},
            "message": {"type": "string", "maxLength": 200, "description": "One line for people."}
        }
    }"#,
    example: r#"{"kind":"error","message":"unknown op: foo"}"#,
};

const DONE: Shape = Shape {
    with: &[],
    name: "done",
    title: "End of a response",
    schema: r#"{
        "type": "object",
        "description": "The last line of every response.",
        "required": ["kind", "exit_code"],
        "properties": {
            "kind": {"const": "done"},
            "exit_code": {"type": "integer", "description": "What the equivalent command exits with: 0, 1 or 2."}
        }
    }"#,
    example: r#"{"kind":"done","exit_code":0}"#,
};

const GUESSES: &[Guess] = &[
    Guess {
        with: &["check"],
        sent: r#"{"jsonrpc":"2.0","id":1,"method":"check","params":{"path":"a.mty"}}"#,
        answered: "malformed request: missing key `op`",
        instead: "This is not JSON-RPC: `{\"op\":\"check\",\"path\":\"a.mty\"}`. There is nothing to initialize.",
    },
    Guess {
        with: &["explain"],
        sent: r#"{"op":"explain","params":{"code":"MT3014"}}"#,
        answered: "malformed request: missing key `code`",
        instead: "The op's keys stand beside `op`.",
    },
    Guess {
        with: &[],
        sent: r#"{"type":"request","op":"initialize"}"#,
        answered: "unknown op: initialize",
        instead: "Begin with the first op that you need. `GET /v1/agent/version` or `mty version` tell the version.",
    },
    Guess {
        with: &[],
        sent: r#"["explain","MT3014"]"#,
        answered: "malformed request: expected a JSON object",
        instead: "A request is an object.",
    },
];

const ORDER: &str = "\
A connection serves one request after another. All lines of a response come before the first of the next one, responses come \
in the order of their requests, and `done` ends each: a client that pipelines counts the `done` lines.

In a response: the op's lines (`envelope`, `log`, `patch`) in the order in which they were made; then `result`, or `error`, or \
`error` and then a `result` with `ok` false; then `done`. A response without `result` is a failure.

Connections are independent of each other, in what they remember too.";

const CLOSING: &[Part] = &[
    with(
        &["halt"],
        "`halt` is answered and ends the connection: the process over standard input and output, else that connection or \
batch alone.",
    ),
    always(
        "\
The end of input ends a connection after the answers to what was sent. A client that goes away, or takes no byte for 10 s \
from a server, ends what runs for it. SIGTERM and SIGINT end a server; it removes its socket.

| status of `mty agent` | meaning |
| ---: | --- |
| 0 | on standard input every request had exit code 0; a server was ended by a signal, whatever it answered (`--replay`: every response is the recorded one) |
| 1 | on standard input one had exit code 1 and none had 2 (`--replay`: a response differs) |
| 2 | on standard input one had exit code 2, or arguments, an address, a socket or the output can't be used, or there are too few descriptors \
or threads (`--replay`: the file can't be read) |",
    ),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use host::serve::sequential::{LineCodec, Trailing};

    use super::*;
    use crate::{MtyAgent, wire};

    fn told(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap().trim_end().to_owned()
    }

    #[test]
    fn the_examples_are_what_the_codec_reads_and_writes() {
        let request = MtyAgent::decode(REQUEST.example.as_bytes(), Trailing::Refuse).unwrap();
        assert_eq!(request.method, "check");
        let data = r#"{"stream":"stderr","text":"compiling"}"#;
        assert_eq!(told(|out| MtyAgent::event(out, "log", data)), EVENT.example);
        let body = r#"{"would_reformat":false}"#;
        assert_eq!(
            told(|out| wire::push_result(out, "fmt", true, body)),
            RESULT.example
        );
        let unknown = MtyAgent::unknown("foo");
        assert_eq!(
            told(|out| wire::push_error(out, &unknown.message)),
            ERROR.example
        );
        assert_eq!(told(|out| MtyAgent::end(out, 0)), DONE.example);
    }
}
