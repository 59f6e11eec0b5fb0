//! application-service v1 in words, for people who write clients: launch, framing, envelope, order, closing.
//! Data of the reference page; what is enforced stands in `rules` and `codec`.

use host::guide::{Bound, Guess, Guide, Part, Shape, always, with};

pub(crate) const GUIDE: Guide = Guide {
    launch: &[always(LAUNCH), with(TURNS, DENIED)],
    framing: &[always(FRAMING)],
    envelope: ENVELOPE,
    shapes: &[REQUEST, RESPONSE, REFUSAL, EVENT],
    guesses: GUESSES,
    order: ORDER,
    closing: CLOSING,
    bounds: &[
        Bound::new(
            TURNS,
            "reply of a turn",
            "16,384 bytes of UTF-8, and 31,744 as JSON; beyond it the turn ends as `failed` with what fits",
        ),
        Bound::new(
            &["session.replay"],
            "part of a replayed message",
            "2,048 bytes of UTF-8",
        ),
        Bound::new(&["session.replay"], "replay window", "100,000 records"),
        Bound::new(TURNS, "summary of reasoning", "2,048 bytes of UTF-8"),
        Bound::new(
            &[],
            "closing",
            "10 s from the end of input to deliver what is left, then 2 s to clean up. Where requests stand unread before that \
             end, it is 10 s in which the client takes no byte; a request about catalogs or configuration that runs may take 30 s \
             more, and its answer has 10 s",
        ),
    ],
    whole: &[
        ("initialize", "begins; tells limits and capabilities"),
        ("status", "whether the service and its provider are ready"),
        ("capabilities", "the capabilities once more"),
        (
            "auth.status",
            "for each provider whether it has a credential, and from where",
        ),
        ("auth.login.start", "begins a login; one at a time"),
        ("auth.login.callback", "hands in what a person pasted, once"),
        ("auth.login.cancel", "asks a login to end"),
        (
            "auth.logout",
            "removes a provider's stored credential, with `confirmed` true",
        ),
        ("session.list", "all sessions, page by page"),
        ("session.create", "records and holds a new session"),
        ("session.open", "holds a stored session"),
        ("session.replay", "reads what a session holds, page by page"),
        ("session.close", "lets a session go"),
        ("turn.start", "begins a turn"),
        ("turn.cancel", "asks a turn to end"),
        ("catalog.providers", "the providers, page by page"),
        (
            "catalog.models",
            "a provider's models as they are cached, page by page",
        ),
        ("catalog.refresh", "asks a provider for its models"),
        ("config.get", "the effective selection, reasoning and speed"),
        ("config.set", "stores a change of those in a scope"),
        ("turn.started", "a turn's input is on disk"),
        ("turn.assistant_delta", "text as it is written"),
        ("turn.activity", "what a turn does beside writing"),
        (
            "turn.terminal",
            "how a turn ended, with its authoritative text",
        ),
        (
            "auth.login.progress",
            "`login_id`, `provider_id` and `state`: `authorization_url` with `url` and `open_browser` true, then `waiting`, \
             `callback_received`, `callback_accepted`; belongs to its `auth.login.start`, the envelope's session is null",
        ),
        (
            "auth.login.terminal",
            "`login_id`, `cleanup_complete` true and `state`: `exchange_succeeded`, `cancelled`, `callback_timeout`, \
             `callback_failed`, `exchange_failed`, `auth_changed`, `storage_failed` or `internal_error`; a login's last event",
        ),
    ],
};

/// What a turn needs to be explained.
const TURNS: &[&str] = &["turn.start"];
const LOGINS: &[&str] = &["auth.login.start"];

const LAUNCH: &str = "\
Start `magi-code --app service` as a child process, with no other argument. One process serves one client for as long as it \
likes.

- **Standard input and output** are open: pipes, as a rule.
- **The current directory is the workspace**: sessions belong to it, and tools work in it.
- **`MC_HOME`** names the directory of settings, credentials and sessions; unset, it is `~/.magi-code`. With no settings at \
all an offline model answers, so that a client can be tried without an account.
- **Stdout carries protocol records and nothing else**, and nothing before the first request is answered. Stderr is for \
people: why a launch was refused or the output failed. Let it go somewhere, or read it.";

const DENIED: &str =
    "- Nobody can be asked here: what would need an approval is denied, and the model is told so.";

const FRAMING: &str = "\
A record is one JSON object (RFC 8259, UTF-8) on one line that ends in LF or CRLF, in both directions.

- A record has at most 65,536 bytes, its line end included. A longer one is discarded up to its LF and answered with \
`record_too_large`; the next one is served.
- Empty lines and what is no JSON or no UTF-8 are `invalid_json`; JSON that is no object is `invalid_request`. The \
connection goes on.
- Input that ends inside a line is `invalid_json`. Such a line is never executed, even if it is a whole object.
- What a read returns is no record: collect bytes up to LF.";

const ENVELOPE: &[Part] = &[
    always(
        "\
The client sends requests; the service sends one response to each, and events. `kind` tells them apart.

- **`request_id`** is the client's choice: 1 to 128 bytes without control characters, unlike all that are in flight. It is \
free again when its response was written. One in flight is `duplicate_request_id`, and the first request goes on.",
    ),
    with(
        TURNS,
        "- That of `turn.start` stays in flight until its `turn.terminal` was written.",
    ),
    with(
        LOGINS,
        "- That of `auth.login.start` stays in flight until its `auth.login.terminal` was written.",
    ),
    always(
        "\
- **`session_id`** stands in the envelope, not in the payload. Each operation says whether it must, may or must not be \
there; null is the same as leaving it out. An envelope takes 1 to 128 bytes without control characters, else it is \
`invalid_request`; an id of a session has 1 to 64 bytes of `[A-Za-z0-9_-]`, and another one is `invalid_session_id`. Ids \
are opaque all the same: send those that the service gave. Providers and models are no identities: theirs stand in payloads, with 1 to 256 \
bytes of `[A-Za-z0-9._/:-]`.
- A response has all of its members always: a success has `error` null, a failure `payload` null. Identities that could \
not be read safely are null.
- Requests and payloads are exact: an unknown or repeated member is refused. Responses and events may gain members in the \
same version: ignore those that you don't know. Stop at an unknown `kind`, event or enumerated value; an unknown error code \
is a failure like any other.
- **A record is checked in this order**, and the first that fails answers: size (`record_too_large`), JSON (`invalid_json`), \
an id in flight (`duplicate_request_id`), `protocol_version` (`unsupported_version`), members and identities \
(`invalid_request`), strings, arrays, objects and depth (`limit_exceeded`), the payload's size (`payload_too_large`), a payload \
that is no object (`invalid_payload`), the method (`unsupported_operation`), the envelope's session (`invalid_request`), the \
payload's members (`invalid_payload`), whether the service is initialized (`not_initialized`), then what stands at the operation.

A whole conversation, annotated: [transcripts/application-service.md](transcripts/application-service.md).",
    ),
];

const REQUEST: Shape = Shape {
    with: &[],
    name: "request",
    title: "Request",
    schema: r#"{
        "type": "object", "additionalProperties": false,
        "description": "Sent by the client: exactly these members, in any order.",
        "required": ["protocol_version", "kind", "request_id", "method", "payload"],
        "properties": {
            "protocol_version": {"const": 1, "description": "A number, not a string."},
            "kind": {"const": "request"},
            "request_id": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Unlike all that are in flight."},
            "session_id": {"type": ["string", "null"], "minLength": 1, "maxLength": 128, "description": "The session that the operation is about; see the operation."},
            "method": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "One of the operations below."},
            "payload": {"type": "object", "description": "The operation's params; `{}` where it has none."}
        }
    }"#,
    example: r#"{"protocol_version":1,"kind":"request","request_id":"q1","method":"initialize","payload":{"supported_protocol_versions":[1],"requested_capabilities":[]}}"#,
};

const RESPONSE: Shape = Shape {
    with: &[],
    name: "response",
    title: "Response of success",
    schema: r#"{
        "type": "object",
        "description": "Exactly one response answers each request: this one, or a refusal.",
        "required": ["protocol_version", "kind", "request_id", "session_id", "method", "payload", "error"],
        "properties": {
            "protocol_version": {"const": 1},
            "kind": {"const": "response"},
            "request_id": {"type": "string", "description": "The request's."},
            "session_id": {"type": ["string", "null"], "description": "The request's."},
            "method": {"type": "string", "description": "The request's."},
            "payload": {"type": "object", "description": "The operation's answer."},
            "error": {"type": "null"}
        }
    }"#,
    example: r#"{"protocol_version":1,"kind":"response","request_id":"q2","session_id":null,"method":"status","payload":{"service":"ready","provider_auth_ready":true},"error":null}"#,
};

const REFUSAL: Shape = Shape {
    with: &[],
    name: "refusal",
    title: "Response of failure",
    schema: r#"{
        "type": "object",
        "description": "A request that failed, or a line that is no request.",
        "required": ["protocol_version", "kind", "request_id", "session_id", "method", "payload", "error"],
        "properties": {
            "protocol_version": {"const": 1},
            "kind": {"const": "response"},
            "request_id": {"type": ["string", "null"], "description": "Null where no safe one could be read."},
            "session_id": {"type": ["string", "null"], "description": "Null where there was none, or no safe one."},
            "method": {"type": ["string", "null"], "description": "Null where no safe one could be read."},
            "payload": {"type": "null"},
            "error": {
                "type": "object", "required": ["code", "message"],
                "properties": {"code": {"type": "string"}, "message": {"type": "string", "maxLength": 512}},
                "description": "One of the codes under Failures, with its fixed message; nothing of the request is repeated."
            }
        }
    }"#,
    example: r#"{"protocol_version":1,"kind":"response","request_id":"q3","session_id":null,"method":"status","payload":null,"error":{"code":"not_initialized","message":"The service is not initialized."}}"#,
};

const EVENT: Shape = Shape {
    with: TURNS,
    name: "event",
    title: "Event",
    schema: r#"{
        "type": "object",
        "description": "Something that a turn or a login tells; it answers no request.",
        "required": ["protocol_version", "kind", "event_id", "request_id", "session_id", "event", "payload"],
        "properties": {
            "protocol_version": {"const": 1},
            "kind": {"const": "event"},
            "event_id": {"type": "string", "description": "Opaque, new for each event of a process. No number to sort by."},
            "request_id": {"type": "string", "description": "That of the request which began it."},
            "session_id": {"type": ["string", "null"], "description": "The turn's session."},
            "event": {"type": "string", "description": "One of the events below."},
            "payload": {"type": "object", "description": "The event's data."}
        }
    }"#,
    example: r#"{"protocol_version":1,"kind":"event","event_id":"e1","request_id":"q4","session_id":"s1","event":"turn.assistant_delta","payload":{"turn_id":"t1","sequence":1,"text":"Hello"}}"#,
};

const GUESSES: &[Guess] = &[
    Guess {
        with: &[],
        sent: r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        answered: "invalid_request",
        instead: "This is not JSON-RPC: `protocol_version`, `kind`, `request_id`, `method` and `payload` are the members.",
    },
    Guess {
        with: &[],
        sent: r#"{"kind":"request","request_id":"q1","method":"initialize","payload":{"supported_protocol_versions":[1]}}"#,
        answered: "invalid_request",
        instead: "`protocol_version` stands in every request, beside the list in the payload of `initialize`.",
    },
    Guess {
        with: &[],
        sent: r#"{"type":"request","protocol_version":1,"request_id":"q2","method":"status","payload":{}}"#,
        answered: "invalid_request",
        instead: "The member is called `kind`, not `type`.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol_version":1,"kind":"request","request_id":3,"method":"status","payload":{}}"#,
        answered: "invalid_request",
        instead: "`request_id` is a string.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol_version":1,"kind":"request","request_id":"q4","method":"status"}"#,
        answered: "invalid_request",
        instead: "`payload` is never left out: `{}` where there is none.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol_version":1,"kind":"request","request_id":"q5","method":"initialize","payload":{}}"#,
        answered: "invalid_payload",
        instead: "`supported_protocol_versions` is required: `[1]`.",
    },
    Guess {
        with: &[],
        sent: r#"{"protocol_version":1,"kind":"request","request_id":"q6","method":"status","payload":{}}"#,
        answered: "not_initialized",
        instead: "`initialize` first, and wait for its response.",
    },
];

const ORDER: &[Part] = &[
    always(
        "\
Each response is written before the next request is looked at, so responses come in the order of their requests; events \
stand between them. Correlate by `request_id` all the same. Operations that touch files are *exclusive*: a request behind \
one waits until it is answered, so requests may be sent ahead.

1. `initialize` comes first; wait for its success. It may be repeated, and a failure takes nothing back. Compare what it \
advertises with what the client needs, **all of the advertised events included**: there is no subscription, so a client that \
does not know one of them must stop here.",
    ),
    with(
        TURNS,
        "\
1. `turn.start` names a session in its envelope, or leaves it out for a new one. Its response says that the turn was \
accepted, and gives `turn_id` and `session_id`. Several sessions may have a turn at once, each one at most.
1. `turn.started` is the turn's first event, with `sequence` 0. The prompt is on the disk by then.
1. Then `turn.assistant_delta` and `turn.activity`, interleaved. `sequence` counts both: it only grows; a number that is \
missing is an activity that was dropped. Text is never dropped. Events of different turns mix.
1. `turn.terminal` is the turn's last event, exactly one for each accepted turn. Its `assistant_text` replaces what the deltas \
showed.",
    ),
    with(
        &["session.replay"],
        "1. `session.replay` reads what is stored, at any time; keep the `cursor` of each item that you took, and pass it as \
`after`. Replay items are no events and have no `sequence`.",
    ),
    with(
        TURNS,
        "\n`turn.cancel` asks; the turn has ended when `turn.terminal` says so.",
    ),
    with(
        &["turn.start", "session.close"],
        "`session.close` of a session with a turn is `closing`: wait for the terminal event and close again.",
    ),
    with(
        LOGINS,
        "\n1. `auth.login.start` gives `login_id`; one login at a time. Its first event, `auth.login.progress` with \
`authorization_url`, has the page that a person has to visit: offer to open it, show it, keep it nowhere.
1. `waiting`: the browser comes back to a listener of the service on this machine, or the person pastes where it ended, which \
`auth.login.callback` hands in, once. Five minutes are for that. A bare code is taken too.
1. `callback_received`, then `callback_accepted` where what came back is of this login. What a person pasted and \
is refused ends the login, and so does a refusal that the browser brings with the login's own state. A browser that comes without it gets an \
error page and changes nothing: any page could send it.
1. `auth.login.terminal` is the login's last event: `exchange_succeeded` says that the credential is stored. What was stored \
by others since the login began stays, and the end is `auth_changed`.

`auth.login.cancel` asks, and so does `auth.logout` of its provider; the login has ended when `auth.login.terminal` says so. \
That is at once, or after up to 30 s where the issuer is being asked for tokens; until then another login is `auth_busy`, and a callback \
is still `submitted`.",
    ),
    with(
        &["turn.start", "session.replay"],
        "What was accepted is never to be sent again by itself: replay the session and look.",
    ),
];

const CLOSING: &[Part] = &[
    always("The client ends the service by closing its input."),
    with(
        TURNS,
        "Turns are cancelled, and their terminal events are still delivered.",
    ),
    with(
        LOGINS,
        "So is a login; an issuer that was asked for tokens is waited for 1.5 s.",
    ),
    always(
        "\
All pending responses are delivered, then the process ends. SIGTERM, SIGINT and SIGHUP do the same. No error closes the \
connection. The end of input is noticed also where a record before it waits: who then takes no byte for 10 s is taken to be \
gone, and everything ends.

| status | meaning |
| ---: | --- |
| 0 | the end of input or a signal; everything was delivered |
| 1 | output was lost: closed, or not drained within 10 s of closing, or of the answer that was still worked for; or a record of the service's own passed a bound. Stderr says which |
| 2 | the launch was not valid: arguments, too few descriptors or threads, or standard input and output that can't be used; \
stderr says why |

A record that never came says nothing about what happened.",
    ),
    with(
        TURNS,
        "A client that reads slowly slows the service down and loses nothing but activities. Whatever ended the service, no \
command that a tool started outlives it.",
    ),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use host::Codec;
    use host::dialect::{Decoded, Identity};

    use super::*;
    use crate::ApplicationService;

    fn told(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap().trim_end().to_owned()
    }

    fn identity(id: &str, session: Option<&str>) -> Identity {
        Identity {
            id: Some(id.into()),
            session_id: session.map(Into::into),
            method: Some("status".to_owned()),
        }
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
            let opens = ["initialize", "status", "capabilities"].contains(name);
            assert!(
                opens || !told.contains(&format!("`{name}`")),
                "{name}: {told}"
            );
            assert!(document["not_linked"].get(name).is_some());
        }
    }

    #[test]
    fn the_examples_are_what_the_codec_reads_and_writes() {
        let mut codec = ApplicationService::default();
        assert!(codec.decode(REQUEST.example.as_bytes()).is_request());
        let payload = r#"{"service":"ready","provider_auth_ready":true}"#;
        let answer = codec.answer(&identity("q2", None), Ok(payload));
        assert_eq!(told(answer.unwrap()), RESPONSE.example);
        let fault = crate::RULES.fault("not_initialized");
        let refusal = codec.answer(&identity("q3", None), Err(&fault));
        assert_eq!(told(refusal.unwrap()), REFUSAL.example);
        let data = r#"{"turn_id":"t1","sequence":1,"text":"Hello"}"#;
        let event = codec.event(&identity("q4", Some("s1")), "turn.assistant_delta", data);
        assert_eq!(told(event.unwrap()), EVENT.example);
    }

    #[test]
    fn guesses_that_are_no_records_get_their_code() {
        for guess in GUESSES {
            match ApplicationService::default().decode(guess.sent.as_bytes()) {
                Decoded::Refused(refusal) => {
                    assert_eq!(refusal.code, guess.answered, "{}", guess.sent);
                }
                // Without a fault, what refuses it is not the codec.
                Decoded::Request { fault, .. } => {
                    assert!(
                        fault.is_none_or(|code| code == guess.answered),
                        "{}",
                        guess.sent
                    );
                }
            }
        }
    }
}
