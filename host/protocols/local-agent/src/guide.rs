//! local-agent v1 in words, for people who write clients: launch, framing, envelope, order, closing.
//! Data of the reference page; what is enforced stands in `rules` and `codec`.

use host::guide::{Bound, Guess, Guide, Part, Shape, always, with};

pub(crate) const GUIDE: Guide = Guide {
    launch: &[always(LAUNCH), with(RUNS, READING)],
    framing: &[always(FRAMING)],
    envelope: &[always(ENVELOPE), always(TRANSCRIPT)],
    shapes: &[REQUEST, RESULT, REFUSAL, EVENT],
    guesses: GUESSES,
    order: ORDER,
    closing: CLOSING,
    bounds: &[
        Bound::new(
            &["approval.answer"],
            "approval",
            "60,000 ms; an approval that nobody answers by then is denied",
        ),
        Bound::new(
            RUNS,
            "live text",
            "4,000 bytes of UTF-8 in the `text` of one `message.delta` or `message.reconcile`",
        ),
        Bound::new(
            RUNS,
            "summary",
            "1,024 bytes of UTF-8 after redaction, in `activity`, `approval.requested` and `diagnostic`",
        ),
        Bound::new(
            RUNS,
            "text of a run",
            "8 MiB in at most 512 messages; beyond it the run fails with `content_limit`",
        ),
        Bound::new(RUNS, "activities of a run", "4,096"),
        Bound::new(
            &["history.page"],
            "history of a session",
            "8 MiB as JSON in at most 10,000 entries; beyond it `history_limit`",
        ),
        Bound::new(
            SESSIONS,
            "file of a session",
            "64 MiB in at most 100,000 lines; a session that fills one goes on in another, of which the same holds",
        ),
        Bound::new(&[], "`required_capabilities`", "16 names"),
        Bound::new(
            &[],
            "closing",
            "2,000 ms to deliver what is left, then 2,000 ms to clean up",
        ),
    ],
    whole: &[
        (
            "initialize",
            "begins; names what the client cannot do without",
        ),
        ("status", "what the child is doing"),
        ("shutdown", "ends the child"),
        ("session.create", "attaches a new session"),
        ("session.open", "attaches a stored session"),
        ("history.page", "reads what a session holds, page by page"),
        ("turn.start", "begins a run"),
        ("turn.cancel", "asks a run to end"),
        ("approval.answer", "allows or denies a call that waits"),
        ("input.persisted", "a run's input is on disk"),
        ("message.delta", "text as it is written"),
        ("message.reconcile", "the authoritative text of a message"),
        (
            "activity",
            "a tool, a subagent, a compaction begins or ends",
        ),
        ("approval.requested", "a call waits for `approval.answer`"),
        ("diagnostic", "something that a person should know"),
        ("run.finished", "how a run ended"),
    ],
};

/// What a run needs to be explained.
const RUNS: &[&str] = &["turn.start"];
const SESSIONS: &[&str] = &["session.create"];

const LAUNCH: &str = "\
Start `magi-code serve --stdio` as a child process, with no other argument. One process is one connection, called a child.

- **Standard input and output are pipes.** A terminal, a file or a socket is refused with status 2 and one line on stderr. \
(Node makes sockets; [Notes for people who write a frontend](../frontends.md) has a recipe for each language.)
- **The current directory is the workspace**: sessions belong to it, and tools work in it.
- **`MC_HOME`** names the directory of settings, credentials and sessions; unset, it is `~/.magi-code`. With no settings at \
all an offline model answers, so that a client can be tried without an account.
- **Stdout carries protocol frames and nothing else**, and nothing before the first request is answered. Once the child \
serves, it writes nothing to stderr; its log is a file (`MC_LOG`).
- **Read stdout from the first moment on**, in a task of its own: a frame that nobody takes for 2,000 ms ends the child.";

const READING: &str =
    "- A run writes many frames by itself: read while you wait for an answer, too.";

const FRAMING: &str = "\
A frame is one JSON object (RFC 8259, UTF-8) on one line that ends in LF, in both directions. Line ends inside strings are \
escaped (`\\n`), as every JSON encoder does.

- A request has at most 65,536 bytes before its LF; an output frame has at most 65,536 with it. A request of more is \
answered with `frame_too_large` as soon as its 65,537th byte is there, and the child closes.
- CR before LF is whitespace to JSON and counts as a byte. Other whitespace around and inside the object is allowed.
- An empty line is `invalid_frame`; the connection goes on. So is an object nested deeper than 32 containers.
- Text that is no JSON object or no UTF-8 is `invalid_request`; the connection goes on.
- Input that ends inside a line is `incomplete_frame`. Such a line is never executed, even if it is a whole object.
- What a read returns is no frame: collect bytes up to LF. A last line without LF that the child leaves behind when it dies \
is no frame either; drop it.";

const ENVELOPE: &str = "\
The client sends requests; the child sends one response to each, and events. `type` tells responses and events apart, \
`result` and `error` tell success from failure.

- **Request ids** are the client's choice: 1 to 64 bytes of `[A-Za-z0-9._-]`, each used **once** in the life of a child, \
also where the request was refused (but not one refused as `invalid_request`: that id is still free). A used one is `duplicate_id`, and nothing runs again. A child remembers 4,096; one more is \
`request_limit` and closes.
- A response carries the request's `id`, or null where none could be read. `instance_id` is the same in all frames of a \
child and new in each; `seq` counts them, responses and events together.
- Request members, params and their members are exact: a missing, unknown or repeated one is refused. Results may gain \
members in the same version: ignore those that you don't know. Stop at an unknown `protocol`, `version`, `type`, event, \
error code or enumerated value.
- **A frame is checked in this order**, and the first that fails answers: size (`frame_too_large`), UTF-8 and JSON \
(`invalid_request`), depth (`invalid_frame`), `protocol` and `version` (`protocol_mismatch`), members, their types and the \
grammar of id and method (`invalid_request`), the id (`duplicate_id`, `request_limit`), the method \
(`unsupported_method`), then what stands at the operation.
- An error has a code and no text. What a person should do about a failed start, `magi-code doctor --json` says when it is \
run in the same directory and environment.";

const TRANSCRIPT: &str =
    "\nA whole conversation, annotated: [transcripts/local-agent.md](transcripts/local-agent.md).";

const REQUEST: Shape = Shape {
    with: &[],
    name: "request",
    title: "Request",
    schema: r#"{
        "type": "object", "additionalProperties": false,
        "description": "Sent by the client: exactly these five members, in any order.",
        "required": ["protocol", "version", "id", "method", "params"],
        "properties": {
            "protocol": {"const": "magi-code.local-agent"},
            "version": {"const": 1, "description": "A number, not a string."},
            "id": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "New for each request of a child."},
            "method": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "One of the operations below."},
            "params": {"type": "object", "description": "The operation's params; `{}` where it has none."}
        }
    }"#,
    example: r#"{"protocol":"magi-code.local-agent","version":1,"id":"r1","method":"initialize","params":{"required_capabilities":["turn.start"]}}"#,
};

const RESULT: Shape = Shape {
    with: &[],
    name: "response",
    title: "Response of success",
    schema: r#"{
        "type": "object",
        "description": "Exactly one response answers each request: this one, or a refusal.",
        "required": ["protocol", "version", "type", "instance_id", "seq", "id", "result"],
        "properties": {
            "protocol": {"const": "magi-code.local-agent"},
            "version": {"const": 1},
            "type": {"const": "response"},
            "instance_id": {"type": "string", "format": "uuid", "description": "Names the child; ids of runs, approvals and messages mean nothing in another one."},
            "seq": {"type": "integer", "minimum": 1, "description": "From 1, strictly increasing over all frames of the child."},
            "id": {"type": "string", "description": "The request's."},
            "result": {"type": "object", "description": "The operation's answer."}
        }
    }"#,
    example: r#"{"protocol":"magi-code.local-agent","version":1,"type":"response","instance_id":"6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11","seq":1,"id":"r1","result":{"state":"stopping"}}"#,
};

const REFUSAL: Shape = Shape {
    with: &[],
    name: "refusal",
    title: "Response of failure",
    schema: r#"{
        "type": "object",
        "description": "A request that failed, or a line that is no request.",
        "required": ["protocol", "version", "type", "instance_id", "seq", "id", "error"],
        "properties": {
            "protocol": {"const": "magi-code.local-agent"},
            "version": {"const": 1},
            "type": {"const": "response"},
            "instance_id": {"type": "string", "format": "uuid"},
            "seq": {"type": "integer", "minimum": 1},
            "id": {"type": ["string", "null"], "description": "The request's; null where no valid one could be read."},
            "error": {
                "type": "object", "required": ["code"],
                "properties": {"code": {"type": "string"}},
                "description": "One of the codes under Failures."
            }
        }
    }"#,
    example: r#"{"protocol":"magi-code.local-agent","version":1,"type":"response","instance_id":"6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11","seq":2,"id":null,"error":{"code":"invalid_request"}}"#,
};

const EVENT: Shape = Shape {
    with: RUNS,
    name: "event",
    title: "Event",
    schema: r#"{
        "type": "object",
        "description": "Something that a run tells. It answers no request and has no id.",
        "required": ["protocol", "version", "type", "instance_id", "seq", "event", "data"],
        "properties": {
            "protocol": {"const": "magi-code.local-agent"},
            "version": {"const": 1},
            "type": {"const": "event"},
            "instance_id": {"type": "string", "format": "uuid"},
            "seq": {"type": "integer", "minimum": 1},
            "event": {"type": "string", "description": "One of the events below."},
            "data": {"type": "object", "description": "The event's data; always with `session_id` and `run_id`."}
        }
    }"#,
    example: r#"{"protocol":"magi-code.local-agent","version":1,"type":"event","instance_id":"6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11","seq":3,"event":"message.delta","data":{"session_id":"s1","run_id":"0c9b1c76-5d0e-4d7c-9a37-0f9d3d0c7a55","message_id":"m1","part":0,"text":"Hello"}}"#,
};

const GUESSES: &[Guess] = &[
    Guess {
        with: &[],
        sent: r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        answered: "invalid_request",
        instead: "This is not JSON-RPC: `protocol` and `version` stand in place of `jsonrpc`, and the id is a string.",
    },
    Guess {
        with: &[],
        sent: r#"{"id":"r1","method":"initialize","params":{"required_capabilities":[]}}"#,
        answered: "invalid_request",
        instead: "`protocol` and `version` stand in every request, not in `initialize` alone.",
    },
    Guess {
        with: &[],
        sent: r#"{"type":"request","protocol":"magi-code.local-agent","version":1,"id":"r2","method":"status","params":{}}"#,
        answered: "invalid_request",
        instead: "A request has no `type`; leave it out. Any sixth member is refused.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol":"magi-code.local-agent","version":1,"id":"r3","method":"status"}"#,
        answered: "invalid_request",
        instead: "`params` is never left out: `{}` where there are none.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol":"magi-code.local-agent","version":1,"id":"r4","method":"initialize","params":{}}"#,
        answered: "invalid_params",
        instead: "`required_capabilities` is required; `[]` requires nothing.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol":"magi-code.local-agent","version":"1","id":"r5","method":"status","params":{}}"#,
        answered: "invalid_request",
        instead: "`version` is the number 1.",
    },
    Guess {
        with: RUNS,
        sent: r#"{"protocol":"magi-code.local-agent","version":1,"id":"r6","method":"turn/start","params":{}}"#,
        answered: "invalid_request",
        instead: "Method names have dots: `turn.start`.",
    },
    Guess {
        with: &["session.create"],
        sent: r#"{"protocol":"magi-code.local-agent","version":1,"id":"r7","method":"session.create","params":{}}"#,
        answered: "not_initialized",
        instead: "`initialize` first, and wait for its result.",
    },
];

const ORDER: &[Part] = &[
    always(
        "\
**Correlate by `id`, never by order.** Requests may be sent without waiting, and later answers may come first. How an \
operation is scheduled stands at its heading: *inline* ones are answered at once, in the order of their requests; \
*background* ones take their time beside others; *exclusive* ones run one at a time and are `busy` while another one, or a \
run, is going on.

1. `initialize` is admitted once. Until its result is there, `status` answers with `readiness` `initializing`, other \
operations are `not_initialized`. Params or capabilities that were refused may be corrected and sent again; a start that \
failed can't: start another child.",
    ),
    with(
        SESSIONS,
        "1. `session.create` or `session.open` attaches a session; another one takes its place.",
    ),
    with(
        RUNS,
        "\
1. `turn.start` begins a run of the attached session; one at a time. Its response comes before all events of the run, and \
says that it was admitted, no more.
1. `input.persisted` is the run's first event: from then on the session can be opened by a later child, so store its id now.
1. Then `message.delta`, `message.reconcile`, `activity` and `diagnostic`, in the order in which things happen. Deltas have \
`part` 0, 1, 2, … for each message; a number that is missing was dropped. The reconciliation of a message has numbers of \
its own from 0: join its parts up to `last_part` true, then let the text **replace** what the deltas showed.
1. Each activity is `started`, then `completed` or `failed`, with one `activity_id`.",
    ),
    with(
        &["turn.start", "approval.answer"],
        "1. An `approval.requested` comes right behind the `started` of the call that it asks for; that of a call of a \
subagent, which is no activity and whose summary begins with `subagent <profile>: `, behind anything. Several may wait at once; \
answer each with `approval.answer`, in any order.",
    ),
    with(
        RUNS,
        "1. `run.finished` is the run's last event, once for each admitted run, and ends what is still shown as running: \
approvals too. Only now start the next turn.",
    ),
    with(
        &["turn.start", "history.page"],
        "1. `history.page` reads what the session holds; the `revision` of `run.finished` is the one for it.",
    ),
    with(
        RUNS,
        "\
\n`turn.cancel` asks; the run has ended when `run.finished` says so. What was admitted is never to be sent again by itself: \
after a lost child, open the session and look at what it holds.",
    ),
];

const CLOSING: &[Part] = &[
    always(
        "\
The client ends a child by closing its input, or with `shutdown` (then no later request is admitted). Both cancel what \
runs and deliver what is pending. SIGTERM, SIGINT and SIGHUP do the same. `protocol_mismatch`, `request_limit` and \
`frame_too_large` close as well, after their response; every other error leaves the connection as it was.",
    ),
    with(
        RUNS,
        "The events of a run that ends this way may or may not arrive.",
    ),
    always(
        "
| status | meaning |
| ---: | --- |
| 0 | the end of input, `shutdown`, a signal or a refusal that closes; everything was delivered |
| 1 | output was lost: closed, not read for 2,000 ms, more than 32 frames pending, or not drained within 2,000 ms of closing |
| 2 | the launch was not valid: arguments, too few descriptors or threads, or standard input and output that are no pipes; \
nothing was touched |

A frame that never came says nothing about what happened. Whatever ended the child, no command that a tool started outlives it.",
    ),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use host::dialect::{Decoded, Identity};
    use host::{Codec, Fault};

    use super::*;
    use crate::LocalAgent;

    /// What a codec wrote, with the example's instance.
    fn told(bytes: Vec<u8>) -> String {
        const INSTANCE: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";
        let line = String::from_utf8(bytes).unwrap();
        let key = "\"instance_id\":\"";
        let at = line.find(key).unwrap() + key.len();
        format!("{}{INSTANCE}{}", &line[..at], &line[at + 36..])
            .trim_end()
            .to_owned()
    }

    #[test]
    fn nothing_is_explained_that_is_not_linked() {
        // In this crate's tests no family is.
        let registry = host::Registry::collect().unwrap();
        let document = host::schema::document(&registry, &crate::RULES);
        let told = [
            &document["guide"],
            &document["envelope"],
            &document["guesses"],
        ];
        let told: String = told.iter().map(ToString::to_string).collect();
        for (name, _) in GUIDE.whole {
            let opens = ["initialize", "status", "shutdown"].contains(name);
            assert!(
                opens || !told.contains(&format!("`{name}`")),
                "{name}: {told}"
            );
            assert!(document["not_linked"].get(name).is_some());
        }
    }

    #[test]
    fn the_examples_are_what_the_codec_reads_and_writes() {
        let mut codec = LocalAgent::new();
        assert!(codec.decode(REQUEST.example.as_bytes()).is_request());
        let identity = Identity {
            id: Some("r1".into()),
            ..Identity::default()
        };
        let answer = codec.answer(&identity, Ok(r#"{"state":"stopping"}"#));
        assert_eq!(told(answer.unwrap()), RESULT.example);
        let fault: Fault = crate::RULES.fault("invalid_request");
        let refusal = codec.answer(&Identity::default(), Err(&fault));
        assert_eq!(told(refusal.unwrap()), REFUSAL.example);
        let data = EVENT.example.split_once("\"data\":").unwrap().1;
        let data = data.strip_suffix('}').unwrap();
        let event = codec.event(&identity, "message.delta", data);
        assert_eq!(told(event.unwrap()), EVENT.example);
    }

    #[test]
    fn guesses_that_are_no_frames_get_their_code() {
        for guess in GUESSES {
            match LocalAgent::new().decode(guess.sent.as_bytes()) {
                Decoded::Refused(refusal) => {
                    assert_eq!(refusal.code, guess.answered, "{}", guess.sent);
                }
                // What refuses it is not the codec.
                Decoded::Request { fault, .. } => assert_eq!(fault, None, "{}", guess.sent),
            }
        }
    }
}
