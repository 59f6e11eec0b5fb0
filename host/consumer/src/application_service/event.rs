//! The six events of application-service, each payload read strictly.
//! Which turn or login they may belong to, and in what order, is `tracker`'s.

use std::fmt;

use serde_json::{Map, Value};

use super::activity::Activity;
use super::words::{LoginEnd, LoginState, TurnStatus};
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

/// How a turn ended, as the server settles it: `assistant_text` is the final text, whatever was streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub status: TurnStatus,
    pub assistant_text: String,
    /// Activities the server had to drop. Absent on a server that has no activity.
    pub activity_dropped: Option<u64>,
    pub activity_replay_available: Option<bool>,
    /// The durable session should be read again (`session.replay`).
    pub replay_required: Option<bool>,
}

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
    TurnStarted {
        turn_id: String,
        session_id: String,
        sequence: u64,
    },
    AssistantDelta {
        turn_id: String,
        sequence: u64,
        text: String,
    },
    Activity {
        turn_id: String,
        sequence: u64,
        activity: Activity,
    },
    TurnTerminal {
        turn_id: String,
        session_id: String,
        sequence: u64,
        settlement: Settlement,
    },
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
        Ok(match name {
            "turn.started" => {
                fields.literal("status", "started")?;
                Self::TurnStarted {
                    turn_id: id("turn_id")?,
                    session_id: id("session_id")?,
                    sequence: fields.count("sequence")?,
                }
            }
            "turn.assistant_delta" => Self::AssistantDelta {
                turn_id: id("turn_id")?,
                sequence: fields.count("sequence")?,
                text: fields.text("text")?.to_owned(),
            },
            "turn.activity" => {
                if !with.activity {
                    return Err(Violation::UnknownEvent);
                }
                Self::Activity {
                    turn_id: id("turn_id")?,
                    sequence: fields.count("sequence")?,
                    activity: Activity::read(
                        fields.object("activity")?,
                        with.id_bytes,
                        with.summary_bytes,
                    )?,
                }
            }
            "turn.terminal" => Self::TurnTerminal {
                turn_id: id("turn_id")?,
                session_id: id("session_id")?,
                sequence: fields.count("sequence")?,
                settlement: settlement(fields, with.activity)?,
            },
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

fn settlement(fields: Fields<'_>, activity: bool) -> Result<Settlement, Violation> {
    // With activity advertised the metadata is required, not optional (spec: "Required, optional, absent, and null").
    let owed = |name: &str| activity || fields.has(name);
    let flag = |name| {
        if owed(name) {
            fields.flag(name).map(Some)
        } else {
            Ok(None)
        }
    };
    Ok(Settlement {
        status: fields.word("status")?,
        assistant_text: fields.text("assistant_text")?.to_owned(),
        activity_dropped: if owed("activity_dropped") {
            Some(fields.count("activity_dropped")?)
        } else {
            None
        },
        activity_replay_available: match flag("activity_replay_available")? {
            // No accepted profile can replay activity, so the promise contradicts the advertisement.
            Some(true) => return Err(Violation::Contradiction("activity_replay_available")),
            other => other,
        },
        replay_required: flag("replay_required")?,
    })
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
