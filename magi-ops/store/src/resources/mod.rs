//! What a process works by beside its settings: instructions, skills and profiles, read once and bounded.
//! Their merged effect only; which tools exist, which model answers and what a prompt looks like is decided above.

use std::path::{Path, PathBuf};

use crate::Home;

mod front_matter;
mod instructions;
mod profiles;
mod reader;
mod skills;

pub use instructions::{Instruction, MAX_INSTRUCTION_BYTES, MAX_INSTRUCTIONS_BYTES};
pub use profiles::{MAX_PROFILE_BYTES, MAX_PROFILES, Profile};
pub use skills::{MAX_SKILL_BYTES, MAX_SKILLS, MAX_SKILLS_BYTES, Skill};

use reader::Reader;

/// Longest description of a skill or profile, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1024;
/// Most notices about what was left out.
pub const MAX_NOTICES: usize = 32;

/// Why resources can't be used. Carries paths: never for the wire.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    #[error("reading was cancelled")]
    Cancelled,
    /// `configuration_invalid`.
    #[error("the instructions in {path} cannot be read")]
    Instructions { path: PathBuf },
    /// `profile_invalid`.
    #[error("the profile in {path} {reason}")]
    Profile { path: PathBuf, reason: &'static str },
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
    /// What was left out and why, in words without paths; at most [`MAX_NOTICES`].
    pub notices: Vec<String>,
}

impl Resources {
    /// Reads everything once. `cwd` is canonical; `instructions` are the settings' additional
    /// files, absolute. `cancelled` is asked before each file and directory entry. Blocks on
    /// files, but never on a pipe or a device.
    pub fn load(
        home: &Home,
        cwd: &Path,
        instructions: &[PathBuf],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, ResourceError> {
        let reader = Reader::new(home, cancelled);
        let scopes = Scopes {
            global: home.root(),
            project: &cwd.join(".magi-code"),
        };
        let mut notices = Notices::default();
        Ok(Self {
            instructions: instructions::load(&reader, home, cwd, instructions, &mut notices)?,
            skills: skills::load(&reader, &scopes, &mut notices)?,
            profiles: profiles::load(&reader, &scopes)?,
            notices: notices.0,
        })
    }
}

/// Where skills and profiles lie; the project's beat the global ones.
struct Scopes<'a> {
    global: &'a Path,
    project: &'a Path,
}

#[derive(Default)]
struct Notices(Vec<String>);

impl Notices {
    fn add(&mut self, notice: String) {
        if self.0.len() + 1 < MAX_NOTICES {
            self.0.push(notice);
        } else if self.0.len() < MAX_NOTICES {
            self.0.push("more was left out".to_owned());
        }
    }
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
