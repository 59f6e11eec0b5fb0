//! Another part of a session that is nearly full: it begins with a checkpoint and what stays of the conversation.

use std::io;

use store::sessions::{AppendError, Body, Flush, Moved, Record, recorded_cwd};
use tracing::info;

use crate::error::EngineError;
use crate::run::Worker;
use crate::startup::Selected;

/// Tokens of a conversation that is taken along into another part of its session as it is. Its records there are far
/// less than what a part may hold.
const CARRIED_TOKENS: u64 = 4 * 1024 * 1024;
/// Records of the same.
const CARRIED_RECORDS: u64 = 25_000;

impl Worker {
    /// Goes on in another part of the session with the conversation as it is, if that begins with a summary and is short.
    pub(super) async fn carry(&mut self, selected: &Selected) -> bool {
        let Some(checkpoint) = self.transcript.checkpoint.clone() else {
            return false;
        };
        let Body::Checkpoint { cutoff, input, .. } = &checkpoint else {
            return false;
        };
        let (first, input) = (cutoff + 1, *input);
        let records = self.persist.next_number().saturating_sub(first);
        if self.transcript.length.counted() > CARRIED_TOKENS || records > CARRIED_RECORDS {
            return false;
        }
        if !self.persist.settle(Flush::Written).await {
            return false;
        }
        match self.begin_part(selected, checkpoint, first, input).await {
            Ok(kept) => {
                renumber(&mut self.transcript.starts, &kept);
                true
            }
            Err(error) => {
                EngineError::from(error).log("persistence_failed");
                false
            }
        }
    }

    /// Begins a part of the session with a checkpoint and the records from `first` on, and that of the input `input`.
    /// Returns the numbers that these had and have.
    pub(super) async fn begin_part(
        &mut self,
        selected: &Selected,
        mut checkpoint: Body,
        first: u64,
        input: Option<u64>,
    ) -> Result<Moved, AppendError> {
        let choice = &selected.choice;
        if let Body::Checkpoint { cutoff, input, .. } = &mut checkpoint {
            (*cutoff, *input) = (0, None);
        }
        let head = vec![
            Body::Session {
                created_at: (self.workspace.services.clock)(),
                cwd: recorded_cwd(&self.workspace.cwd),
                provider: None,
                model: None,
            },
            Body::Selection {
                provider: choice.provider.clone(),
                model: choice.model.clone(),
                thinking: choice.thinking,
            },
            checkpoint.clone(),
        ];
        let keeps = move |record: &Record| match record.body {
            Body::Session { .. } | Body::Continuation { .. } | Body::Checkpoint { .. } => false,
            // What was given to subagents bounds what is given later.
            Body::Delegation { .. } => true,
            _ => record.n >= first || Some(record.n) == input,
        };
        let (writer, run) = (self.writer.clone(), self.active.run_id.clone());
        // A full part takes a while to be read.
        let cancel = self.active.cancel.clone();
        let begin = move || {
            writer.with(|writer| -> Result<_, AppendError> {
                let kept =
                    writer.begin_part(Some(&run), head, &keeps, &|| cancel.is_cancelled())?;
                Ok((kept, writer.extent()))
            })
        };
        let begun = self.blocking.run(begin).await.map_err(io::Error::other)?;
        let (kept, extent) = begun?;
        info!(
            records = extent.records,
            "the session goes on in another part"
        );
        self.persist.begin(extent);
        self.transcript.checkpoint = Some(checkpoint);
        self.transcript.recorded = Some(choice.clone());
        Ok(kept)
    }
}

/// The numbers of records that are in another part by now: each that of the first record kept at or behind it.
pub(super) fn renumber(starts: &mut [u64], kept: &[(u64, u64)]) {
    for start in starts.iter_mut().filter(|start| **start > 0) {
        let at = kept.partition_point(|(old, _)| old < start);
        *start = kept.get(at).map_or(u64::MAX, |(_, new)| *new);
    }
}
