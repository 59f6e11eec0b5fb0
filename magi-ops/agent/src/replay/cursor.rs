//! Positions in a replay: each names the session and everything projected before it, so that it means the same in a later process.
//! No state: a position is valid if the projection at hand has it.

use sha2::{Digest, Sha256};
use store::sessions::SessionId;

use super::{ReplayBody, Role, TurnEnd};

/// Bytes of a digest that a cursor shows: enough that no two prefixes meet by chance.
const SHOWN_BYTES: usize = 16;
/// Changes whenever the same text must no longer mean the same position.
const SEED: &[u8] = b"replay.1";

/// The digests of all prefixes, the empty one first.
#[derive(Debug)]
pub(super) struct Chain {
    last: [u8; 32],
    shown: Vec<[u8; SHOWN_BYTES]>,
}

impl Chain {
    /// The position before everything, in a projection of the session's part `part` that begins with the record
    /// number `first`, or with the summary of that record: where it moved on, the same words are other messages.
    pub(super) fn start(id: &SessionId, part: u32, first: u64, is_summary: bool) -> Self {
        let mut digest = Sha256::new()
            .chain_update(SEED)
            .chain_update(first.to_be_bytes())
            .chain_update(id.as_str());
        if part > 1 || is_summary {
            // No sign of an id stands before the first.
            digest.update([0, u8::from(is_summary)]);
            digest.update(part.to_be_bytes());
        }
        let mut chain = Self {
            last: [0; 32],
            shown: Vec::new(),
        };
        chain.note(digest);
        chain
    }

    /// The position after `item`.
    pub(super) fn push(&mut self, item: &ReplayBody) {
        let digest = Sha256::new().chain_update(self.last);
        // Fixed lengths before the only text, so that no two items are one row of bytes.
        self.note(match item {
            ReplayBody::Message {
                role,
                text,
                part,
                last_part,
            } => {
                let role = match role {
                    Role::User => 0,
                    Role::Assistant => 1,
                };
                digest
                    .chain_update([role, u8::from(*last_part)])
                    .chain_update(part.to_be_bytes())
                    .chain_update(text.as_str())
            }
            ReplayBody::Summary {
                text,
                part,
                last_part,
            } => digest
                .chain_update([6, u8::from(*last_part)])
                .chain_update(part.to_be_bytes())
                .chain_update(text.as_str()),
            ReplayBody::Terminal(end) => digest.chain_update([match end {
                TurnEnd::Completed => 2,
                TurnEnd::Cancelled => 3,
                TurnEnd::Failed => 4,
                TurnEnd::CompactionRequired => 5,
            }]),
        });
    }

    fn note(&mut self, digest: Sha256) {
        self.last = digest.finalize().into();
        let mut shown = [0; SHOWN_BYTES];
        shown.copy_from_slice(&self.last[..SHOWN_BYTES]);
        self.shown.push(shown);
    }

    /// The cursor of the position after `count` items; the last one if there are fewer.
    pub(super) fn cursor(&self, count: usize) -> String {
        let count = count.min(self.shown.len() - 1);
        let digest = u128::from_be_bytes(self.shown[count]);
        format!("{count}-{digest:032x}")
    }

    /// After how many items the position is that `cursor` names.
    pub(super) fn position(&self, cursor: &str) -> Option<usize> {
        let (count, _) = cursor.split_once('-')?;
        let count = count
            .parse()
            .ok()
            .filter(|&count| count < self.shown.len())?;
        // One spelling for each: `+1` and `01` were never given out.
        (self.cursor(count) == cursor).then_some(count)
    }
}
