//! `thirdparty.echo` of application-service: an answer, then one event for each repetition; and two operations
//! that take their time. The echo itself is shared and stands in the crate's root.

use application_service::Word;
use host::{Cx, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OutOfRange;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoPayload {
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
    dialect: application_service::ApplicationService,
    name: "thirdparty.echoed",
    position: 900,
    delivery: MustArrive,
    data: Echoed,
}

host::operation! {
    /// Gives back the text. An echo that does not fit a record ends the service, as any such answer does.
    dialect: application_service::ApplicationService,
    method: "thirdparty.echo",
    // Before all of ours, as far as that goes.
    position: 0,
    class: Inline,
    needs: Initialization,
    params: EchoPayload,
    answer: Echo,
    errors: [InvalidPayload, NotInitialized, LimitExceeded],
    example: r#"{"text":"ab","repeat":2}"# => r#"{"text":"abab"}"#,
    handler: echo,
}

fn echo(cx: Cx<()>, payload: EchoPayload) -> Result<Reply<Echo>, Word> {
    let EchoPayload { text, repeat } = payload;
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
        OutOfRange::Text => Word::LimitExceeded,
        OutOfRange::Repeat => Word::InvalidPayload,
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoPayload {}

#[derive(Debug, Serialize, JsonSchema)]
struct Held {
    released: bool,
}

host::operation! {
    /// Answers when the connection ends: an operation that is in flight for as long as somebody needs one.
    dialect: application_service::ApplicationService,
    method: "thirdparty.hold",
    position: 901,
    class: Background,
    needs: Nothing,
    params: NoPayload,
    answer: Held,
    errors: [InvalidPayload],
    example: "{}" => r#"{"released":true}"#,
    handler: hold,
}

async fn hold(cx: Cx<()>, _: NoPayload) -> Result<Reply<Held>, Word> {
    cx.cancellation().cancelled().await;
    Ok(Held { released: true }.into())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChorePayload {
    #[schemars(range(min = 1, max = 16))]
    steps: u8,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    steps: u8,
}

host::operation! {
    /// Says each step before it answers: an operation that cannot end before its events are taken.
    dialect: application_service::ApplicationService,
    method: "thirdparty.chore",
    position: 902,
    class: Exclusive,
    needs: Nothing,
    params: ChorePayload,
    answer: Done,
    errors: [InvalidPayload, InternalError],
    example: r#"{"steps":2}"# => r#"{"steps":2}"#,
    handler: chore,
}

async fn chore(cx: Cx<()>, ChorePayload { steps }: ChorePayload) -> Result<Reply<Done>, Word> {
    if !(1..=crate::REPEATS).contains(&steps) {
        return Err(Word::InvalidPayload);
    }
    for part in 1..=steps {
        let said = cx.events().send(&Echoed { part, bytes: 0 }).await;
        said.map_err(|_| Word::InternalError)?;
    }
    Ok(Done { steps }.into())
}
