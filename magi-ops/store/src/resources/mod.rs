//! What a process works by beside its settings: instructions, skills and profiles, read once and bounded.
//! Their merged effect only; which tools exist, which model answers and what a prompt looks like is decided above.

use std::path::Path;

use crate::credentials::Credentials;
use crate::local::LocalHome;
use crate::reason::{Reason, Reasons, first, shown};
use crate::settings::{Folder, InstructionFile, Projects};

mod front_matter;
mod instructions;
mod profiles;
mod reader;
mod skills;

pub use instructions::{Instruction, MAX_INSTRUCTION_BYTES, MAX_INSTRUCTIONS_BYTES};
pub use profiles::{MAX_PROFILE_BYTES, MAX_PROFILES, Profile};
pub use skills::{MAX_SKILL_BYTES, MAX_SKILLS, MAX_SKILLS_BYTES, Skill};

use front_matter::Fault;
use reader::{Owner, Reader};

/// Longest description of a skill or profile, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1024;

/// Why resources can't be used. Carries paths: never for the wire.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    #[error("reading was cancelled")]
    Cancelled,
    /// Instructions: `configuration_invalid`. At least one reason.
    #[error("{}", first(.0))]
    Instructions(Vec<Reason>),
    /// Profiles: `profile_invalid`. At least one reason.
    #[error("{}", first(.0))]
    Profiles(Vec<Reason>),
}

/// What the settings say about resources.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Whether the project's files may be what the person's own may be.
    pub trusted: bool,
    /// Which directories above the working directory are trusted; without it, those are that the project is.
    pub projects: Option<&'a Projects>,
    /// The home of the person, where credentials of other programs lie that no project's file may lead to.
    pub user_home: Option<&'a Path>,
    /// Additional files.
    pub instructions: &'a [InstructionFile],
    /// The names of tools that profiles may hold; without any, all do.
    pub tools: &'a [&'a str],
}

/// All resources at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources {
    /// In the order they hold: what comes later is closer to the work.
    pub instructions: Vec<Instruction>,
    /// Enabled ones, sorted by name.
    pub skills: Vec<Skill>,
    /// Enabled ones, sorted by name.
    pub profiles: Vec<Profile>,
}

impl Resources {
    /// See [`crate::Home::resources`]. Blocks on files, but never on a pipe or a device.
    pub(crate) fn load(
        home: &LocalHome,
        cwd: &Path,
        wanted: Wanted<'_>,
        cancelled: &dyn Fn() -> bool,
        notices: &mut Reasons,
    ) -> Result<Self, ResourceError> {
        let credentials = Credentials::of(wanted.user_home, instructions::repository(cwd));
        let reader = Reader::new(home, credentials, cancelled);
        let project = match Folder::of(home.root(), cwd, wanted.trusted) {
            Folder::At(folder) => Some(folder),
            // Whoever reads the settings says so.
            Folder::None | Folder::Ignored(_) => None,
        };
        let scopes = Scopes {
            global: home.root(),
            project: project.as_deref(),
            owner: match wanted.trusted {
                true => Owner::Project,
                false => Owner::Stranger(cwd),
            },
        };
        let instructions = instructions::load(&reader, home, cwd, wanted, notices);
        if let Err(ResourceError::Cancelled) = instructions {
            return Err(ResourceError::Cancelled);
        }
        let skills = skills::load(&reader, &scopes, notices)?;
        let profiles = profiles::load(&reader, &scopes, wanted.tools, notices);
        let (instructions, profiles) = match (instructions, profiles) {
            (Ok(instructions), Ok(profiles)) => (instructions, profiles),
            // The first says what the failure is called; everything that is wrong is told.
            (Err(ResourceError::Instructions(mut all)), Err(ResourceError::Profiles(more))) => {
                all.extend(more);
                return Err(ResourceError::Instructions(all));
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        Ok(Self {
            instructions,
            skills,
            profiles,
        })
    }
}

/// Where skills and profiles lie; the project's beat the global ones.
struct Scopes<'a> {
    global: &'a Path,
    /// None where there is no project, or nothing of it counts.
    project: Option<&'a Path>,
    /// Of the project's.
    owner: Owner<'a>,
}

impl<'a> Scopes<'a> {
    /// The project's directory of that name, unless nothing of it counts.
    fn of_project(&self, name: &str, notices: &mut Reasons) -> Option<std::path::PathBuf> {
        let directory = self.project?.join(name);
        if matches!(self.owner, Owner::Stranger(_)) && directory.is_symlink() {
            let why = "this is a link, so nothing below it counts";
            notices.add(Reason::of_file(&directory, why).help(TRUST));
            return None;
        }
        Some(directory)
    }
}

/// What to do about what does not count of an untrusted project.
const TRUST: &str = "put a file of its own in its place, or run `magi-code trust` in the project";

/// What to do about a directory that cannot be read.
const READABLE: &str = "put a directory in its place that your user can read";

/// What is wrong with a file, for people.
fn faulty(path: &Path, subject: &str, fault: Fault) -> Reason {
    Reason {
        line: Some(fault.place.0),
        column: Some(fault.place.1),
        help: Some(fault.help),
        ..Reason::of_file(path, format!("{subject} {}", fault.reason))
    }
}

/// What says that a member of the front matter means nothing.
fn unknown((name, place): (&str, front_matter::Place), path: &Path) -> Reason {
    let why = format!("has an unknown member `{}`", shown(name));
    let fault = Fault::at(place, why).help("nothing reads it; remove it if nobody else does");
    Reason {
        key: Some(name.to_owned()),
        ..faulty(path, "the front matter", fault)
    }
}

/// What says that a file doesn't count, and what its owner can do.
fn ignored(path: &Path, why: &str, owner: Owner<'_>) -> Reason {
    let help = match owner {
        Owner::Stranger(_) => TRUST,
        Owner::Person | Owner::Project => "put a file of its own in its place, or remove it",
    };
    Reason::of_file(path, format!("{why}, so it is left out")).help(help)
}

/// Whether a skill or profile may be called that: 1 to 64 of `[a-z0-9-]`.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests;
