//! The seven events of a run (spec: "Turns, approvals and events"). Each names its session and its run; their order and
//! sums are not judged here.

use std::borrow::Cow;
use std::sync::Arc;

use host::{WireEvent as _, read, wire_event};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{id, nullable_id, run, session};
use crate::Word;
use crate::words::{ActivityKind, ActivityState, Outcome, Persistence};

/// UTF-8 bytes of text in one live event.
const LIVE_CHUNK_BYTES: usize = 4_000;
/// UTF-8 bytes of a summary.
const SUMMARY_BYTES: usize = 1_024;
/// The longest an approval can wait, in milliseconds.
const APPROVAL_MS: u64 = 60_000;

/// The events with their session and their run before their own members, and what is common to all.
macro_rules! run_events {
    ($(
        $(#[$doc:meta])* $event:ident, $name:literal, $delivery:ident {
            $($(#[$meta:meta])* pub $member:ident: $type:ty),+ $(,)?
        }
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            pub struct $event {
                #[serde(deserialize_with = "session")]
                pub session_id: Arc<str>,
                #[serde(deserialize_with = "run")]
                pub run_id: Arc<str>,
                $($(#[$meta])* pub $member: $type),+
            }
            wire_event!($event, $name, $delivery);
        )+

        /// An event of a run, whichever it is; written as its data alone.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum RunEvent { $($event($event)),+ }

        impl RunEvent {
            /// Reads the data of the event `name`; `None` for a name that is none of the seven.
            pub fn read<'de, D: Deserializer<'de>>(name: &str, data: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($event::NAME => Some($event::deserialize(data).map(Self::$event)),)+
                    _ => None,
                }
            }

            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$event(_) => $event::NAME),+ }
            }

            #[must_use]
            pub fn session_id(&self) -> &str {
                match self { $(Self::$event(event) => &event.session_id),+ }
            }

            #[must_use]
            pub fn run_id(&self) -> &str {
                match self { $(Self::$event(event) => &event.run_id),+ }
            }
        }
    };
}

run_events! {
    /// The input is on disk: from now on the session can be opened again after this child is gone.
    InputPersisted, "input.persisted", MustArrive {
        #[serde(deserialize_with = "id")]
        pub message_id: String,
        #[serde(deserialize_with = "read::yes")]
        pub durable: bool,
        #[serde(deserialize_with = "id")]
        pub revision: String,
    }

    /// A best-effort append to a segment of the answer.
    MessageDelta, "message.delta", MayDrop {
        #[serde(deserialize_with = "id")]
        pub message_id: Arc<str>,
        /// From 0 for each message; a missing number is text that was dropped.
        #[serde(deserialize_with = "read::count")]
        pub part: u64,
        /// At most 4,000 UTF-8 bytes.
        #[serde(deserialize_with = "read::text::<LIVE_CHUNK_BYTES, _, _>")]
        pub text: String,
    }

    /// A piece of the authoritative copy of a segment.
    MessageReconcile, "message.reconcile", MustArrive {
        #[serde(deserialize_with = "id")]
        pub message_id: Arc<str>,
        #[serde(deserialize_with = "read::count")]
        pub part: u64,
        /// At most 4,000 UTF-8 bytes.
        #[serde(deserialize_with = "read::text::<LIVE_CHUNK_BYTES, _, _>")]
        pub text: String,
        pub last_part: bool,
        pub partial: bool,
    }

    /// Something the run does beside writing.
    ActivityEvent, "activity", MustArrive {
        #[serde(deserialize_with = "activity_id")]
        pub activity_id: String,
        pub kind: ActivityKind,
        pub state: ActivityState,
        #[serde(deserialize_with = "read::text::<SUMMARY_BYTES, _, _>")]
        pub name: String,
        /// At most 1,024 UTF-8 bytes; never raw params or results.
        #[serde(deserialize_with = "read::text::<SUMMARY_BYTES, _, _>")]
        pub summary: String,
    }

    /// A tool call waits for an answer.
    ApprovalRequested, "approval.requested", MustArrive {
        #[serde(deserialize_with = "run")]
        pub approval_id: String,
        /// At most 1,024 UTF-8 bytes.
        #[serde(deserialize_with = "read::text::<SUMMARY_BYTES, _, _>")]
        pub summary: String,
        #[serde(deserialize_with = "expiry")]
        pub expires_in_ms: u64,
    }

    /// Something a person should know.
    Diagnostic, "diagnostic", MustArrive {
        /// A failure's word from this server; a client takes any.
        #[serde(deserialize_with = "id")]
        pub code: Cow<'static, str>,
        /// At most 1,024 UTF-8 bytes.
        #[serde(deserialize_with = "read::text::<SUMMARY_BYTES, _, _>")]
        pub summary: String,
    }

    /// How a run ended; nothing of it follows.
    RunFinished, "run.finished", MustArrive {
        pub outcome: Outcome,
        pub persistence: Persistence,
        /// For history after the run; null when the session must be opened again for it.
        #[serde(deserialize_with = "nullable_id")]
        pub revision: Option<String>,
        #[serde(deserialize_with = "read::nullable")]
        pub error_code: Option<Word>,
    }
}

/// The spec leaves the form of an activity's identity open.
fn activity_id<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    read::matching(source, |id| (1..=1024).contains(&id.len()))
}

fn expiry<'de, D: Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    let ms = u64::deserialize(source)?;
    let unexpected = serde::de::Unexpected::Unsigned(ms);
    let fits = (1..=APPROVAL_MS).contains(&ms);
    fits.then_some(ms)
        .ok_or_else(|| serde::de::Error::invalid_value(unexpected, &"at most a minute"))
}
