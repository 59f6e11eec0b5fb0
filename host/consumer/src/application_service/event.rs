//! The six events of application-service, each payload read strictly.
//! Which turn or login they may belong to, and in what order, is `tracker`'s.

use std::fmt;

use serde_json::{Map, Value};

pub use application_service::messages::{AssistantDelta, TurnActivity, TurnStarted, TurnTerminal};
use host::WireEvent as _;

use super::activity;
use super::answer::ids;
use super::words::{LoginEnd, LoginState};
use crate::Violation;
use crate::fields::Fields;

/// Every event this client can consume. A server that advertises another one is refused.
pub const EVENTS: [&str; 6] = [
    "turn.started",
    "turn.assistant_delta",
    "turn.activity",
    "turn.terminal",
    "auth.login.progress",
    "auth.login.terminal",
];

/// A text that must not reach logs or disk: it shows itself only when asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Transient(String);

impl Transient {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for offering it to the person at the screen.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transient")
    }
}

/// A login's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub provider_id: String,
    pub state: LoginState,
    /// With [`LoginState::AuthorizationUrl`] only, and always then.
    pub url: Option<Transient>,
}

/// One event, before it is held against the requests it claims to belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    TurnStarted(TurnStarted),
    AssistantDelta(AssistantDelta),
    Activity(TurnActivity),
    TurnTerminal(TurnTerminal),
    LoginProgress {
        login_id: String,
        progress: Progress,
    },
    LoginTerminal {
        login_id: String,
        end: LoginEnd,
    },
}

/// What reading a payload depends on beyond the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub id_bytes: usize,
    /// UTF-8 bytes of a reasoning summary.
    pub summary_bytes: usize,
    /// `turn.activity` is advertised, so the terminal owes its activity metadata.
    pub activity: bool,
}

impl Event {
    /// Reads the payload of the event `name`.
    ///
    /// # Errors
    /// [`Violation::UnknownEvent`], or the first rule the payload breaks.
    pub fn read(
        name: &str,
        payload: &Map<String, Value>,
        with: Reading,
    ) -> Result<Self, Violation> {
        let fields = Fields::new(payload);
        let id = |name| fields.matching(name, |id| (1..=with.id_bytes).contains(&id.len()));
        let turn = |turn_id: &str, session_id: Option<&str>| {
            ids(with.id_bytes, &[("turn_id", turn_id)])?;
            session_id.map_or(Ok(()), |id| ids(with.id_bytes, &[("session_id", id)]))
        };
        Ok(match name {
            TurnStarted::NAME => {
                let event: TurnStarted = fields.whole("payload")?;
                turn(&event.turn_id, Some(&event.session_id))?;
                Self::TurnStarted(event)
            }
            AssistantDelta::NAME => {
                let event: AssistantDelta = fields.whole("payload")?;
                turn(&event.turn_id, None)?;
                Self::AssistantDelta(event)
            }
            TurnActivity::NAME => {
                if !with.activity {
                    return Err(Violation::UnknownEvent);
                }
                let activity = fields.object("activity")?;
                Self::Activity(TurnActivity {
                    turn_id: id("turn_id")?.into(),
                    sequence: fields.count("sequence")?,
                    activity: activity::read(activity, with.id_bytes, with.summary_bytes)?,
                })
            }
            TurnTerminal::NAME => {
                let event: TurnTerminal = fields.whole("payload")?;
                turn(&event.turn_id, Some(&event.session_id))?;
                settled(fields, &event, with.activity)?;
                Self::TurnTerminal(event)
            }
            "auth.login.progress" => Self::LoginProgress {
                login_id: id("login_id")?,
                progress: progress(fields)?,
            },
            "auth.login.terminal" => {
                fields.constant("cleanup_complete", true)?;
                Self::LoginTerminal {
                    login_id: id("login_id")?,
                    end: fields.word("state")?,
                }
            }
            _ => return Err(Violation::UnknownEvent),
        })
    }
}

fn settled(fields: Fields<'_>, event: &TurnTerminal, activity: bool) -> Result<(), Violation> {
    if activity {
        // Then the metadata is required, not optional (spec: "Required, optional, absent, and null").
        for name in [
            "activity_dropped",
            "activity_replay_available",
            "replay_required",
        ] {
            fields.required(name)?;
        }
    }
    // No accepted profile can replay activity, so the promise contradicts the advertisement.
    if event.activity_replay_available == Some(true) {
        return Err(Violation::Contradiction("activity_replay_available"));
    }
    Ok(())
}

fn progress(fields: Fields<'_>) -> Result<Progress, Violation> {
    let state: LoginState = fields.word("state")?;
    let url = if state == LoginState::AuthorizationUrl {
        fields.constant("open_browser", true)?;
        let url = fields.matching("url", |url| {
            url.starts_with("https://") || url.starts_with("http://")
        })?;
        Some(Transient(url))
    } else {
        // This is the sole URL-bearing event (spec: "Codex login").
        if fields.has("url") {
            return Err(Violation::Contradiction("url"));
        }
        None
    };
    Ok(Progress {
        provider_id: fields.matching("provider_id", super::answer::is_selection_id)?,
        state,
        url,
    })
}
