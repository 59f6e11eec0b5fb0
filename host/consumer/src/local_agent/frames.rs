//! The envelope of local-agent's output: one line in, one checked frame out.
//! What a result or an event's data means is read in `answer` and `event`.

use serde_json::Value;

use super::event::{self, Event};
use super::words::{ErrorCode, is_id, is_uuid};
use super::{PROTOCOL, VERSION};
use crate::Violation;
use crate::decode::{Bounds, object};
use host::vocabulary::Word;

use crate::fields::Fields;

/// The most one output frame may hold. The spec bounds bytes and depth; the rest are this client's own.
pub const BOUNDS: Bounds = Bounds {
    record_bytes: 65_536,
    depth: 32,
    array_items: 1_024,
    object_fields: 256,
    string_bytes: 65_536,
};

/// One output frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The child that wrote it.
    pub instance_id: String,
    /// Its place among all frames of that child.
    pub seq: u64,
    /// What it says.
    pub body: Body,
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The result of request `id`, not yet read: only its request says how.
    Result {
        id: String,
        result: Value,
    },
    /// A refusal; `id` is null where the request had no identity that could be recovered.
    Refused {
        id: Option<String>,
        code: ErrorCode,
    },
    Event(Event),
}

impl Frame {
    /// Decodes one line without its LF.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn decode(line: &[u8]) -> Result<Self, Violation> {
        let map = object(line, &BOUNDS)?;
        let fields = Fields::new(&map);
        if fields.text("protocol")? != PROTOCOL || fields.count("version")? != VERSION {
            return Err(Violation::UnknownProtocol);
        }
        let instance_id = fields.matching("instance_id", is_uuid)?;
        let seq = fields.count("seq")?;
        let body = match fields.text("type")? {
            "response" => response(fields)?,
            "event" => {
                if ["id", "result", "error"]
                    .iter()
                    .any(|name| fields.has(name))
                {
                    return Err(Violation::Contradiction("type"));
                }
                Body::Event(event::read(
                    fields.text("event")?,
                    fields.required("data")?,
                )?)
            }
            _ => return Err(Violation::UnknownFrameType),
        };
        Ok(Self {
            instance_id,
            seq,
            body,
        })
    }
}

fn response(fields: Fields<'_>) -> Result<Body, Violation> {
    if fields.has("event") || fields.has("data") {
        return Err(Violation::Contradiction("type"));
    }
    let id = fields.nullable("id", |f, name| f.matching(name, is_id))?;
    match (fields.map().get("result"), fields.map().get("error")) {
        (Some(result), None) => {
            let id = id.ok_or(Violation::Unbound)?;
            Fields::of(result, "result")?;
            Ok(Body::Result {
                id,
                result: result.clone(),
            })
        }
        (None, Some(error)) => {
            let code = Fields::of(error, "error")?.text("code")?;
            Ok(Body::Refused {
                id,
                code: ErrorCode::from_word(code).ok_or(Violation::UnknownErrorCode)?,
            })
        }
        _ => Err(Violation::NotOneOutcome),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const CHILD: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";

    fn response_with(change: impl FnOnce(&mut Value)) -> Result<Frame, Violation> {
        let mut frame = json!({
            "protocol": PROTOCOL, "version": 1, "type": "response", "instance_id": CHILD,
            "seq": 1, "id": "r1", "result": {},
        });
        change(&mut frame);
        Frame::decode(frame.to_string().as_bytes())
    }

    #[test]
    fn the_envelope_fails_closed() {
        assert!(response_with(|_| ()).is_ok());
        assert_eq!(
            response_with(|f| f["protocol"] = json!("x")),
            Err(Violation::UnknownProtocol)
        );
        assert_eq!(
            response_with(|f| f["version"] = json!(2)),
            Err(Violation::UnknownProtocol)
        );
        assert_eq!(
            response_with(|f| f["version"] = json!("1")),
            Err(Violation::WrongType("version"))
        );
        assert_eq!(
            response_with(|f| f["type"] = json!("notice")),
            Err(Violation::UnknownFrameType)
        );
        assert_eq!(
            response_with(|f| f["instance_id"] = json!("me")),
            Err(Violation::OutOfBounds("instance_id"))
        );
        assert_eq!(
            response_with(|f| f["seq"] = json!(-1)),
            Err(Violation::OutOfBounds("seq"))
        );
        assert_eq!(
            response_with(|f| f["id"] = json!("a b")),
            Err(Violation::OutOfBounds("id"))
        );
        assert_eq!(
            response_with(|f| f["id"] = Value::Null),
            Err(Violation::Unbound)
        );
        assert_eq!(
            response_with(|f| f["error"] = json!({"code":"busy"})),
            Err(Violation::NotOneOutcome)
        );
        assert_eq!(
            response_with(|f| drop(f.as_object_mut().unwrap().remove("result"))),
            Err(Violation::NotOneOutcome)
        );
        assert_eq!(
            response_with(|f| drop(f.as_object_mut().unwrap().remove("id"))),
            Err(Violation::Missing("id"))
        );
        assert_eq!(
            response_with(|f| f["event"] = json!("activity")),
            Err(Violation::Contradiction("type"))
        );
    }

    #[test]
    fn refusals_may_be_without_identity_but_not_without_a_known_code() {
        let refuse = |id: Value, code: &str| {
            response_with(|f| {
                let fields = f.as_object_mut().unwrap();
                fields.remove("result");
                fields.insert("error".into(), json!({ "code": code, "hint": 1 }));
                fields.insert("id".into(), id);
            })
            .map(|frame| frame.body)
        };
        assert_eq!(
            refuse(Value::Null, "invalid_request"),
            Ok(Body::Refused {
                id: None,
                code: ErrorCode::InvalidRequest
            })
        );
        assert_eq!(
            refuse(json!("r1"), "busy"),
            Ok(Body::Refused {
                id: Some("r1".into()),
                code: ErrorCode::Busy
            })
        );
        assert_eq!(
            refuse(json!("r1"), "too_busy"),
            Err(Violation::UnknownErrorCode)
        );
    }

    #[test]
    fn events_and_their_words_are_closed() {
        let event = |name: &str, data: Value| {
            let mut data = data;
            data["session_id"] = json!("s1");
            data["run_id"] = json!(CHILD);
            let frame = json!({
                "protocol": PROTOCOL, "version": 1, "type": "event", "instance_id": CHILD,
                "seq": 3, "event": name, "data": data,
            });
            Frame::decode(frame.to_string().as_bytes()).map(drop)
        };
        assert_eq!(
            event(
                "message.delta",
                json!({"message_id":"m","part":0,"text":"hi","extra":[1]})
            ),
            Ok(())
        );
        assert_eq!(
            event("message.delta", json!({"message_id":"m","part":0})),
            Err(Violation::Missing("text"))
        );
        assert_eq!(
            event(
                "message.delta",
                json!({"message_id":"m","part":0,"text":"x".repeat(4001)})
            ),
            Err(Violation::OutOfBounds("text"))
        );
        assert_eq!(
            event("message.thought", json!({})),
            Err(Violation::UnknownEvent)
        );
        let activity = |kind: &str, state: &str| {
            event(
                "activity",
                json!({"activity_id":"a","kind":kind,"state":state,"name":"read","summary":""}),
            )
        };
        assert_eq!(activity("tool", "started"), Ok(()));
        assert_eq!(
            activity("hook", "started"),
            Err(Violation::UnknownWord("kind"))
        );
        assert_eq!(
            activity("tool", "queued"),
            Err(Violation::UnknownWord("state"))
        );
        assert_eq!(
            event(
                "input.persisted",
                json!({"message_id":"m","durable":false,"revision":"r"})
            ),
            Err(Violation::OutOfBounds("durable"))
        );
        let finished = |error: Value| {
            event(
                "run.finished",
                json!({"outcome":"failed","persistence":"durable","revision":null,"error_code":error}),
            )
        };
        assert_eq!(finished(json!("execution_failed")), Ok(()));
        assert_eq!(finished(Value::Null), Ok(()));
        assert_eq!(finished(json!("strange")), Err(Violation::UnknownErrorCode));
        assert_eq!(
            event(
                "approval.requested",
                json!({"approval_id":CHILD,"summary":"","expires_in_ms":60_001})
            ),
            Err(Violation::OutOfBounds("expires_in_ms"))
        );
    }

    #[test]
    fn a_frame_at_the_bound_is_read_and_one_beyond_is_not() {
        let frame = |pad: usize| {
            json!({
                "protocol": PROTOCOL, "version": 1, "type": "response", "instance_id": CHILD, "seq": 1,
                "id": "r1", "result": { "pad": "x".repeat(pad) },
            })
            .to_string()
            .into_bytes()
        };
        let pad = 65_535 - frame(0).len();
        assert!(Frame::decode(&frame(pad)).is_ok());
        assert_eq!(
            Frame::decode(&frame(pad + 1)),
            Err(Violation::FrameTooLarge)
        );
    }

    proptest! {
        #[test]
        fn no_single_byte_change_can_panic(at in 0usize..160, byte in any::<u8>()) {
            let mut line = json!({
                "protocol": PROTOCOL, "version": 1, "type": "response", "instance_id": CHILD,
                "seq": 1, "id": "r1", "result": {"state":"stopping"},
            }).to_string().into_bytes();
            let at = at % line.len();
            line[at] = byte;
            let _ = Frame::decode(&line);
        }
    }
}
