//! The six events of application-service, each payload read strictly.
//! Which turn or login they may belong to, and in what order, is `tracker`'s.

use serde_json::{Map, Value};

pub use application_service::messages::{
    AssistantDelta, LoginProgress, LoginTerminal, Transient, TurnActivity, TurnStarted,
    TurnTerminal,
};
use host::WireEvent as _;

use super::activity;
use super::limits::ids;
use super::words::LoginState;
use crate::Violation;
use crate::fields::Fields;
use crate::violation::ensure;

/// Every event this client can consume. A server that advertises another one is refused.
pub const EVENTS: [&str; 6] = [
    TurnStarted::NAME,
    AssistantDelta::NAME,
    TurnActivity::NAME,
    TurnTerminal::NAME,
    LoginProgress::NAME,
    LoginTerminal::NAME,
];

/// One event, before it is held against the requests it claims to belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    TurnStarted(TurnStarted),
    AssistantDelta(AssistantDelta),
    Activity(TurnActivity),
    TurnTerminal(TurnTerminal),
    LoginProgress(LoginProgress),
    LoginTerminal(LoginTerminal),
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
        let id = |name, id: &str| ids(with.id_bytes, &[(name, id)]);
        Ok(match name {
            TurnStarted::NAME => {
                let event: TurnStarted = fields.whole("payload")?;
                id("turn_id", &event.turn_id)?;
                id("session_id", &event.session_id)?;
                Self::TurnStarted(event)
            }
            AssistantDelta::NAME => {
                let event: AssistantDelta = fields.whole("payload")?;
                id("turn_id", &event.turn_id)?;
                Self::AssistantDelta(event)
            }
            TurnActivity::NAME => {
                ensure(with.activity, Violation::UnknownEvent)?;
                let activity = fields.object("activity")?;
                let fits = |id: &str| (1..=with.id_bytes).contains(&id.len());
                Self::Activity(TurnActivity {
                    turn_id: fields.matching("turn_id", fits)?.into(),
                    sequence: fields.count("sequence")?,
                    activity: activity::read(activity, with.id_bytes, with.summary_bytes)?,
                })
            }
            TurnTerminal::NAME => {
                let event: TurnTerminal = fields.whole("payload")?;
                id("turn_id", &event.turn_id)?;
                id("session_id", &event.session_id)?;
                settled(fields, &event, with.activity)?;
                Self::TurnTerminal(event)
            }
            LoginProgress::NAME => {
                let event: LoginProgress = fields.whole("payload")?;
                id("login_id", &event.login_id)?;
                addressed(&event)?;
                Self::LoginProgress(event)
            }
            LoginTerminal::NAME => {
                let event: LoginTerminal = fields.whole("payload")?;
                id("login_id", &event.login_id)?;
                Self::LoginTerminal(event)
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

/// Where a person logs in stands in the first progress and nowhere else (spec: "Codex login").
fn addressed(event: &LoginProgress) -> Result<(), Violation> {
    match (&event.url, event.state == LoginState::AuthorizationUrl) {
        (Some(_), false) => Err(Violation::Contradiction("url")),
        (None, true) => Err(Violation::Missing("url")),
        (None, false) => Ok(()),
        (Some(_), true) if event.open_browser.is_none() => Err(Violation::Missing("open_browser")),
        (Some(_), true) if event.open_browser == Some(false) => {
            Err(Violation::OutOfBounds("open_browser"))
        }
        (Some(url), true) => {
            let schemes = ["https://", "http://"];
            let is_web = schemes
                .iter()
                .any(|scheme| url.reveal().starts_with(scheme));
            is_web.then_some(()).ok_or(Violation::OutOfBounds("url"))
        }
    }
}
