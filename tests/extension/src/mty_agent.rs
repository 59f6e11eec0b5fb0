//! `thirdparty_echo` of mty-agent: lines of its own kind while it works, then the `result` line.
//! The echo itself is shared and stands in the crate's root.

use host::Cx;
use mty_agent::{OpFailure, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// This dialect ignores keys that an op does not know, its own `op` among them.
#[derive(Debug, Deserialize, JsonSchema)]
struct EchoRequest {
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

/// Members of a `thirdparty_log` line.
#[derive(Debug, Serialize, JsonSchema)]
struct Log {
    /// What the op does now.
    message: &'static str,
}

host::event! {
    /// Tells how far the op is. Precedes the `result` line.
    dialect: mty_agent::MtyAgent,
    name: "thirdparty_log",
    position: 900,
    delivery: MustArrive,
    data: Log,
}

host::operation! {
    /// Gives back the text, after two `thirdparty_log` lines. A text or count out of range exits 2.
    dialect: mty_agent::MtyAgent,
    method: "thirdparty_echo",
    position: 900,
    class: Background,
    needs: Nothing,
    params: EchoRequest,
    answer: Echo,
    errors: [Failed, Protocol],
    example: r#"{"op":"thirdparty_echo","text":"ab","repeat":2}"# => r#"{"text":"abab"}"#,
    handler: echo,
}

async fn echo(cx: Cx<()>, request: EchoRequest) -> Result<Reply<Echo>, OpFailure> {
    let text = crate::echo(&request.text, request.repeat)
        .map_err(|error| OpFailure::protocol(error.to_string()))?;
    let events = cx.events();
    // Lines of an op leave before its result, so they are sent from the handler, not after it.
    for message in ["taken", "echoed"] {
        events
            .send(&Log { message })
            .await
            .map_err(|error| OpFailure::failed(error.to_string()))?;
    }
    Ok(Echo { text }.into())
}
