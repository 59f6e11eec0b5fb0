//! Conversations of sessions that were attached for one run, after it: while nobody else writes there, the next run in
//! one of them reads nothing. No lease is held for them, and what they are worth is the session's lease to say.

use store::sessions::SessionId;

use crate::attach::Known;
use crate::heap;

const MAX_SESSIONS: usize = 4;
/// Most bytes of text and images of all of them.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The last of them, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Recent(Vec<(SessionId, usize, Known)>);

impl Recent {
    /// Takes one in and gives back those that have no place any more.
    pub(crate) fn keep(&mut self, id: SessionId, known: Known) -> Vec<Known> {
        let bytes = known
            .transcript
            .messages
            .iter()
            .map(heap::message_bytes)
            .sum();
        self.0.push((id, bytes, known));
        let mut room = MAX_BYTES;
        let kept = self
            .0
            .iter()
            .rev()
            .take(MAX_SESSIONS)
            .take_while(|(_, bytes, _)| {
                let fits = *bytes <= room;
                room = room.saturating_sub(*bytes);
                fits
            });
        let out = self.0.len() - kept.count();
        self.0.drain(..out).map(|(.., known)| known).collect()
    }

    /// Gives out the one of a session, which is about to change.
    pub(crate) fn take(&mut self, id: &SessionId) -> Option<Known> {
        let at = self.0.iter().position(|(of, ..)| of == id)?;
        Some(self.0.remove(at).2)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use provider::Message;
    use store::sessions::Position;

    use super::*;
    use crate::attach::Transcript;

    #[test]
    fn the_last_ones_are_kept_within_the_bounds() {
        let known = |bytes: usize| {
            let mut transcript = Transcript::default();
            transcript.messages = Arc::new(vec![Message::User {
                text: "x".repeat(bytes),
            }]);
            Known {
                cwd: PathBuf::new(),
                position: Position(Box::new(())),
                transcript,
            }
        };
        let id = |n: usize| format!("s{n}").parse::<SessionId>();
        let mut recent = Recent::default();
        let mut keep = |n: usize, bytes: usize| {
            let out = id(n).map(|id| recent.keep(id, known(bytes)).len());
            (out.unwrap_or_default(), recent.0.len())
        };
        let all: Vec<_> = (0..6).map(|n| keep(n, 1)).collect();
        assert_eq!(all, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 4), (1, 4)]);
        assert_eq!(keep(6, MAX_BYTES), (4, 1));
        assert_eq!(keep(7, 1), (1, 1));
        assert_eq!(keep(8, MAX_BYTES + 1), (2, 0));
    }
}
