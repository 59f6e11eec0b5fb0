//! A dialect that no other crate knows, `tiny`: words of plain text, its own codec, one operation. What it shares with
//! the others is the host's: frames, registry, gate, scheduling, bounds, the loop.
//!
//! A request is `ID METHOD PARAMS`, PARAMS one JSON object; its answer `ID ok JSON` or `ID no WORD`.

use std::time::Duration;

use host::correlate::Identities;
use host::dialect::{
    Admission, Decoded, Identity, Limit, OutputRules, Refusal, Standard, Unencodable,
};
use host::frame::{FrameRules, Oversize, Unterminated};
use host::guide::{Guide, always};
use host::scan::{ScanLimits, scan};
use host::{Codec, Cx, Dialect, Fault, Reply, Rules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const FRAME_BYTES: usize = 4096;

host::vocabulary! {
    /// Why a request failed.
    Word {
        Garbled => "garbled", "The line is no request.";
        Unknown => "unknown", "There is no such method.";
        Unfit => "unfit", "The params are not those of the method.";
        Again => "again", "The id was used before.";
        Much => "much", "Something is too long.";
        Broken => "broken", "The method failed.";
    }
}

/// The rules of the dialect.
pub static RULES: Rules = Rules {
    name: "tiny",
    version: 1,
    opening: None,
    frame: FrameRules {
        max_bytes: FRAME_BYTES,
        oversize: Oversize::Discard,
        unterminated: Unterminated::Refuse,
        read_batch: 512,
    },
    scan: ScanLimits {
        depth: 4,
        ..ScanLimits::UNBOUNDED
    },
    limits: &[Limit::new(
        "frame_bytes",
        FRAME_BYTES as u64,
        "Bytes of a line, both ways.",
    )],
    words: Word::ALL,
    identities: Identities::Lifetime { max: 1000 },
    admission: Admission::AfterFlush,
    requests: 1,
    output: OutputRules {
        queue_frames: 8,
        frame_bytes: FRAME_BYTES,
        deadline: None,
        strict: false,
    },
    closing: Duration::from_secs(2),
    background: Duration::ZERO,
    cleanup: Duration::from_secs(2),
    standard: Standard {
        unsupported: Word::Unknown.code(),
        invalid_params: Word::Unfit.code(),
        invalid_session: Word::Garbled.code(),
        not_initialized: Word::Broken.code(),
        duplicate: Word::Again.code(),
        exhausted: Word::Much.code(),
        busy: Word::Broken.code(),
        internal: Word::Broken.code(),
        oversize: Word::Much.code(),
    },
    guide: Guide {
        launch: &[always("`extended tiny` on pipes.")],
        framing: &[always("Lines of UTF-8, ended by LF.")],
        envelope: &[always(
            "A request is `ID METHOD PARAMS`, its answer `ID ok JSON` or `ID no CODE`.",
        )],
        order: &[always("An answer precedes the next request.")],
        closing: &[always("At the end of input, with status 0.")],
        ..Guide::NONE
    },
};

/// The dialect and, having no state, its codec.
pub struct Tiny;

impl Dialect for Tiny {
    const NAME: &'static str = "tiny";
    const RULES: &'static Rules = &RULES;
    const SESSIONS: bool = false;
    type Word = Word;
    type Reply<T: Serialize> = Reply<T>;
}

fn refusal(word: Word) -> Refusal {
    Refusal {
        identity: Identity::default(),
        code: word.code(),
        closes: false,
    }
}

impl Codec for Tiny {
    fn decode<'f>(&mut self, frame: &'f [u8]) -> Decoded<'f> {
        let parts = std::str::from_utf8(frame).ok().and_then(|line| {
            let (id, rest) = line.split_once(' ')?;
            let (method, params) = rest.split_once(' ')?;
            Some((id, method, params))
        });
        let Some((id, method, params)) = parts else {
            return Decoded::Refused(refusal(Word::Garbled));
        };
        let object =
            scan(params, &RULES.scan).is_ok_and(|found| found.is_object && !found.too_deep);
        Decoded::Request {
            identity: Identity {
                id: Some(id.into()),
                session_id: None,
                method: Some(method.to_owned()),
            },
            params,
            fault: (!object).then_some(Word::Unfit.code()),
        }
    }

    fn oversize(&self) -> Refusal {
        refusal(Word::Much)
    }

    fn incomplete(&self) -> Refusal {
        refusal(Word::Garbled)
    }

    fn answer(
        &mut self,
        identity: &Identity,
        result: Result<&str, &Fault>,
    ) -> Result<Vec<u8>, Unencodable> {
        let id = identity.id.as_deref().unwrap_or("?");
        let line = match result {
            Ok(value) => format!("{id} ok {value}\n"),
            Err(fault) => format!("{id} no {}\n", fault.code),
        };
        if line.len() > FRAME_BYTES {
            return Err(Unencodable);
        }
        Ok(line.into_bytes())
    }

    fn event(&mut self, _: &Identity, name: &str, data: &str) -> Result<Vec<u8>, Unencodable> {
        Ok(format!("* {name} {data}\n").into_bytes())
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Numbers {
    a: i32,
    b: i32,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i32,
}

host::operation! {
    /// Adds two numbers. A sum that is none is a word that the operation declares, a negative one it is not.
    dialect: crate::tiny::Tiny,
    method: "add",
    position: 1,
    class: Inline,
    needs: Nothing,
    params: Numbers,
    answer: Sum,
    errors: [Much],
    example: r#"{"a":1,"b":2}"# => r#"{"sum":3}"#,
    handler: add,
}

fn add(_: Cx<()>, numbers: Numbers) -> Result<Reply<Sum>, Word> {
    let sum = numbers.a.checked_add(numbers.b).ok_or(Word::Much)?;
    if sum < 0 {
        return Err(Word::Garbled);
    }
    Ok(Sum { sum }.into())
}
