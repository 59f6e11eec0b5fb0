//! Attaching a session: create or open it, verify that it belongs here, restore its selection.
//! How many there may be is the backend's rule; reading and writing files is the store's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provider::{Message, ThinkingLevel, Written};
use store::sessions::{
    Body, Flush, Position, Record, SessionId, SessionLease, SessionWriter, recorded_cwd, verify_cwd,
};

use crate::ceilings::Ceilings;
use crate::compaction::Length;
use crate::conversation::{Replay, Stored};
use crate::error::{EngineError, ErrorKind};
use crate::heap;
use crate::history::Snapshot;
use crate::images;
use crate::startup::{Choice, Selected, Services, Workspace};
use crate::writer::SharedWriter;

/// Something a client should know about an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The session names no working directory to verify.
    CwdUnverified,
    /// The session's saved provider or model is not available; the startup selection stays.
    SavedSelectionUnavailable,
    /// The saved model has no such thinking level as was saved; the nearest one is asked for.
    SavedThinkingUnavailable,
}

/// An attachment as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub session_id: String,
    /// Whether the session has a file, so that another process could open it.
    pub durable: bool,
    /// Names the history as it stands now.
    pub revision: String,
    pub notices: Vec<Notice>,
}

/// One attached session: its lease and what is known of its content.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Keeps other writers out.
    pub(crate) lease: Arc<dyn SessionLease>,
    /// `None` before the first run needs it, and after the file turned out to be unusable.
    pub(crate) conversation: Option<Conversation>,
    pub(crate) lifetime: Lifetime,
}

/// How long a session stays attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Beyond its runs.
    UntilDetached,
    /// As long as the run that it was attached for.
    WithItsRun,
    /// It was let go while a run worked in it, and admits nothing any more.
    Ending,
}

/// A conversation as a provider replays it. A run takes it and gives it back.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) messages: Arc<Vec<Message>>,
    /// The numbers of the records that they began with; see [`Stored`].
    pub(crate) starts: Vec<u64>,
    /// The record of the summary that they begin with.
    pub(crate) checkpoint: Option<Body>,
    /// How long they are for a model.
    pub(crate) length: Length,
    /// What a provider's wire wrote of them.
    pub(crate) written: Written,
    /// What the file says of the selection.
    pub(crate) recorded: Option<Choice>,
    /// The most that it may delegate.
    pub(crate) ceilings: Ceilings,
}

impl Transcript {
    /// One that is empty.
    pub(crate) fn within(ceilings: Ceilings) -> Self {
        let mut empty = Self::default();
        empty.ceilings = ceilings;
        empty
    }
}

impl Transcript {
    /// Keeps the images within their bounds. No request shares the messages any more.
    pub(crate) fn bound_images(&mut self) {
        if images::exceed(&self.messages) {
            images::drop_old(Arc::make_mut(&mut self.messages).as_mut_slice());
            self.length = self.length.shortened(&self.messages);
            // What was written stands for other messages.
            self.written = Written::default();
        }
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        if let Some(messages) = Arc::into_inner(std::mem::take(&mut self.messages)) {
            heap::free(messages);
        }
    }
}

/// The content of an attached session.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) writer: SharedWriter,
    /// Where the session belongs.
    cwd: PathBuf,
    /// What answers; `None` where each turn chooses anew.
    pub(crate) selected: Option<Arc<Selected>>,
    pub(crate) transcript: Transcript,
    pub(crate) revision: String,
    /// Someone else changed the file. Stays set: only a new attachment clears it.
    pub(crate) stale: bool,
    /// The projection of `revision`, once somebody asked for it.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// The furthest page that a cursor was given out for.
    pub(crate) issued: usize,
}

/// A conversation as a run left it, its lease aside.
#[derive(Debug)]
pub(crate) struct Known {
    /// Where its session was verified to belong.
    pub(crate) cwd: PathBuf,
    pub(crate) position: Position,
    pub(crate) transcript: Transcript,
}

impl Attachment {
    /// A session whose content is at hand.
    pub(crate) fn of(conversation: Conversation, lifetime: Lifetime) -> Self {
        Self {
            lease: conversation.writer.with(|writer| writer.lease()),
            conversation: Some(conversation),
            lifetime,
        }
    }

    /// A session of which only the lease is held.
    pub(crate) fn leased(lease: Arc<dyn SessionLease>, lifetime: Lifetime) -> Self {
        Self {
            lease,
            conversation: None,
            lifetime,
        }
    }

    /// Brings in the content of the session's file, unless what is at hand is that. Blocks.
    pub(crate) fn read(&mut self, cwd: &Path, known: Option<Known>) -> Result<(), EngineError> {
        let current = self
            .conversation
            .as_ref()
            .is_some_and(|known| !known.stale && known.writer.with(|writer| writer.is_unchanged()));
        if !current {
            // What is void is let go of before the other is there.
            self.conversation = None;
            self.conversation = Some(load(cwd, &self.lease, known)?);
        }
        Ok(())
    }
}

impl Conversation {
    fn new(
        writer: Box<dyn SessionWriter>,
        cwd: &Path,
        selected: Option<Arc<Selected>>,
        transcript: Transcript,
    ) -> Self {
        Self {
            writer: SharedWriter::new(writer),
            cwd: cwd.to_owned(),
            selected,
            transcript,
            revision: crate::new_id(),
            stale: false,
            snapshot: None,
            issued: 0,
        }
    }

    fn attached(&self, notices: Vec<Notice>) -> Attached {
        let (session_id, durable) = self
            .writer
            .with(|writer| (writer.lease().id().to_string(), writer.is_durable()));
        Attached {
            session_id,
            durable,
            revision: self.revision.clone(),
            notices,
        }
    }

    /// Takes out what the next run of the session needs to read nothing, if the file is what it should be.
    pub(crate) fn known(&mut self) -> Option<Known> {
        let position = self.writer.with(|writer| writer.position());
        Some(Known {
            position: position.filter(|_| !self.stale)?,
            cwd: std::mem::take(&mut self.cwd),
            transcript: std::mem::take(&mut self.transcript),
        })
    }

    /// A new revision: cursors and pages of the old one are void.
    pub(crate) fn renew(&mut self) -> String {
        self.revision = crate::new_id();
        self.snapshot = None;
        self.issued = 0;
        self.revision.clone()
    }
}

/// A session as it was read under its lease.
struct Content {
    writer: Box<dyn SessionWriter>,
    transcript: Transcript,
    /// Its records name the working directory, and no other.
    cwd_verified: bool,
}

impl Content {
    fn read(lease: &Arc<dyn SessionLease>, cwd: &Path) -> Result<Self, EngineError> {
        // The records that tell of working directories and selections.
        let mut about = Vec::new();
        let mut ceilings = Ceilings::default();
        let mut replay = Replay::default();
        let mut taken = Ok(());
        let writer = Arc::clone(lease).load(&mut |record| {
            if let Body::Session { .. } | Body::Selection { .. } = record.body {
                about.push(record.clone());
            }
            if let Body::Delegation { profile, tools } = &record.body {
                ceilings.restore(profile.clone(), tools.clone());
            }
            if taken.is_ok() {
                taken = replay.take(record);
            }
        })?;
        taken?;
        let Stored {
            messages,
            starts,
            checkpoint,
        } = replay.finish();
        Ok(Self {
            writer,
            cwd_verified: verify_cwd(&about, cwd)?,
            transcript: Transcript {
                length: Length::of(&messages),
                messages: Arc::new(messages),
                starts,
                checkpoint,
                written: Written::default(),
                recorded: last_selection(&about),
                ceilings,
            },
        })
    }
}

/// The selection that a session was last used with.
fn last_selection(records: &[Record]) -> Option<Choice> {
    records.iter().rev().find_map(|record| match &record.body {
        Body::Session {
            provider: Some(provider),
            model: Some(model),
            ..
        } => Some(Choice::of(provider, model, ThinkingLevel::Default)),
        Body::Selection {
            provider,
            model,
            thinking,
        } => Some(Choice::of(provider, model, *thinking)),
        _ => None,
    })
}

fn selected(workspace: &Workspace) -> Result<&Arc<Selected>, ErrorKind> {
    workspace.selected.as_ref().ok_or(ErrorKind::NotInitialized)
}

/// Allocates a session that has no file yet. Blocks.
pub(crate) fn create(workspace: &Workspace) -> Result<(Conversation, Attached), EngineError> {
    let selected = Some(Arc::clone(selected(workspace)?));
    let writer = workspace.services.sessions.create()?;
    let conversation = Conversation::new(writer, &workspace.cwd, selected, Transcript::default());
    let attached = conversation.attached(Vec::new());
    Ok((conversation, attached))
}

/// Opens the session `id`. `held` is the current attachment's writer if it is of the same
/// session: its lease is shared then, and it stays as it is when opening fails. Blocks.
pub(crate) fn open(
    workspace: &Workspace,
    id: &SessionId,
    held: Option<&SharedWriter>,
) -> Result<(Conversation, Attached), EngineError> {
    let startup = selected(workspace)?;
    let lease = match held {
        Some(held) => held.with(|writer| writer.lease()),
        None => workspace.services.sessions.attach(id)?,
    };
    let content = Content::read(&lease, &workspace.cwd)?;
    let mut notices = Vec::new();
    if !content.cwd_verified {
        notices.push(Notice::CwdUnverified);
    }
    let saved = content.transcript.recorded.as_ref();
    let selected = Some(restore(workspace, startup, saved, &mut notices));
    let conversation =
        Conversation::new(content.writer, &workspace.cwd, selected, content.transcript);
    let attached = conversation.attached(notices);
    Ok((conversation, attached))
}

/// Takes the lease of an existing session whose beginning names no other directory. The rest of its history is not
/// read. Blocks.
pub(crate) fn lease(
    services: &Services,
    directory: &Path,
    id: &SessionId,
) -> Result<Arc<dyn SessionLease>, EngineError> {
    let lease = services.sessions.attach(id)?;
    verify_cwd(&lease.head()?, directory)?;
    Ok(lease)
}

/// Attaches a new session whose first record is on the disk. Blocks.
pub(crate) fn create_durable(
    services: &Services,
    directory: &Path,
    lifetime: Lifetime,
) -> Result<Attachment, EngineError> {
    let mut writer = services.sessions.create()?;
    let begin = Body::Session {
        created_at: (services.clock)(),
        cwd: recorded_cwd(directory),
        provider: None,
        model: None,
    };
    writer
        .append(None, vec![begin], Flush::Durable)
        .map_err(EngineError::from)?;
    let conversation = Conversation::new(writer, directory, None, Transcript::default());
    Ok(Attachment::of(conversation, lifetime))
}

/// The content of a session whose lease is held: what is known of it where that holds still, else it is read. Blocks.
fn load(
    cwd: &Path,
    lease: &Arc<dyn SessionLease>,
    known: Option<Known>,
) -> Result<Conversation, EngineError> {
    if let Some(known) = known.filter(|known| known.cwd == cwd)
        && let Some(writer) = Arc::clone(lease).resume(&known.position)?
    {
        return Ok(Conversation::new(writer, cwd, None, known.transcript));
    }
    let content = Content::read(lease, cwd)?;
    Ok(Conversation::new(
        content.writer,
        cwd,
        None,
        content.transcript,
    ))
}

/// The selection that the session was saved with, as far as it is available; the thinking level also
/// where the model is not.
fn restore(
    workspace: &Workspace,
    startup: &Arc<Selected>,
    saved: Option<&Choice>,
    notices: &mut Vec<Notice>,
) -> Arc<Selected> {
    let saved = saved.filter(|_| !workspace.services.environment.insists);
    let Some(saved) = saved else {
        return Arc::clone(startup);
    };
    let restored = if *saved == startup.choice {
        Arc::clone(startup)
    } else if let Some(selected) = workspace.select_saved(saved) {
        Arc::new(selected)
    } else {
        notices.push(Notice::SavedSelectionUnavailable);
        return Arc::new(startup.with_thinking(saved.thinking));
    };
    if !restored.has_level() {
        notices.push(Notice::SavedThinkingUnavailable);
    }
    restored
}
