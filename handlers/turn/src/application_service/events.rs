//! The four turn events of application-service and their projection from the engine's (spec: application-service,
//! "Turn completion and ordering"). What an activity says is `activity`'s matter; bounds are the engine's.

use std::sync::Arc;

use agent::{Activity, MayDrop, MustArrive, Outcome, Persistence, RunEvent, RunEvents};
use application_service::messages::{AssistantDelta, TurnActivity, TurnStarted, TurnTerminal};
use application_service::words::{StartStatus, TurnStatus};
use host::{EventSink, Undelivered};

use super::activity::shown;

host::event! {
    /// The turn begins: its prompt is on the disk, or is known not to get there; follows the answer to its `turn.start`.
    dialect: application_service::ApplicationService, position: 10, data: TurnStarted
}

host::event! {
    /// More of the assistant's text, in order and without gaps.
    dialect: application_service::ApplicationService, position: 20, data: AssistantDelta
}

host::event! {
    /// Something the turn does beside writing. Left out, and counted, when the output is behind.
    dialect: application_service::ApplicationService, position: 30, data: TurnActivity
}

host::event! {
    /// The turn is over and cleaned up; nothing of it follows.
    dialect: application_service::ApplicationService, position: 40, data: TurnTerminal
}

/// Who the events are about.
pub(super) struct Turn {
    turn_id: Arc<str>,
    session_id: Arc<str>,
    /// The conversation was made shorter, or that was tried.
    compacted: bool,
}

fn is_compaction(event: &RunEvent) -> bool {
    let RunEvent::MayDrop { event, .. } = event else {
        return false;
    };
    matches!(event, MayDrop::Activity(Activity::Compaction { .. }))
}

impl Turn {
    pub(super) fn new(turn_id: &str, session_id: &str) -> Self {
        Self {
            turn_id: turn_id.into(),
            session_id: session_id.into(),
            compacted: false,
        }
    }

    /// Sends a turn's events until its terminal, or until nobody listens; the engine notices the latter.
    /// Gives the events back: with them end the turn's reservations, which outlive the attempt to
    /// write the terminal (spec: "Attachments, close, and conflicts").
    pub(super) async fn forward(mut self, mut events: RunEvents, sink: EventSink) -> RunEvents {
        let started = TurnStarted {
            turn_id: Arc::clone(&self.turn_id),
            session_id: Arc::clone(&self.session_id),
            status: StartStatus::Started,
            sequence: 0,
        };
        // The first event comes when the prompt is on the disk, or is known not to be: a turn that was told to have
        // started is not lost with this process.
        let mut next = events.recv().await;
        if sink.send(&started).await.is_err() {
            return events;
        }
        while let Some(event) = next {
            self.compacted |= is_compaction(&event);
            let last = matches!(event, RunEvent::MustArrive(MustArrive::Finished { .. }));
            // Asking for more behind the last event would end the reservations.
            if self.send(&sink, event).await.is_err() || last {
                break;
            }
            next = events.recv().await;
        }
        events
    }

    async fn send(&self, sink: &EventSink, event: RunEvent) -> Result<(), Undelivered> {
        match event {
            RunEvent::MayDrop {
                sequence,
                event: MayDrop::Delta { text, .. },
            } => {
                let text = text.into_string();
                sink.send(&AssistantDelta {
                    turn_id: Arc::clone(&self.turn_id),
                    sequence,
                    text,
                })
                .await
            }
            RunEvent::MayDrop {
                sequence,
                event: MayDrop::Activity(activity),
            } => {
                sink.send(&TurnActivity {
                    turn_id: Arc::clone(&self.turn_id),
                    sequence,
                    activity: shown(activity),
                })
                .await
            }
            RunEvent::MustArrive(MustArrive::Finished {
                sequence,
                outcome,
                persistence,
                text,
                activity_dropped,
                ..
            }) => {
                let terminal = self.terminal(
                    sequence,
                    outcome,
                    persistence,
                    activity_dropped,
                    text.into_string(),
                );
                sink.send(&terminal).await
            }
            // No words of this dialect: durable state is `session.replay`'s matter, diagnostics come as
            // activities beside, and nobody can be asked.
            RunEvent::MustArrive(
                MustArrive::InputPersisted { .. }
                | MustArrive::Reconcile { .. }
                | MustArrive::ApprovalRequested { .. }
                | MustArrive::Diagnostic { .. },
            ) => Ok(()),
        }
    }

    fn terminal(
        &self,
        sequence: u64,
        outcome: Outcome,
        persistence: Persistence,
        activity_dropped: u64,
        assistant_text: String,
    ) -> TurnTerminal {
        let recorded = persistence == Persistence::Durable;
        let unstored = persistence == Persistence::NotStarted;
        TurnTerminal {
            turn_id: Arc::clone(&self.turn_id),
            session_id: Arc::clone(&self.session_id),
            status: match outcome {
                Outcome::Completed if recorded => TurnStatus::Completed,
                // Without its input no turn is to be recorded.
                Outcome::Cancelled if recorded || unstored => TurnStatus::Cancelled,
                Outcome::Completed | Outcome::Cancelled | Outcome::Failed => TurnStatus::Failed,
            },
            assistant_text,
            sequence,
            activity_dropped: Some(activity_dropped),
            activity_replay_available: Some(false),
            replay_required: Some(activity_dropped > 0 || !recorded || self.compacted),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn terminal(outcome: Outcome, persistence: Persistence, dropped: u64) -> serde_json::Value {
        let turn = Turn::new("t", "s");
        let terminal = turn.terminal(4, outcome, persistence, dropped, "The answer.".to_owned());
        serde_json::to_value(terminal).unwrap()
    }

    #[test]
    fn the_terminal_is_the_documented_one() {
        assert_eq!(
            terminal(Outcome::Completed, Persistence::Durable, 1),
            json!({
                "turn_id": "t", "session_id": "s", "status": "completed", "assistant_text": "The answer.",
                "sequence": 4, "activity_dropped": 1, "activity_replay_available": false, "replay_required": true,
            })
        );
    }

    #[test]
    fn only_a_recorded_outcome_is_told_as_such() {
        use Outcome::{Cancelled, Completed, Failed};
        for (outcome, recorded) in [
            (Completed, "completed"),
            (Cancelled, "cancelled"),
            (Failed, "failed"),
        ] {
            let told = terminal(outcome, Persistence::Durable, 0);
            assert_eq!(
                (&told["status"], &told["replay_required"]),
                (&json!(recorded), &json!(false))
            );
            for persistence in [Persistence::Degraded, Persistence::NotStarted] {
                let told = terminal(outcome, persistence, 0);
                // One that was cancelled before its input was stored has nothing to be recorded.
                let nothing = (outcome, persistence) == (Cancelled, Persistence::NotStarted);
                let status = if nothing { "cancelled" } else { "failed" };
                assert_eq!(
                    (&told["status"], &told["replay_required"]),
                    (&json!(status), &json!(true))
                );
            }
        }
    }
}
