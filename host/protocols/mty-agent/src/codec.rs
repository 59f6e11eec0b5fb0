//! mty-agent as the sequential loop knows it: which lines stand for what. The lines themselves are in `wire`.

use host::serve::sequential::{LineCodec, Request, Trailing};
use host::{Dialect, Fault, Outcome, Rules};
use serde::Serialize;

use crate::reply::Reply;
use crate::rules::{EXIT_PROTOCOL, NAME, REQUEST_BYTES, RULES, SURROUNDING_BYTES, Word};
use crate::wire;

/// The dialect, as its ops name it.
pub struct MtyAgent;

impl Dialect for MtyAgent {
    const NAME: &'static str = NAME;
    const RULES: &'static Rules = &RULES;
    const SESSIONS: bool = false;
    type Word = Word;
    type Reply<T: Serialize> = Reply<T>;
}

fn protocol_fault(message: String) -> Fault {
    Fault {
        code: Word::Protocol.code(),
        message: message.into(),
        exit_code: EXIT_PROTOCOL,
        body: None,
    }
}

impl LineCodec for MtyAgent {
    const REQUEST_BYTES: usize = REQUEST_BYTES;
    const SURROUNDING_BYTES: usize = SURROUNDING_BYTES;
    const PROTOCOL_STATUS: i32 = EXIT_PROTOCOL;

    fn decode(text: &[u8], trailing: Trailing) -> Result<Request<'_>, Fault> {
        let decoded = match trailing {
            Trailing::Refuse => wire::decode(text)
                .and_then(|request| wire::second_object(text, &request).map_or(Ok(request), Err)),
            Trailing::Report => wire::decode_first(text),
        };
        decoded.map_err(protocol_fault)
    }

    fn oversize() -> Fault {
        protocol_fault(format!(
            "request too large: more than {REQUEST_BYTES} bytes"
        ))
    }

    fn unknown(method: &str) -> Fault {
        protocol_fault(format!("unknown op: {method}"))
    }

    fn malformed(reason: &str) -> Fault {
        protocol_fault(format!(
            "malformed request: {}",
            wire::in_json_words(reason)
        ))
    }

    fn event(out: &mut Vec<u8>, name: &str, data: &str) {
        wire::push_line(out, name, data);
    }

    fn outcome(out: &mut Vec<u8>, method: Option<&str>, outcome: &Outcome) {
        let op = method.unwrap_or_default();
        match &outcome.result {
            Ok(body) => wire::push_result(out, op, outcome.exit_code == 0, body),
            Err(fault) => {
                wire::push_error(out, &fault.message);
                if let Some(body) = &fault.body {
                    wire::push_result(out, op, false, body);
                }
            }
        }
    }

    fn rest(out: &mut Vec<u8>, rest: &str) {
        wire::report_rest(rest, out);
    }

    fn end(out: &mut Vec<u8>, status: i32) {
        wire::push_done(out, status);
    }
}
