//! What the events of a run add up to.
//! Pure: no I/O and no clock. Text here is as received; make it `display::plain` before a terminal sees it.

use std::collections::{HashMap, HashSet};

use super::event::{ActivityEvent, ApprovalRequested, Event, RunFinished};
use super::words::{ActivityKind, ActivityState, Outcome, Persistence};
use crate::Violation;
use crate::violation::ensure;

/// UTF-8 bytes of assistant content in one run.
pub const CONTENT_BYTES: usize = 8 * 1024 * 1024;
/// Assistant segments in one run.
pub const SEGMENTS: usize = 512;
/// Activity identities, and approval identities, in one run.
pub const ACTIVITIES: usize = 4096;

/// One segment of the answer: what was streamed, and the authoritative copy once it is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    message_id: String,
    deltas: String,
    next_delta: u64,
    gap_at: Option<usize>,
    incoming: Option<(u64, String)>,
    settled: Option<(String, bool)>,
}

impl Segment {
    #[must_use]
    pub fn message_id(&self) -> &str {
        &self.message_id
    }

    /// The authoritative text where it is whole, else everything streamed so far.
    #[must_use]
    pub fn text(&self) -> &str {
        self.settled.as_ref().map_or(&self.deltas, |(text, _)| text)
    }

    /// The text up to the first missing delta: what can be shown without a hole in it.
    #[must_use]
    pub fn prefix(&self) -> &str {
        match (&self.settled, self.gap_at) {
            (Some((text, _)), _) => text,
            (None, Some(end)) => &self.deltas[..end],
            (None, None) => &self.deltas,
        }
    }

    /// Everything streamed so far, with its holes, also after the authoritative copy is here.
    #[must_use]
    pub fn streamed(&self) -> &str {
        &self.deltas
    }

    /// The authoritative copy is here.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// The reply was cut short, as the server says.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.settled.as_ref().is_some_and(|(_, partial)| *partial)
    }
}

/// One run, put together from its events. Memory: at most twice [`CONTENT_BYTES`] of text, and the
/// counted identities above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    session_id: String,
    run_id: String,
    persisted: Option<(String, String)>,
    segments: Vec<Segment>,
    activities: HashMap<String, (ActivityKind, ActivityState)>,
    /// Nobody has answered them yet. One expires on the server `expires_in_ms` after it was sent.
    approvals: Vec<ApprovalRequested>,
    approvals_seen: HashSet<String>,
    streamed: usize,
    authoritative: usize,
    ended: Option<RunFinished>,
}

impl Transcript {
    /// An admitted run that has said nothing yet.
    #[must_use]
    pub fn new(session_id: String, run_id: String) -> Self {
        Self {
            session_id,
            run_id,
            persisted: None,
            segments: Vec::new(),
            activities: HashMap::new(),
            approvals: Vec::new(),
            approvals_seen: HashSet::new(),
            streamed: 0,
            authoritative: 0,
            ended: None,
        }
    }

    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The input is on disk: the session's identity may be saved for a later child.
    #[must_use]
    pub fn is_persisted(&self) -> bool {
        self.persisted.is_some()
    }

    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    #[must_use]
    pub fn segment(&self, message_id: &str) -> Option<&Segment> {
        // The newest segments are the ones asked for, and there are at most 512.
        self.segments
            .iter()
            .rev()
            .find(|segment| segment.message_id == message_id)
    }

    /// The answer: every segment's best text, in order, separated by line feeds.
    #[must_use]
    pub fn text(&self) -> String {
        self.segments
            .iter()
            .map(Segment::text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Every segment has its authoritative copy.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.segments.iter().all(Segment::is_settled)
    }

    /// Activities that have started and not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.activities
            .values()
            .filter(|(_, state)| *state == ActivityState::Started)
            .count()
    }

    /// The approvals that still want an answer.
    #[must_use]
    pub fn approvals(&self) -> &[ApprovalRequested] {
        &self.approvals
    }

    /// Forgets an approval that was answered or has expired.
    pub fn answered(&mut self, approval_id: &str) {
        self.approvals
            .retain(|approval| approval.approval_id != approval_id);
    }

    #[must_use]
    pub fn ended(&self) -> Option<&RunFinished> {
        self.ended.as_ref()
    }

    /// Takes the next event of this run.
    ///
    /// # Errors
    /// The rule it breaks; the transcript is then no longer to be trusted.
    pub fn apply(&mut self, event: &Event) -> Result<(), Violation> {
        ensure(event.run_id() == self.run_id, Violation::UnknownRun)?;
        ensure(
            event.session_id() == self.session_id,
            Violation::IdentityMismatch("session_id"),
        )?;
        ensure(self.ended.is_none(), Violation::AfterTerminal)?;
        let free = matches!(
            event,
            Event::InputPersisted(_) | Event::Diagnostic(_) | Event::RunFinished(_)
        );
        // `input.persisted` precedes provider activity (spec: "Turns, approvals and events").
        if !free && self.persisted.is_none() {
            return Err(Violation::OutOfOrder);
        }
        match event {
            Event::InputPersisted(input) => {
                ensure(self.persisted.is_none(), Violation::OutOfOrder)?;
                self.persisted = Some((input.message_id.clone(), input.revision.clone()));
                Ok(())
            }
            Event::MessageDelta(delta) => self.delta(&delta.message_id, delta.part, &delta.text),
            Event::MessageReconcile(piece) => {
                let end = piece.last_part.then_some(piece.partial);
                self.reconcile(&piece.message_id, piece.part, &piece.text, end)
            }
            Event::ActivityEvent(activity) => self.activity(activity),
            Event::ApprovalRequested(approval) => self.approval(approval),
            Event::Diagnostic(_) => Ok(()),
            Event::RunFinished(finished) => self.finish(finished.clone()),
        }
    }

    fn approval(&mut self, approval: &ApprovalRequested) -> Result<(), Violation> {
        ensure(
            self.approvals_seen.len() != ACTIVITIES,
            Violation::ContentLimit,
        )?;
        ensure(
            self.approvals_seen.insert(approval.approval_id.clone()),
            Violation::OutOfOrder,
        )?;
        self.approvals.push(approval.clone());
        Ok(())
    }

    fn segment_mut(&mut self, message_id: &str) -> Result<&mut Segment, Violation> {
        let at = match self
            .segments
            .iter()
            .rposition(|segment| segment.message_id == message_id)
        {
            Some(at) => at,
            None if self.segments.len() == SEGMENTS => return Err(Violation::ContentLimit),
            None => {
                self.segments.push(Segment {
                    message_id: message_id.to_owned(),
                    ..Segment::default()
                });
                self.segments.len() - 1
            }
        };
        Ok(&mut self.segments[at])
    }

    fn delta(&mut self, message_id: &str, part: u64, text: &str) -> Result<(), Violation> {
        self.streamed += text.len();
        ensure(self.streamed <= CONTENT_BYTES, Violation::ContentLimit)?;
        let segment = self.segment_mut(message_id)?;
        ensure(part >= segment.next_delta, Violation::Sequence)?;
        if part > segment.next_delta && segment.gap_at.is_none() {
            segment.gap_at = Some(segment.deltas.len());
        }
        segment.next_delta = part + 1;
        segment.deltas.push_str(text);
        Ok(())
    }

    /// `end` is the `partial` flag of the last part.
    fn reconcile(
        &mut self,
        message_id: &str,
        part: u64,
        text: &str,
        end: Option<bool>,
    ) -> Result<(), Violation> {
        let before = self.authoritative;
        let segment = self.segment_mut(message_id)?;
        let (next, mut whole) = segment.incoming.take().unwrap_or_default();
        // These never drop, so a missing part is not a gap in a display but a broken promise.
        ensure(part == next, Violation::ReconcileGap)?;
        whole.push_str(text);
        let mut total = before + text.len();
        match end {
            None => segment.incoming = Some((part + 1, whole)),
            Some(partial) => {
                let replaced = segment.settled.replace((whole, partial));
                total -= replaced.map_or(0, |(text, _)| text.len());
            }
        }
        self.authoritative = total;
        if total > CONTENT_BYTES {
            Err(Violation::ContentLimit)
        } else {
            Ok(())
        }
    }

    fn activity(&mut self, activity: &ActivityEvent) -> Result<(), Violation> {
        let (id, kind, state) = (&activity.activity_id, activity.kind, activity.state);
        if let Some((known, last)) = self.activities.get_mut(id) {
            if *known != kind || *last != ActivityState::Started {
                return Err(Violation::Activity);
            }
            *last = state;
            return Ok(());
        }
        ensure(self.activities.len() != ACTIVITIES, Violation::ContentLimit)?;
        self.activities.insert(id.clone(), (kind, state));
        Ok(())
    }

    fn finish(&mut self, ended: RunFinished) -> Result<(), Violation> {
        // Required-input append failure is failed/not_started, and only that is (spec: same section).
        if (ended.persistence == Persistence::NotStarted) == self.persisted.is_some() {
            return Err(Violation::Contradiction("persistence"));
        }
        if ended.outcome == Outcome::Completed {
            ensure(
                self.persisted.is_some(),
                Violation::Contradiction("outcome"),
            )?;
            if !self.is_settled()
                || self
                    .segments
                    .iter()
                    .any(|segment| segment.incoming.is_some())
            {
                return Err(Violation::Unreconciled);
            }
        }
        self.approvals.clear();
        self.ended = Some(ended);
        Ok(())
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
