//! Why a server does not start, and why a call of it has no answer: for people, for the log and for models.
//! What becomes of either is decided above.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::AuthError;
use store::Reason;
use tools::process::{Finished, ProcessError};

/// Longest account of what was behind an error, in bytes.
const MAX_CHAIN_BYTES: usize = 1024;

/// A server that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the MCP server `{server}` does not start: {cause}")]
pub struct StartError {
    pub server: String,
    /// Where it is defined.
    pub(crate) named: Reason,
    #[source]
    pub cause: StartCause,
}

impl StartError {
    /// The same for people, not redacted.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        let help = match &self.cause {
            StartCause::Login => {
                format!("run `magi-code mcp login {}`", store::shown(&self.server))
            }
            _ => format!(
                "run `magi-code mcp test {}`, put right what it says, or set `enabled` to false",
                store::shown(&self.server)
            ),
        };
        let reason = format!(
            "the MCP server `{}` does not start: {}",
            store::shown(&self.server),
            self.cause
        );
        Reason {
            reason,
            help: Some(help),
            ..self.named
        }
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartCause {
    #[error("it was not ready within {} s", .0.as_secs())]
    Late(Duration),
    #[error("{0}")]
    Process(#[from] ProcessError),
    /// The program ended; how, and its last words.
    #[error("it ended before it was ready: {0}")]
    Ended(End),
    #[error("{}", handshake(.0))]
    Handshake(#[source] Box<ClientInitializeError>),
    #[error("its tools can't be listed: {}", chain(&**.0))]
    List(#[source] Box<ServiceError>),
    #[error("its list of tools is none")]
    NoList,
    #[error("it wants a login")]
    Login,
    #[error("its login can't be used: {}", chain(&**.0))]
    Credentials(#[source] Box<AuthError>),
    #[error("its address or a header of it can't be used: {0}")]
    Address(String),
    #[error("there is no HTTP client: {}", chain(&**.0))]
    Client(#[source] Box<dyn Error + Send + Sync>),
    #[error("this process ends")]
    Closing,
}

/// How a server's program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub(crate) how: String,
    /// The end of what it wrote to standard error, on one line; may be empty.
    pub(crate) words: String,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.how)?;
        match self.words.is_empty() {
            true => Ok(()),
            false => write!(f, "; it said: {}", self.words),
        }
    }
}

impl End {
    /// Nothing is known of it: the task that watched it is gone.
    pub(crate) fn lost(error: &tokio::task::JoinError) -> Self {
        Self {
            how: error.to_string(),
            words: String::new(),
        }
    }
}

impl From<Result<Finished, ProcessError>> for End {
    fn from(ended: Result<Finished, ProcessError>) -> Self {
        use tools::process::Status;
        let (how, words) = match ended {
            Ok(finished) => {
                let how = match finished.status {
                    Some(Status::Exited(code)) => format!("exit code {code}"),
                    Some(Status::Signalled(signal)) => format!("signal {signal}"),
                    None => "it was ended".to_owned(),
                };
                (how, last_words(&finished.stderr.text()))
            }
            Err(error) => (error.to_string(), String::new()),
        };
        Self { how, words }
    }
}

/// The end of a text on one line.
fn last_words(text: &str) -> String {
    const MAX_BYTES: usize = 512;
    let words: Vec<_> = text.split_whitespace().collect();
    let words = words.join(" ");
    let from = words.ceil_char_boundary(words.len().saturating_sub(MAX_BYTES));
    match from {
        0 => words,
        from => format!("…{}", &words[from..]),
    }
}

/// What kept a handshake from coming about, without the SDK's own words for where that was.
fn handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => chain(&*error.error),
        ClientInitializeError::JsonRpcError(refused) => format!("it refused: {}", refused.message),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        other => chain(other),
    }
}

/// An error and what was behind it, on one line. What repeats what was said is left out.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind.filter(|_| text.len() < MAX_CHAIN_BYTES) {
        let more = error.to_string();
        if !text.contains(&more) {
            let _ = write!(text, ": {more}");
        }
        behind = error.source();
    }
    text.truncate(text.floor_char_boundary(MAX_CHAIN_BYTES));
    text
}

/// Why a call has no answer. Its display is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The server was not running, and could not be started again.
    #[error("the server could not be started again: {0}")]
    Start(#[source] StartCause),
    #[error("the server refused the call: {0}")]
    Refused(String),
    #[error("the server ended during the call: {0}")]
    Ended(String),
    #[error("the call could not be sent, or the connection was lost: {}", chain(&**.0))]
    Lost(#[source] Box<ServiceError>),
    #[error("the server wants a login; the person has to run `magi-code mcp login {0}`")]
    Login(String),
    #[error("the server did not answer in time")]
    Late,
    #[error("the call was cancelled")]
    Cancelled,
}

impl CallError {
    /// For a person's summary: fixed words.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Start(_) => "the server does not start",
            Self::Refused(_) => "the server refused it",
            Self::Ended(_) => "the server ended",
            Self::Lost(_) => "the connection was lost",
            Self::Login(_) => "the server wants a login",
            Self::Late => "timed out",
            Self::Cancelled => "cancelled",
        }
    }
}
