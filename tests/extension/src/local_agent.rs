//! `thirdparty.echo` of local-agent: an answer, then one event for each repetition.
//! The echo itself is shared and stands in the crate's root.

use host::{Cx, Reply};
use local_agent::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OutOfRange;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoParams {
    /// At most 8192 bytes of UTF-8.
    text: String,
    /// How often to say it, once when left out.
    #[serde(default = "crate::once")]
    #[schemars(range(min = 1, max = 16))]
    repeat: u8,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Echo {
    /// The text, repeated.
    text: String,
}

/// Data of `thirdparty.echoed`.
#[derive(Debug, Serialize, JsonSchema)]
struct Echoed {
    /// Which repetition this is, from 1.
    part: u8,
    /// Its size in UTF-8 bytes.
    bytes: usize,
}

host::event! {
    /// One repetition was echoed. Follows the answer, in order.
    dialect: local_agent::LocalAgent,
    name: "thirdparty.echoed",
    position: 900,
    delivery: MustArrive,
    data: Echoed,
}

host::operation! {
    /// Gives back the text. An echo that does not fit a frame is `content_limit`, without events.
    dialect: local_agent::LocalAgent,
    method: "thirdparty.echo",
    position: 900,
    class: Inline,
    needs: Initialization,
    params: EchoParams,
    answer: Echo,
    errors: [InvalidParams, NotInitialized, ContentLimit],
    example: r#"{"text":"ab","repeat":2}"# => r#"{"text":"abab"}"#,
    handler: echo,
}

fn echo(cx: Cx<()>, params: EchoParams) -> Result<Reply<Echo>, Word> {
    let EchoParams { text, repeat } = params;
    let echo = Echo {
        text: crate::echo(&text, repeat).map_err(word)?,
    };
    let events = cx.events();
    Ok(Reply::new(echo).then(async move {
        for part in 1..=repeat {
            let bytes = text.len();
            // An error means that the connection is gone: there is nobody left to tell.
            if events.send(&Echoed { part, bytes }).await.is_err() {
                return;
            }
        }
    }))
}

fn word(error: OutOfRange) -> Word {
    match error {
        OutOfRange::Text => Word::ContentLimit,
        OutOfRange::Repeat => Word::InvalidParams,
    }
}
