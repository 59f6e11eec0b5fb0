//! `halt` of mty-agent: ends its connection. Nothing else lives here.

use host::Cx;
use mty_agent::messages::{HaltParams, Halted};
use mty_agent::{OpFailure, Reply};

host::operation! {
    /// Ends the interactive loop, or the rest of a batch, after its `result` and `done`. The server goes on.
    dialect: mty_agent::MtyAgent,
    method: "halt",
    position: 90,
    class: Inline,
    needs: Nothing,
    params: HaltParams,
    answer: Halted,
    errors: [],
    example: "{\"op\":\"halt\"}" => "{}",
    handler: halt,
}

fn halt(_: Cx<()>, _: HaltParams) -> Result<Reply<Halted>, OpFailure> {
    Ok(Reply::new(Halted {}).closing())
}
