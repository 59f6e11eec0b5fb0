//! What a fault test needs of a client, in the words of no dialect: each dialect has a driver of its own.
//! Checks what must hold for the history of any session; what a test expects of it is the test's.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::support::Place;

/// One thing that a client learned of its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The turn was admitted; that says nothing about the disk.
    Admitted,
    /// The input is on the disk.
    InputStored,
    /// Assistant text, to be shown at once.
    Text {
        message: String,
        text: String,
    },
    /// A part of a message's authoritative text.
    Whole {
        message: String,
        text: String,
    },
    ToolStarted,
    ToolEnded,
    /// The turn is over.
    Ended {
        outcome: String,
        durable: bool,
    },
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Assistant,
    Summary,
    Activity,
    Diagnostic,
}

/// One message of a history, its parts put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) partial: bool,
}

/// A whole history.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) messages: Vec<Message>,
    /// No turn of it was interrupted.
    pub(crate) complete: bool,
}

impl History {
    /// Checks what holds for every history.
    #[track_caller]
    pub(crate) fn check(&self) {
        let mut ids = HashSet::new();
        for message in &self.messages {
            assert!(ids.insert(&message.id), "an id twice: {message:?}");
        }
        let interrupted = self
            .messages
            .iter()
            .any(|message| message.kind == Kind::Diagnostic && message.partial);
        assert_eq!(
            self.complete, !interrupted,
            "complete and a partial diagnostic exclude each other: {self:?}"
        );
    }

    pub(crate) fn texts(&self, kind: Kind) -> Vec<&str> {
        self.messages
            .iter()
            .filter(|message| message.kind == kind)
            .map(|message| message.text.as_str())
            .collect()
    }
}

/// Why a session did not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    Missing,
    Busy,
    /// Anything else, by its code.
    Other(String),
}

/// A child of the built binary and the client's end of its pipes.
pub(crate) trait Driver: Sized {
    /// A child in `place` that nothing was asked of yet.
    fn spawn(place: &Arc<Place>) -> Self;
    /// Makes it ready for work.
    fn initialize(&mut self);
    /// Attaches a new session and returns its id.
    fn create(&mut self) -> String;
    /// Attaches an existing session and reads its whole history.
    fn open(&mut self, session: &str) -> Result<History, NotOpened>;
    /// Writes all that [`Self::initialize`] and [`Self::open`] would ask, and reads nothing.
    fn open_blindly(&mut self, session: &str);
    /// Asks for a turn and reads nothing.
    fn begin(&mut self, session: &str, prompt: &str);
    /// The next thing that the child says of its turn.
    fn next(&mut self) -> Seen;
    fn pid(&self) -> u32;
    /// Asks the active turn to stop and reads nothing.
    fn cancel(&mut self, session: &str);
    /// SIGKILL now; what the child had said until then and nobody had read.
    fn kill(self) -> Vec<Seen>;
    /// Ends the child in the regular way.
    fn end(self);
    /// The file that keeps a session.
    fn session_file(place: &Place, session: &str) -> std::path::PathBuf {
        place.session_file(session)
    }

    /// The rest of a turn up to its end.
    fn rest(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while !matches!(seen.last(), Some(Seen::Ended { .. })) {
            seen.push(self.next());
        }
        seen
    }

    /// A turn that must end, and be stored whole.
    fn turn(&mut self, session: &str, prompt: &str) {
        self.begin(session, prompt);
        let seen = self.rest();
        let ended = matches!(
            seen.last(),
            Some(Seen::Ended { outcome, durable: true }) if outcome == "completed"
        );
        assert!(ended, "{seen:?}");
    }

    /// Reads on until assistant text was shown.
    fn until_text(&mut self) {
        while !matches!(self.next(), Seen::Text { .. }) {}
    }

    fn ready(place: &Arc<Place>) -> Self {
        let mut driver = Self::spawn(place);
        driver.initialize();
        driver
    }
}

/// Whether `file` holds `text`, which must stand in JSON as it is.
pub(crate) fn holds(file: &Path, text: &str) -> bool {
    std::fs::read(file).is_ok_and(|bytes| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}
