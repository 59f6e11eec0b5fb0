//! Tests of resources on a real disk: order, precedence, disabling, bounds, refusals, cancellation.
//! Nothing here reaches beyond a temporary directory.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::MAX_REASONS;
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

mod definitions;
mod instructions;
mod trust;

struct Place {
    dir: tempfile::TempDir,
    home: LocalHome,
}

/// What reading came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Loaded {
    resources: Resources,
    notices: Vec<Reason>,
}

impl std::ops::Deref for Loaded {
    type Target = Resources;

    fn deref(&self) -> &Resources {
        &self.resources
    }
}

impl Place {
    /// `home/`, and a working directory `repo/in/cwd/` in a repository `repo/`.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/in/cwd/.magi-code")).unwrap();
        fs::create_dir(dir.path().join("repo/.git")).unwrap();
        let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
        Self { dir, home }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, content).unwrap();
        self
    }

    fn fifo(self, path: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let mode = 0o600.into();
        rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        self
    }

    fn load_with(&self, extra: &[&str]) -> Result<Loaded, ResourceError> {
        let extra: Vec<_> = extra.iter().map(|path| self.named(path, false)).collect();
        self.load_as(false, &extra)
    }

    fn named(&self, path: &str, of_project: bool) -> InstructionFile {
        InstructionFile {
            path: self.path(path),
            of_project,
            named: Reason::of_file(Path::new("/settings.json"), ""),
        }
    }

    fn load_as(
        &self,
        trusted: bool,
        instructions: &[InstructionFile],
    ) -> Result<Loaded, ResourceError> {
        let wanted = Wanted {
            trusted,
            projects: None,
            user_home: None,
            instructions,
            tools: &[],
        };
        self.read(wanted, &|| false)
    }

    fn read(
        &self,
        wanted: Wanted<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Loaded, ResourceError> {
        let mut notices = Reasons::default();
        let cwd = self.path("repo/in/cwd");
        let resources = Resources::load(&self.home, &cwd, wanted, cancelled, &mut notices)?;
        let notices = notices.into_vec();
        Ok(Loaded { resources, notices })
    }

    /// A symbolic link.
    fn link(self, path: &str, target: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(self.path(target), at).unwrap();
        self
    }

    /// A second name of a file.
    fn hard_link(self, path: &str, target: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::hard_link(self.path(target), at).unwrap();
        self
    }

    fn load(&self) -> Loaded {
        self.load_with(&[]).unwrap()
    }

    fn profile_error(&self) -> String {
        match self.load_with(&[]) {
            Err(ResourceError::Profiles(reasons)) => {
                let reason = &reasons[0].reason;
                reason
                    .strip_prefix("the profile ")
                    .unwrap_or(reason)
                    .to_owned()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn texts(resources: &Resources) -> Vec<(&str, &str)> {
    let text = |i: &'_ Instruction| -> (&'static str, &'static str) {
        (i.source.clone().leak(), i.text.clone().leak())
    };
    resources.instructions.iter().map(text).collect()
}

fn notices(loaded: &Loaded) -> Vec<&str> {
    let all = loaded.notices.iter();
    all.map(|notice| notice.reason.as_str()).collect()
}

fn is_refused(loaded: Result<Loaded, ResourceError>) -> bool {
    matches!(loaded, Err(ResourceError::Instructions { .. }))
}

#[test]
fn nothing_there_is_nothing() {
    assert_eq!(Place::new().load(), Loaded::default());
}

const PROJECT: &str = "repo/in/cwd/.magi-code";

fn skill(name: &str, description: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n{more}---\nbody of {description}\n")
}

#[test]
fn a_cancelled_reading_stops_before_the_next_file() {
    let place = Place::new()
        .with("home/AGENTS.md", "a")
        .with("home/skills/a/SKILL.md", skill("a", "d", ""))
        .with("home/agents/a.md", "---\nname:\n---\n");
    let asked = Cell::new(0);
    let load = |limit: usize| {
        asked.set(0);
        place.read(Wanted::default(), &|| {
            asked.set(asked.get() + 1);
            asked.get() > limit
        })
    };
    assert!(load(usize::MAX).is_ok());
    let all = asked.get();
    assert!(all > 8, "{all}");
    for limit in 0..all {
        assert!(matches!(load(limit), Err(ResourceError::Cancelled)));
        assert_eq!(asked.get(), limit + 1);
    }
}
