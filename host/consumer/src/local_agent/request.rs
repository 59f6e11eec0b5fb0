//! What this client may ask of a local-agent child, and how it is written.
//! Requests are built from this closed set only: no foreign field ever leaves.

use local_agent::messages::{
    AnswerParams, CancelParams, InitializeParams, NoParams, OpenParams, PageParams, StartParams,
};
use serde_json::{Value, json};

use super::answer::Limits;
use super::words::{is_id, is_session_id, is_uuid};
use super::{PROTOCOL, VERSION};
use crate::NotSent;

/// An operation, without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Initialize,
    Status,
    Shutdown,
    SessionCreate,
    SessionOpen,
    HistoryPage,
    TurnStart,
    TurnCancel,
    ApprovalAnswer,
}

impl Method {
    /// Its name on the wire, which is also its capability.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Status => "status",
            Self::Shutdown => "shutdown",
            Self::SessionCreate => "session.create",
            Self::SessionOpen => "session.open",
            Self::HistoryPage => "history.page",
            Self::TurnStart => "turn.start",
            Self::TurnCancel => "turn.cancel",
            Self::ApprovalAnswer => "approval.answer",
        }
    }
}

/// A request with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Initialize {
        required_capabilities: Vec<&'static str>,
    },
    Status,
    Shutdown,
    SessionCreate,
    SessionOpen {
        session_id: String,
    },
    HistoryPage {
        session_id: String,
        revision: String,
        cursor: Option<String>,
    },
    TurnStart {
        session_id: String,
        prompt: String,
    },
    TurnCancel {
        session_id: String,
        run_id: String,
    },
    ApprovalAnswer {
        session_id: String,
        run_id: String,
        approval_id: String,
        allow: bool,
    },
}

impl Request {
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Self::Initialize { .. } => Method::Initialize,
            Self::Status => Method::Status,
            Self::Shutdown => Method::Shutdown,
            Self::SessionCreate => Method::SessionCreate,
            Self::SessionOpen { .. } => Method::SessionOpen,
            Self::HistoryPage { .. } => Method::HistoryPage,
            Self::TurnStart { .. } => Method::TurnStart,
            Self::TurnCancel { .. } => Method::TurnCancel,
            Self::ApprovalAnswer { .. } => Method::ApprovalAnswer,
        }
    }

    fn params(&self) -> Value {
        match self.clone() {
            Self::Initialize {
                required_capabilities: names,
            } => json!(InitializeParams {
                required_capabilities: names.into_iter().map(Into::into).collect(),
            }),
            Self::Status | Self::Shutdown | Self::SessionCreate => json!(NoParams {}),
            Self::SessionOpen { session_id } => json!(OpenParams { session_id }),
            Self::HistoryPage {
                session_id,
                revision,
                cursor,
            } => json!(PageParams {
                session_id,
                revision,
                cursor,
            }),
            Self::TurnStart { session_id, prompt } => json!(StartParams { session_id, prompt }),
            Self::TurnCancel { session_id, run_id } => json!(CancelParams { session_id, run_id }),
            Self::ApprovalAnswer {
                session_id,
                run_id,
                approval_id,
                allow,
            } => json!(AnswerParams {
                session_id,
                run_id,
                approval_id,
                allow,
            }),
        }
    }

    /// The line for this request, without LF.
    ///
    /// # Errors
    /// What the server would have to refuse anyway stays here: [`NotSent`].
    pub fn encode(&self, id: &str, limits: &Limits) -> Result<Vec<u8>, NotSent> {
        self.check(limits)?;
        let frame = json!({
            "protocol": PROTOCOL, "version": VERSION, "id": id,
            "method": self.method().name(), "params": self.params(),
        });
        let line = frame.to_string().into_bytes();
        // The input bound excludes the LF (spec: "Bounds and failure policy").
        if line.len() > limits.frame_bytes {
            Err(NotSent::TooLarge)
        } else {
            Ok(line)
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), NotSent> {
        let session = |id: &str| {
            if is_session_id(id) {
                Ok(())
            } else {
                Err(NotSent::BadIdentity)
            }
        };
        let uuid = |id: &str| {
            if is_uuid(id) {
                Ok(())
            } else {
                Err(NotSent::BadIdentity)
            }
        };
        match self {
            Self::Initialize {
                required_capabilities,
            } if required_capabilities.len() > 16 => Err(NotSent::BadArgument),
            Self::Initialize { .. } | Self::Status | Self::Shutdown | Self::SessionCreate => Ok(()),
            Self::SessionOpen { session_id } => session(session_id),
            Self::HistoryPage {
                session_id,
                revision,
                cursor,
            } => {
                session(session_id)?;
                let known = is_id(revision) && cursor.as_deref().is_none_or(is_id);
                if known {
                    Ok(())
                } else {
                    Err(NotSent::BadIdentity)
                }
            }
            Self::TurnStart { session_id, prompt } => {
                session(session_id)?;
                if prompt.trim().is_empty() {
                    Err(NotSent::BlankPrompt)
                } else if prompt.len() > limits.prompt_bytes {
                    Err(NotSent::PromptTooLong)
                } else {
                    Ok(())
                }
            }
            Self::TurnCancel { session_id, run_id } => {
                session(session_id).and_then(|()| uuid(run_id))
            }
            Self::ApprovalAnswer {
                session_id,
                run_id,
                approval_id,
                ..
            } => session(session_id)
                .and_then(|()| uuid(run_id))
                .and_then(|()| uuid(approval_id)),
        }
    }
}
