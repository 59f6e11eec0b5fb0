//! One tool of a server, as a tool of a set: what a person is asked, how its calls are bounded, what they come to.
//! The server itself stands in `server`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tools::{
    Access, Call, Concurrency, Context, DefaultPolicy, Limits, Question, Running, Tool, ToolError,
    ToolOutcome, ToolSpec,
};

use crate::error::CallError;
use crate::offer::Offer;
use crate::result::outcome;
use crate::server::{LONGEST_CALL, READY_TIME, Server};

/// A call ends by itself: the set only steps in when it does not.
const LIMITS: Limits = Limits {
    wall: Duration::from_secs(LONGEST_CALL.as_secs() + READY_TIME.as_secs()),
    overtime: Duration::from_secs(5),
    cancel: Duration::from_millis(40),
};

pub(crate) struct ServerTool {
    pub(crate) server: Arc<Server>,
    pub(crate) offer: Offer,
}

impl Tool for ServerTool {
    fn spec(&self) -> ToolSpec {
        let Offer {
            name,
            description,
            schema,
            reads,
            ..
        } = &self.offer;
        ToolSpec {
            // The server's word, which nobody vouches for, so only the order of calls depends on it.
            concurrency: match reads {
                true => Concurrency::SideBySide,
                false => Concurrency::Alone,
            },
            looks: false,
            limits: LIMITS,
            server: Some(self.server.definition.name.as_str().into()),
            ..ToolSpec::changing(name, description, schema.clone())
        }
    }

    fn access(&self, input: &Value, _: &Context) -> Access {
        let default = match self.server.definition.trust {
            true => DefaultPolicy::Allow,
            false => DefaultPolicy::Ask,
        };
        Access::new(default, Question::of_input(&*self.offer.name, input))
    }

    fn run(&self, call: Call, _: Arc<Context>) -> Running {
        let (server, tool) = (Arc::clone(&self.server), self.offer.tool.clone());
        Box::pin(async move {
            let Value::Object(arguments) = call.input else {
                return ToolError::Input("the input must be a JSON object".to_owned()).into();
            };
            let cancelled = call.deadline.cancellation();
            match server.call(&tool, arguments, cancelled).await {
                Ok(result) => outcome(&result),
                Err(CallError::Cancelled) => ToolError::Cancelled.into(),
                Err(CallError::Late) => ToolError::TimedOut.into(),
                Err(error) => {
                    ToolOutcome::failed(error.to_string(), error.label()).because(error.to_string())
                }
            }
        })
    }
}
