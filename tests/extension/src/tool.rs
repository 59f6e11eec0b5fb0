//! `thirdparty_words`: a third party's tool in one file, offered and run beside the built-in ones.
//! Nothing outside this file names it; `docs/adding-a-tool.md` walks through it.

use std::io::Read;
use std::sync::Arc;

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use tools::{Access, Call, Context, Running, Scope, Success, Tool, ToolError, ToolSpec, Watch};

const NAME: &str = "thirdparty_words";
/// Longest file that is counted, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

tools::register! {
    name: NAME,
    position: 900,
    make: |_| Some(Arc::new(Words)),
}

struct Words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The text file, relative to the workspace or absolute.
    path: String,
}

impl Tool for Words {
    fn spec(&self) -> ToolSpec {
        let description = "Counts the words of a text file of at most 1 MiB.";
        ToolSpec {
            advice: "Count words with `thirdparty_words` instead of by eye.",
            ..ToolSpec::reading(NAME, description, schema_for!(Input).to_value())
        }
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::reading(NAME, input, &[], cx)
    }

    fn subject(&self, input: &Value, cx: &Context) -> String {
        let path = input["path"].as_str();
        path.map_or_else(String::new, |path| cx.subject(path))
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        call.blocking(cx, count)
    }
}

fn count(input: &Value, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let input: Input = serde_json::from_value(input.clone())
        .map_err(|error| ToolError::Input(error.to_string()))?;
    let path = scope.resolve(&input.path)?;
    let (file, _) = scope.open_file(&path)?;
    let shown = scope.shown(&path);
    let mut text = String::new();
    file.take(FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| ToolError::io(&error, &shown))?;
    let mut words = 0_u64;
    for _ in text.split_whitespace() {
        watch.check()?;
        words += 1;
    }
    let summary = format!("{words} words");
    Ok(Success::text(
        format!("{shown} has {words} words\n"),
        summary,
    ))
}
