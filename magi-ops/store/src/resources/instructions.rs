//! Instructions: the global `AGENTS.md`, those from the repository's root down to the working directory, and
//! the settings' additional files. Texts and their order only.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::reader::{Owner, Reader};
use super::{ResourceError, Wanted, ignored};
use crate::file::{self, Found};
use crate::local::LocalHome;
use crate::reason::{Reason, Reasons, shown_path};

/// Longest text of one file, in bytes; what is longer is cut at a line.
pub const MAX_INSTRUCTION_BYTES: usize = 64 * 1024;
/// Longest texts of all files with their sources, in bytes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 256 * 1024;
/// Longest name of a source, in bytes.
const MAX_SOURCE_BYTES: usize = 256;

const FILE_NAME: &str = "AGENTS.md";

/// The instructions of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where they stand, for a reader: relative to the repository or to the home directory, else a mere file name;
    /// one line of printable characters, at most 256 bytes.
    pub source: String,
    /// At most [`MAX_INSTRUCTION_BYTES`] and a line that says so where it was cut.
    pub text: String,
}

pub(super) fn load(
    reader: &Reader<'_>,
    home: &LocalHome,
    cwd: &Path,
    wanted: Wanted<'_>,
    notices: &mut Reasons,
) -> Result<Vec<Instruction>, ResourceError> {
    let root = repository(cwd);
    let mut all = Collected {
        home: home.root(),
        root,
        instructions: Vec::new(),
        seen: HashSet::new(),
        left: MAX_INSTRUCTIONS_BYTES,
        full: false,
    };
    let mut problems = Reasons::default();
    let mut add = |path: &Path, owner, named: Option<&Reason>| {
        // What is said of a file that somebody asked for by name stands where it was named.
        let about = |reason: Reason| match named.filter(|named| named.file.is_some()) {
            Some(named) => Reason {
                reason: format!(
                    "the instructions in {}: {}",
                    shown_path(path),
                    reason.reason
                ),
                help: reason.help,
                ..named.clone()
            },
            None => reason,
        };
        reader.go_on()?;
        match all.add(reader, path, owner) {
            Ok(Found::There(())) => {}
            Ok(Found::Ignored(why)) => notices.add(about(ignored(path, why, owner))),
            Ok(Found::Missing) if named.is_none() => {
                if file::is_dangling(path) {
                    notices.add(Reason::of_file(path, file::DANGLING).help(file::RELINK));
                }
            }
            // Somebody asked for this file by name: to go on without it would be to ignore them.
            Ok(Found::Missing) => problems.add(about(
                Reason::of_file(path, "there is no such file").help(match is_unexpanded(path) {
                    true => "write the whole path: nothing is put in for `~` or a variable",
                    false => "write it, or take it out of the settings",
                }),
            )),
            // An AGENTS.md that is there and can't be read may hold what must not be ignored.
            Err(error) => problems.add(about(file::unreadable(path, &error))),
        }
        Ok(())
    };
    add(&home.root().join(FILE_NAME), Owner::Person, None)?;
    let mut directories: Vec<_> = cwd
        .ancestors()
        .take_while(|directory| directory.starts_with(root))
        .collect();
    directories.reverse();
    for directory in directories {
        let trusted = wanted
            .projects
            .map_or(wanted.trusted, |projects| projects.trust(directory));
        let owner = match trusted {
            true => Owner::Project,
            // Above the working directory too, no link may lead out of where it stands.
            false => Owner::Stranger(directory),
        };
        add(&directory.join(FILE_NAME), owner, None)?;
    }
    for file in wanted.instructions {
        let owner = match (file.of_project, wanted.trusted) {
            (false, _) => Owner::Person,
            // Trusted, its instructions may lie anywhere but where credentials do.
            (true, true) => Owner::Project,
            (true, false) => Owner::Stranger(cwd),
        };
        add(&file.path, owner, Some(&file.named))?;
    }
    if !problems.is_empty() {
        return Err(ResourceError::Instructions(problems.into_vec()));
    }
    if all.full {
        let why = format!("instructions beyond {MAX_INSTRUCTIONS_BYTES} bytes were left out");
        notices.add(Reason::new(why).help("shorten them, or leave some of the files out"));
    }
    Ok(all.instructions)
}

/// The nearest directory upwards with a `.git` (a file in worktrees); without one, `cwd` alone.
pub(super) fn repository(cwd: &Path) -> &Path {
    cwd.ancestors()
        .find(|directory| directory.join(".git").symlink_metadata().is_ok())
        .unwrap_or(cwd)
}

struct Collected<'a> {
    home: &'a Path,
    root: &'a Path,
    instructions: Vec<Instruction>,
    seen: HashSet<PathBuf>,
    /// Bytes that still fit.
    left: usize,
    full: bool,
}

impl Collected<'_> {
    fn name(&self, path: &Path) -> String {
        // A name only: that `..` goes elsewhere behind a link does not matter here.
        let path = &file::without_parents(path);
        let name = if let Ok(inside) = path.strip_prefix(self.root) {
            inside.to_string_lossy().into_owned()
        } else if let Ok(inside) = path.strip_prefix(self.home) {
            format!("global {}", inside.display())
        } else {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let mut name: String = name
            .chars()
            .map(|c| match c {
                '"' | '<' | '>' | '\u{2028}' | '\u{2029}' => '\u{fffd}',
                c if c.is_control() => '\u{fffd}',
                c => c,
            })
            .collect();
        name.truncate(name.floor_char_boundary(MAX_SOURCE_BYTES));
        name
    }

    /// Adds the file if there is one, once under all its names. What reading it came to.
    fn add(&mut self, reader: &Reader<'_>, path: &Path, owner: Owner<'_>) -> io::Result<Found<()>> {
        let source = self.name(path);
        let limit = MAX_INSTRUCTION_BYTES.min(self.left.saturating_sub(source.len()));
        let prefix = match reader.prefix(path, limit, owner)? {
            Found::There(prefix) => prefix,
            Found::Missing => return Ok(Found::Missing),
            Found::Ignored(why) => return Ok(Found::Ignored(why)),
        };
        if !self.seen.insert(prefix.path) {
            return Ok(Found::There(()));
        }
        let (mut text, cut) = decode(prefix.bytes, prefix.more, limit);
        if text.trim().is_empty() {
            self.full |= cut;
            return Ok(Found::There(()));
        }
        self.left -= source.len() + text.len();
        if cut {
            self.full |= limit < MAX_INSTRUCTION_BYTES;
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text += &format!("[cut here: only the first {limit} bytes are shown]\n");
        }
        self.instructions.push(Instruction { source, text });
        Ok(Found::There(()))
    }
}

/// Bytes as text of at most `limit` bytes, whatever they are, and whether the file goes on. Then it is cut
/// at a line, or at a character where it has no lines.
fn decode(mut bytes: Vec<u8>, mut more: bool, limit: usize) -> (String, bool) {
    if more {
        let line = memchr::memrchr(b'\n', &bytes).map(|end| end + 1);
        bytes.truncate(line.unwrap_or_else(|| whole_characters(&bytes)));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    // What replaces a wrong byte is longer than it.
    if text.len() > limit {
        more = true;
        text.truncate(text.floor_char_boundary(limit));
        text.truncate(text.rfind('\n').map_or(text.len(), |end| end + 1));
    }
    (text, more)
}

/// The bytes without the character that the bound went through.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Whether a part of a path is what a shell would put something in for.
fn is_unexpanded(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().as_encoded_bytes();
        part == b"~" || part.starts_with(b"$")
    })
}
