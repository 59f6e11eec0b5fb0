//! The stored sessions for a person's commands: which there are, what was said in one, and their end. Takes part in no
//! conversation; what is given out is redacted.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::sessions::{KeptSession, SessionArchive, SessionError, SessionId, now_ms};
use store::{Home as _, LocalHome, Reason, Redacted, Redactor};

use crate::error::{EngineError, ErrorKind};
use crate::startup::{Environment, kept, redacted, retention_days};
use crate::transcript::{Counter, Counts, Reader, Task, Turn};

/// Most ids of one prefix that a refusal names.
const MAX_NAMED: usize = 5;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The stored sessions of a home. Every call blocks.
#[derive(Debug)]
pub struct Archive {
    environment: Environment,
    home: LocalHome,
    archive: Arc<dyn SessionArchive>,
    redactor: Redactor,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: SessionId,
    /// Milliseconds since 1970.
    pub last_at: u64,
    pub bytes: u64,
    /// One line, at most 120 bytes.
    pub title: Option<Redacted>,
    /// As a text, redacted.
    pub cwd: Option<Redacted>,
}

/// A list, the one with the newest last record first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    pub sessions: Vec<Listed>,
    /// How many more there are.
    pub more: usize,
    /// How many can't be read.
    pub unusable: usize,
}

/// What became of sessions that are older than their time.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Removed, or to be removed.
    pub sessions: Vec<Listed>,
    /// Left because somebody is attached to them.
    pub attached: usize,
    /// Left for other reasons, redacted.
    pub refused: Vec<Reason>,
}

impl Archive {
    /// Those of the environment's home, which need not be there.
    ///
    /// # Errors
    /// When there can't be a home.
    pub fn open(environment: &Environment) -> Result<Self, Vec<Reason>> {
        let (home, redactor) = kept(environment)?;
        Ok(Self {
            environment: environment.clone(),
            archive: home.archive(),
            home,
            redactor,
        })
    }

    /// The `limit` newest sessions, all of them without it; only those of the directory `cwd`, if one is given.
    ///
    /// # Errors
    /// When the sessions can't be listed.
    pub fn list(&self, limit: Option<usize>, cwd: Option<&Path>) -> Result<Listing, EngineError> {
        let kept = self.archive.all()?;
        let limit = limit.unwrap_or(usize::MAX);
        let mut listing = Listing {
            unusable: kept.unusable,
            ..Listing::default()
        };
        let cwd = cwd.map(real);
        for session in kept.sessions {
            if cwd.is_none() && listing.sessions.len() == limit {
                listing.more += 1;
                continue;
            }
            match self.listed(&session) {
                Ok((_, place)) if cwd.is_some() && place.as_deref().map(real) != cwd => {}
                Ok(_) if listing.sessions.len() == limit => listing.more += 1,
                Ok((listed, _)) => listing.sessions.push(listed),
                // Removed since it was found.
                Err(SessionError::Missing) => {}
                Err(_) => listing.unusable += 1,
            }
        }
        Ok(listing)
    }

    fn listed(&self, session: &KeptSession) -> Result<(Listed, Option<PathBuf>), SessionError> {
        let about = self.archive.about(&session.id, &self.redactor)?;
        let cwd = about.cwd.as_ref();
        let shown = cwd.map(|cwd| self.redactor.redact(&store::shown_path(cwd)));
        let listed = Listed {
            id: session.id.clone(),
            last_at: session.last_at,
            bytes: session.bytes,
            title: about.title.filter(|title| !title.is_empty()),
            cwd: shown,
        };
        Ok((listed, about.cwd))
    }

    /// One session, named by its id or by a beginning that no other id has.
    ///
    /// # Errors
    /// In words for the person: when there is none, or more than one.
    pub fn find(&self, word: &str) -> Result<Listed, String> {
        let wrong = |error: &EngineError| self.words(error);
        let shown = store::shown(word);
        let none =
            || format!("there is no session `{shown}`; `magi-code sessions list` shows them");
        if word.parse::<SessionId>().is_err() {
            return Err(none());
        }
        let kept = self.archive.all().map_err(|error| wrong(&error.into()))?;
        let begins = |session: &&KeptSession| session.id.as_str().starts_with(word);
        let is_it = |session: &&KeptSession| session.id.as_str() == word;
        let mut all = kept.sessions.iter().filter(begins);
        let session = match (kept.sessions.iter().find(is_it), all.next(), all.next()) {
            (Some(session), ..) | (None, Some(session), None) => session,
            (None, Some(one), Some(other)) => {
                let ids = [one, other].into_iter().chain(all.take(MAX_NAMED - 2));
                let ids: Vec<_> = ids.map(|session| session.id.as_str()).collect();
                return Err(format!(
                    "`{shown}` begins the ids of more sessions than one: {}",
                    ids.join(", ")
                ));
            }
            (None, None, _) => return Err(none()),
        };
        let listed = self.listed(session);
        listed
            .map(|(listed, _)| listed)
            .map_err(|error| wrong(&error.into()))
    }

    /// What a session comes to, its subagents' costs among it. What can't be read counts for nothing.
    pub fn counts(&self, id: &SessionId) -> Counts {
        let mut counter = Counter::new(&self.redactor);
        let _ = self.archive.read(id, &mut |record| {
            counter.take(&record);
            ControlFlow::Continue(())
        });
        // A task may have given tasks; none gave itself.
        let mut seen = 0;
        while let Some(task) = counter.tasks.get(seen) {
            seen += 1;
            if counter.tasks[..seen - 1].contains(task) {
                continue;
            }
            if let Ok(task) = task.parse() {
                let _ = self.archive.read_task(id, &task, &mut |record| {
                    counter.take_of_task(&record);
                    ControlFlow::Continue(())
                });
            }
        }
        counter.finish()
    }

    /// Gives the turns of a session to `give`, oldest first, until that breaks off. Holds one at a time.
    ///
    /// # Errors
    /// When there is no such session, or something of it can't be read; what was given before it counts.
    pub fn turns(
        &self,
        id: &SessionId,
        give: &mut dyn FnMut(Turn) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let mut reader = Reader::new(&self.redactor);
        let read = self
            .archive
            .read(id, &mut |record| reader.take(record, give));
        self.ended(read, reader, give)
    }

    /// The same of what a subagent of the session was given.
    ///
    /// # Errors
    /// Those of [`Self::turns`].
    pub fn task_turns(
        &self,
        id: &SessionId,
        task: &Task,
        give: &mut dyn FnMut(Turn) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let task = task.id.parse()?;
        let mut reader = Reader::new(&self.redactor);
        let mut take = |record| reader.take(record, give);
        let read = self.archive.read_task(id, &task, &mut take);
        self.ended(read, reader, give)
    }

    fn ended(
        &self,
        read: Result<(), SessionError>,
        mut reader: Reader<'_>,
        give: &mut dyn FnMut(Turn) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        // Nothing is left of it where `give` broke off.
        let _ = reader.finish(give);
        Ok(read?)
    }

    /// Removes a session and everything of it.
    ///
    /// # Errors
    /// When there is none, somebody is attached to it, or it can't be removed; then it is still there.
    pub fn remove(&self, id: &SessionId) -> Result<(), EngineError> {
        Ok(self.archive.remove(id)?)
    }

    /// The sessions whose last record is older than the settings of their directory keep them.
    ///
    /// # Errors
    /// When the sessions can't be listed.
    pub fn expired(&self) -> Result<Pruned, EngineError> {
        let now = now_ms();
        let mut days = HashMap::new();
        let mut found = Pruned::default();
        for session in self.archive.all()?.sessions {
            let age = now.saturating_sub(session.last_at);
            // Whatever the settings say.
            if age < DAY_MS {
                continue;
            }
            let (listed, cwd) = match self.listed(&session) {
                Ok(found) => found,
                Err(error) => {
                    let id = &session.id;
                    let words = self.words(&error.into());
                    let why = format!("the session {id} is left: {words}");
                    found.refused.push(Reason::new(why));
                    continue;
                }
            };
            // One that is gone has the settings of everywhere.
            let cwd = cwd.unwrap_or_else(|| PathBuf::from("/"));
            let days = days.entry(cwd).or_insert_with_key(|cwd| {
                let days = retention_days(&self.environment, &self.home, cwd);
                days.map_err(|reasons| {
                    found.refused.extend(redacted(reasons, &self.redactor));
                })
                .unwrap_or(0)
            });
            if *days > 0 && age > u64::from(*days) * DAY_MS {
                found.sessions.push(listed);
            }
        }
        Ok(found)
    }

    /// Removes what [`Self::expired`] found, as far as nobody is attached.
    #[must_use]
    pub fn prune(&self, found: Pruned) -> Pruned {
        let mut done = Pruned {
            sessions: Vec::new(),
            ..found
        };
        for session in found.sessions {
            match self.remove(&session.id) {
                Ok(()) => done.sessions.push(session),
                Err(error) if error.kind() == ErrorKind::SessionBusy => done.attached += 1,
                // Somebody else removed it.
                Err(error) if error.kind() == ErrorKind::SessionMissing => {}
                Err(error) => {
                    let words = self.words(&error);
                    let why = format!("the session {} is left: {words}", session.id);
                    done.refused.push(Reason::new(why));
                }
            }
        }
        done
    }

    /// An error for people.
    #[must_use]
    pub fn words(&self, error: &EngineError) -> String {
        let words = self.redactor.redact(&error.reason());
        store::on_a_line(words.as_str())
    }
}

/// A directory under its real name, or the name it had.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
