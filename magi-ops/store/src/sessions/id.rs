//! The id of a session: the one grammar that is safe as a file name.
//! Whether such a session exists is asked elsewhere.

use std::fmt;
use std::str::FromStr;

/// Longest id, in ASCII bytes.
const MAX_BYTES: usize = 64;
/// After the id in the name of a session file.
const SUFFIX: &str = ".jsonl";
/// After the id in the name of the folder of a session's tasks.
const TASKS: &str = ".tasks";

/// An id of `[A-Za-z0-9_-]+`, at most 64 bytes: no separator, no dot, hence no way out of the
/// directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

/// The text is no session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a session id")]
pub struct InvalidSessionId;

impl SessionId {
    /// A new id that no session has had.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}{SUFFIX}", self.0)
    }

    /// What would be the id if a file of this name is a session's; none of a part, which is its first file's session's.
    pub(crate) fn name_of_file(name: &str) -> Option<&str> {
        let name = name.strip_suffix(SUFFIX)?;
        let is_part = name.rsplit_once('.').is_some_and(|(id, part)| {
            id.parse::<Self>().is_ok() && part.parse().is_ok_and(|part: u32| part > 1)
        });
        (!is_part).then_some(name)
    }

    /// The session and the part that a file of this name holds; an error for a name that is like one and can't be.
    /// `None` of any other.
    pub(crate) fn of_part_name(name: &str) -> Option<Result<(Self, u32), InvalidSessionId>> {
        let name = name.strip_suffix(SUFFIX)?;
        let part = name.rsplit_once('.').and_then(|(id, part)| {
            let part: u32 = part.parse().ok().filter(|part| *part > 1)?;
            Some((id.parse().ok()?, part))
        });
        match part {
            Some(part) => Some(Ok(part)),
            None => Some(name.parse().map(|id| (id, 1))),
        }
    }

    /// The name of the file that holds a part: [`Self::file_name`] of the first one.
    pub(crate) fn part_name(&self, part: u32) -> String {
        match part {
            0 | 1 => self.file_name(),
            _ => format!("{}.{part}{SUFFIX}", self.0),
        }
    }

    pub(crate) fn lock_name(&self) -> String {
        format!("{}.lock", self.0)
    }

    /// The session whose writer lease a file of this name is.
    pub(crate) fn of_lock_name(name: &str) -> Option<Self> {
        name.strip_suffix(".lock")?.parse().ok()
    }

    /// The folder of its tasks.
    pub(crate) fn tasks_name(&self) -> String {
        format!("{}{TASKS}", self.0)
    }

    /// The session whose tasks a folder of this name holds.
    pub(crate) fn of_tasks_name(name: &str) -> Option<Self> {
        name.strip_suffix(TASKS)?.parse().ok()
    }

    pub(crate) fn append_name(&self) -> String {
        format!("{}.append", self.0)
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(safe) {
            return Err(InvalidSessionId);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
