//! `halt` of mty-agent: ends its connection. Nothing else lives here.

use host::Cx;
use mty_agent::{OpFailure, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys beside `op`; unknown ones are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Halted {}

host::operation! {
    /// Ends the interactive loop, or the rest of a batch, after its `result` and `done`. The server goes on.
    dialect: mty_agent::MtyAgent,
    method: "halt",
    position: 90,
    class: Inline,
    needs: Nothing,
    params: Params,
    answer: Halted,
    errors: [],
    example: "{\"op\":\"halt\"}" => "{}",
    handler: halt,
}

fn halt(_: Cx<()>, _: Params) -> Result<Reply<Halted>, OpFailure> {
    Ok(Reply::new(Halted {}).closing())
}
