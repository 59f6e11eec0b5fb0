//! Why startup fails: the one word that a dialect may tell of it, and every reason behind it for the person and the log.
//! Which reason is which word is decided where it is found.

use std::fmt;

use redact::Redactor;
use store::resources::ResourceError;
use store::settings::SettingsError;
use store::{AccountError, HomeError, Reason};

/// What kind of failure it is (spec: local-agent, "Startup errors").
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupErrorKind {
    #[error("the settings are not valid")]
    ConfigurationInvalid,
    /// An agent profile that is enabled cannot be used.
    #[error("an agent profile is not valid")]
    ProfileInvalid,
    #[error("the selected provider is not available")]
    ProviderUnavailable,
    /// A server that is approved and enabled does not start.
    #[error("an MCP server is not available")]
    McpUnavailable,
    #[error("startup was cancelled")]
    Cancelled,
    #[error("startup failed")]
    Failed,
}

/// Why startup failed. The reasons are for the person's eyes and the log, never for the wire; so is what it displays, which is
/// all of them on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartupError {
    pub kind: StartupErrorKind,
    /// Everything that is known to be wrong; redacted. Empty only for [`StartupErrorKind::Cancelled`] and for a
    /// worker that broke off.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for StartupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = &*self.reasons else {
            return self.kind.fmt(f);
        };
        first.fmt(f)?;
        others.iter().try_for_each(|other| write!(f, ". {other}"))
    }
}

impl std::error::Error for StartupError {}

impl StartupError {
    pub(crate) fn new(kind: StartupErrorKind, reason: Reason) -> Self {
        Self {
            kind,
            reasons: vec![reason],
        }
    }

    /// The selection can't be served.
    pub(crate) fn unavailable(reason: Reason) -> Self {
        Self::new(StartupErrorKind::ProviderUnavailable, reason)
    }

    /// What is configured can't be used.
    pub(crate) fn invalid(reason: Reason) -> Self {
        Self::new(StartupErrorKind::ConfigurationInvalid, reason)
    }

    /// Nothing is wrong with what is configured.
    pub(crate) fn failed(reason: Reason) -> Self {
        Self::new(StartupErrorKind::Failed, reason)
    }

    pub(super) fn into_reasons(self) -> Vec<Reason> {
        self.reasons
    }

    /// The same with what else is known to be wrong.
    #[must_use]
    pub(crate) fn and(mut self, more: Option<Self>) -> Self {
        let more = more.into_iter().flat_map(|error| error.reasons);
        for reason in more {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        self
    }

    /// The same with secrets hidden: words of files may be any.
    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        self.reasons = redacted(self.reasons, redactor);
        self
    }

    /// Tells the log, where the error becomes a word.
    pub fn log(&self) {
        let kind = tracing::field::display(self.kind);
        if self.reasons.is_empty() {
            tracing::info!(kind, "startup is refused");
        }
        for reason in &self.reasons {
            tracing::info!(kind, %reason, "startup is refused");
        }
    }
}

/// Reasons with secrets hidden, also in paths: an address may stand where a path belongs.
pub(crate) fn redacted(reasons: Vec<Reason>, redactor: &Redactor) -> Vec<Reason> {
    let hide = |text: String| redactor.redact(&text).into_string();
    let reasons = reasons.into_iter().map(|reason| Reason {
        file: reason.file.map(|file| {
            let text = file.to_string_lossy();
            let shown = redactor.redact(&text).into_string();
            if shown == text { file } else { shown.into() }
        }),
        variable: reason.variable.map(hide),
        key: reason.key.map(hide),
        reason: hide(reason.reason),
        help: reason.help.map(hide),
        ..reason
    });
    reasons.collect()
}

impl From<StartupErrorKind> for StartupError {
    fn from(kind: StartupErrorKind) -> Self {
        Self {
            kind,
            reasons: Vec::new(),
        }
    }
}

impl From<SettingsError> for StartupError {
    fn from(error: SettingsError) -> Self {
        Self {
            kind: StartupErrorKind::ConfigurationInvalid,
            reasons: error.into_reasons(),
        }
    }
}

impl From<ResourceError> for StartupError {
    fn from(error: ResourceError) -> Self {
        let (kind, reasons) = match error {
            ResourceError::Cancelled => (StartupErrorKind::Cancelled, Vec::new()),
            ResourceError::Instructions(reasons) => {
                (StartupErrorKind::ConfigurationInvalid, reasons)
            }
            ResourceError::Profiles(reasons) => (StartupErrorKind::ProfileInvalid, reasons),
        };
        Self { kind, reasons }
    }
}

impl From<HomeError> for StartupError {
    fn from(error: HomeError) -> Self {
        Self::failed(error.into_reason())
    }
}

impl From<AccountError> for StartupError {
    fn from(error: AccountError) -> Self {
        Self::failed(error.into_reason())
    }
}
