//! A built-in tool that works on files, as data: its offer, what its calls touch, and its work on a decoded input.
//! No one tool stands here; how calls are bounded and contained is the set's matter.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bounds::Watch;
use crate::error::ToolError;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::workspace::Scope;
use crate::{Access, Context, input};

/// A tool whose calls have an input `I`.
pub(crate) struct FileTool<I> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// As [`ToolSpec::advice`].
    pub(crate) advice: &'static str,
    pub(crate) touches: Touches,
    pub(crate) run: fn(I, &Scope, &Watch) -> Result<Success, ToolError>,
}

/// What a call does to the member `path` of its input.
pub(crate) enum Touches {
    /// Reads what lies at or below it; with the members that say what is looked for there.
    Reads(&'static [&'static str]),
    Writes,
}

impl<I: DeserializeOwned + JsonSchema + 'static> Tool for FileTool<I> {
    fn spec(&self) -> ToolSpec {
        let spec = match self.touches {
            Touches::Reads(_) => ToolSpec::reading,
            Touches::Writes => ToolSpec::changing,
        };
        ToolSpec {
            advice: self.advice,
            ..spec(self.name, self.description, input::schema::<I>())
        }
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        match self.touches {
            Touches::Reads(about) => Access::reading(self.name, input, about, cx),
            Touches::Writes => Access::writing(self.name, input, cx),
        }
    }

    fn subject(&self, input: &Value, cx: &Context) -> String {
        let path = input.get("path").and_then(Value::as_str);
        path.map_or_else(String::new, |path| cx.subject(path))
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        let run = self.run;
        call.blocking(cx, move |input, scope, watch| {
            run(input::decode(input)?, scope, watch)
        })
    }
}
