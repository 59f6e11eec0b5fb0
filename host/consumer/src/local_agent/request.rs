//! What this client may ask of a local-agent child, in the params of the protocol's own crate.
//! Requests are built from this closed set only: no foreign field ever leaves.

use local_agent::messages::{
    AnswerParams, CancelParams, InitializeParams, Limits, NoParams, OpenParams, PageParams,
    StartParams,
};
use serde_json::{Value, json};

use super::words::{is_id, is_session_id, is_uuid};
use super::{PROTOCOL, VERSION};
use crate::NotSent;
use crate::violation::ensure;

/// A request with its params.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Initialize(InitializeParams),
    Status,
    Shutdown,
    SessionCreate,
    SessionOpen(OpenParams),
    HistoryPage(PageParams),
    TurnStart(StartParams),
    TurnCancel(CancelParams),
    ApprovalAnswer(AnswerParams),
}

impl Request {
    /// Initialization with the capabilities that this client cannot do without.
    #[must_use]
    pub fn initialize(required: &[&'static str]) -> Self {
        let names = required.iter().map(|name| (*name).into());
        Self::Initialize(InitializeParams {
            required_capabilities: names.collect(),
        })
    }

    /// Its name on the wire, which is also its capability.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.written().0
    }

    fn written(&self) -> (&'static str, Value) {
        let none = || json!(NoParams {});
        match self {
            Self::Initialize(params) => ("initialize", json!(params)),
            Self::Status => ("status", none()),
            Self::Shutdown => ("shutdown", none()),
            Self::SessionCreate => ("session.create", none()),
            Self::SessionOpen(params) => ("session.open", json!(params)),
            Self::HistoryPage(params) => ("history.page", json!(params)),
            Self::TurnStart(params) => ("turn.start", json!(params)),
            Self::TurnCancel(params) => ("turn.cancel", json!(params)),
            Self::ApprovalAnswer(params) => ("approval.answer", json!(params)),
        }
    }

    /// The line for this request, without LF.
    ///
    /// # Errors
    /// What the server would have to refuse anyway stays here: [`NotSent`].
    pub fn encode(&self, id: &str, limits: &Limits) -> Result<Vec<u8>, NotSent> {
        self.check(limits)?;
        let (method, params) = self.written();
        let frame = json!({
            "protocol": PROTOCOL, "version": VERSION, "id": id, "method": method, "params": params,
        });
        let line = frame.to_string().into_bytes();
        // The input bound excludes the LF (spec: "Bounds and failure policy").
        ensure(line.len() <= limits.frame_bytes, NotSent::TooLarge)?;
        Ok(line)
    }

    fn check(&self, limits: &Limits) -> Result<(), NotSent> {
        let session = |id: &str| ensure(is_session_id(id), NotSent::BadIdentity);
        let uuid = |id: &str| ensure(is_uuid(id), NotSent::BadIdentity);
        match self {
            Self::Initialize(params) => {
                let names = params.required_capabilities.len();
                ensure(
                    names <= local_agent::REQUIRED_CAPABILITIES,
                    NotSent::BadArgument,
                )
            }
            Self::Status | Self::Shutdown | Self::SessionCreate => Ok(()),
            Self::SessionOpen(params) => session(&params.session_id),
            Self::HistoryPage(params) => {
                session(&params.session_id)?;
                let cursor = params.cursor.as_deref().is_none_or(is_id);
                ensure(is_id(&params.revision) && cursor, NotSent::BadIdentity)
            }
            Self::TurnStart(params) => {
                session(&params.session_id)?;
                ensure(!params.prompt.trim().is_empty(), NotSent::BlankPrompt)?;
                let fits = params.prompt.len() <= limits.prompt_bytes;
                ensure(fits, NotSent::PromptTooLong)
            }
            Self::TurnCancel(params) => {
                session(&params.session_id)?;
                uuid(&params.run_id)
            }
            Self::ApprovalAnswer(params) => {
                session(&params.session_id)?;
                uuid(&params.run_id)?;
                uuid(&params.approval_id)
            }
        }
    }
}
