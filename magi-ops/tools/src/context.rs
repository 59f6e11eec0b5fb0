//! What the tools of one workspace work with: where they may look, what is closed, skills, the guard.
//! No path is resolved here: each may appear, move or become a symbolic link while the process runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use store::settings::Permission;
use work::Pool;

use crate::guard::Guard;
use crate::rules::Rules;

/// A skill as it was admitted (the Agent Skills convention).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// What it is for; models choose by it.
    pub description: String,
    /// Where `SKILL.md` and the files beside it are.
    pub dir: PathBuf,
    /// The Markdown after the front matter. At most 256 KiB of it are shown.
    pub body: String,
}

/// Calls that work on files at once, where nobody gives a pool; more wait within their limits.
const CALLS: u32 = 16;

/// What the tools of one workspace work with.
#[derive(Debug, Clone)]
pub struct Context {
    /// The directory that relative paths start from, as it was given.
    pub workspace: PathBuf,
    pub(crate) hidden: Vec<PathBuf>,
    /// Paths whose writing is asked for wherever they lie, with everything under them: the home's own files.
    /// Reading them is not affected.
    pub protected: Vec<PathBuf>,
    /// The skills that can be loaded.
    pub skills: Vec<Skill>,
    /// The names of the profiles that a subagent can have.
    pub profiles: Vec<String>,
    /// The person's home, which `~` stands for in a path, and whose credentials are asked for before they are read.
    pub home: Option<PathBuf>,
    pub(crate) staging: Option<Arc<files::Staging>>,
    /// What commands run under.
    pub guard: Guard,
    /// The rules by which command lines are judged.
    pub rules: Rules,
    /// Threads for what blocks, which others may share.
    pub pool: Pool,
    /// Held over the last look at a file and its replacement.
    pub(crate) replacing: Arc<Mutex<()>>,
}

impl Context {
    /// The workspace, blind to every path that is or lies under one of `hidden` after symbolic links and
    /// `..` are resolved. The kernel's own trees (`/proc`, `/sys`, `/dev`) are always hidden: they hold the
    /// process's environment and its descriptors.
    ///
    /// Commands run under this very program, and each asks.
    pub fn new(workspace: PathBuf, hidden: Vec<PathBuf>) -> Self {
        Self {
            workspace,
            hidden,
            protected: Vec::new(),
            skills: Vec::new(),
            profiles: Vec::new(),
            rules: Rules::new(Permission::Ask, [], []),
            home: None,
            staging: None,
            guard: Guard::this_program(),
            pool: Pool::new(CALLS),
            replacing: Arc::default(),
        }
    }

    /// A directory of the product's own, made when it is needed, where a new file has its name for the moment
    /// before it takes another one's place. Without one, that moment passes in the file's own directory.
    #[must_use]
    pub fn with_staging(mut self, directory: Option<PathBuf>) -> Self {
        self.staging = directory.map(|directory| Arc::new(files::Staging::new(directory)));
        self
    }
}
