//! `explain` of mty-agent: the long text of one diagnostic code. The texts live in `analysis`.

use host::Cx;
use mty_agent::messages::{ExplainParams, Explained};
use mty_agent::{OpFailure, Reply};
use toolchain::ExplainError;

host::operation! {
    /// Gives the long text of one diagnostic code. An unknown code exits 1, something that is no code 2.
    dialect: mty_agent::MtyAgent,
    method: "explain",
    position: 60,
    class: Inline,
    needs: Nothing,
    params: ExplainParams,
    answer: Explained,
    errors: [Failed, Protocol],
    example: "{\"op\":\"explain\",\"code\":\"MT3014\"}" => "{\"code\":\"MT3014\",\"text\":\"MT3014: …\"}",
    handler: explain,
}

fn explain(_: Cx<()>, params: ExplainParams) -> Result<Reply<Explained>, OpFailure> {
    match toolchain::explain(&params.code) {
        Ok(found) => Ok(Explained {
            code: found.code.to_owned(),
            text: found.text.to_owned(),
        }
        .into()),
        Err(error @ ExplainError::Unknown { code }) => Err(OpFailure::failed(error.to_string())
            .result(&Explained {
                code: code.to_string(),
                text: String::new(),
            })),
        Err(error) => Err(OpFailure::protocol(error.to_string()).result(&Explained {
            code: params.code.chars().take(32).collect(),
            text: String::new(),
        })),
    }
}
