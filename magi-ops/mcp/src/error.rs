//! Why a server does not start, and why a call of it has no answer: for people, for the log and for models.
//! What becomes of either is decided above.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use store::Reason;
use tools::process::{Finished, ProcessError};

/// For a start of a server, its list of tools included.
pub(crate) const START_TIME: Duration = Duration::from_secs(10);
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
        let help = self.cause.help(&self.server);
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
    /// It took longer than `START_TIME`; what its program said meanwhile.
    #[error("it was not ready within {} s{}", START_TIME.as_secs(), said(.0))]
    Late(String),
    #[error("its program `{}` can't be started: {source}", store::shown(command))]
    Program {
        command: String,
        #[source]
        source: std::io::Error,
    },
    #[error("`{}` is relative, and programs of servers start in an empty folder as long as this project is not trusted", store::shown(.0))]
    Script(String),
    #[error("{0}")]
    Process(#[from] ProcessError),
    #[error("there is no empty folder to start it in: {0}")]
    Folder(#[source] std::io::Error),
    /// The program ended; how, and its last words.
    #[error("it ended before it was ready: {0}")]
    Ended(End),
    #[error("{}{}", handshake(.0), .1.behind())]
    Handshake(#[source] Box<ClientInitializeError>, Trouble),
    #[error("it speaks the revision `{}`, which is not known here", store::shown(.0))]
    Revision(String),
    #[error("its tools can't be listed: {}", service(.0))]
    List(#[source] Box<ServiceError>),
    #[error("its list of tools is none")]
    NoList,
    #[error("it wants a login")]
    Login,
    #[error("its login can't be used: {}", chain(&**.0))]
    Credentials(#[source] Box<AuthError>),
    /// What of its definition can't be used.
    #[error("{0}")]
    Definition(&'static str),
    #[error("its address or a header of it can't be used: {0}")]
    Address(String),
    #[error("there is no HTTP client: {}", chain(&**.0))]
    Client(#[source] Box<dyn Error + Send + Sync>),
    #[error("this process ends")]
    Closing,
}

impl StartCause {
    /// Whether the connection was lost, so that the end of the program says why.
    pub(crate) fn is_loss(&self) -> bool {
        use ClientInitializeError::{ConnectionClosed, TransportError};
        match self {
            Self::Handshake(error, _) => {
                matches!(**error, ConnectionClosed(_) | TransportError { .. })
            }
            Self::List(error) => !matches!(**error, ServiceError::McpError(_)),
            _ => false,
        }
    }

    /// With what the program said last, where that may be why.
    pub(crate) fn with_words(self, words: Option<String>) -> Self {
        match self {
            Self::Late(_) => Self::Late(words.unwrap_or_default()),
            other => other,
        }
    }

    /// What to do about it, for the server `name`.
    fn help(&self, name: &str) -> String {
        let command = |verb: &str| {
            store::command_word(name).map(|name| format!("`magi-code mcp {verb} {name}`"))
        };
        match self {
            Self::Login => command("login").map_or_else(
                || "give it another name, to log in with it".to_owned(),
                |login| format!("run {login}"),
            ),
            Self::Program { command, .. } if command.contains(char::is_whitespace) => {
                "write the program alone in `command`, and what it is started with in `args`"
                    .to_owned()
            }
            Self::Script(_) => "write an absolute path, or run `magi-code trust` in the project if you know everything that it configures".to_owned(),
            _ => {
                let test = command("test").map(|test| format!(", try {test}"));
                let test = test.unwrap_or_default();
                format!("put that right{test}, or set `enabled` to false")
            }
        }
    }
}

/// What went wrong last while credentials were asked for. The SDK tells only that something did.
#[derive(Debug, Clone, Default)]
pub struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    pub(crate) fn set(&self, why: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// To stand behind what the SDK tells; may be empty.
    pub(crate) fn behind(&self) -> String {
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        why.as_ref()
            .map_or_else(String::new, |why| format!(": {why}"))
    }
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
        write!(f, "{}{}", self.how, said(&self.words))
    }
}

/// A program's last words behind what became of it.
fn said(words: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!("; it said: {words}"),
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
        ClientInitializeError::TransportError { error, .. } => transport(&*error.error),
        ClientInitializeError::JsonRpcError(refused) => format!("it refused: {}", refused.message),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to `initialize` is none".to_owned()
        }
        other => chain(other),
    }
}

/// What became of a request, without the SDK's own names for its parts.
fn service(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => transport(&*error.error),
        ServiceError::TransportClosed => "the connection ended".to_owned(),
        other => chain(other),
    }
}

/// The SDK does not call the HTTP client's error a source of its own, and says where one of the system was.
fn transport(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => chain(error),
        Some(StreamableHttpError::Io(error)) => chain(error),
        _ => chain(error),
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
    #[error("the call has no answer: {}", service(.0))]
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
            Self::Lost(_) => "it has no answer",
            Self::Login(_) => "the server wants a login",
            Self::Late => "timed out",
            Self::Cancelled => "cancelled",
        }
    }
}
