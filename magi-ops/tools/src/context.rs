//! What the tools of one workspace work with: where they may look, what is closed, skills, the guard.
//! No path is resolved here: each may appear, move or become a symbolic link while the process runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use store::settings::Permission;
use work::Pool;

use crate::error::ToolError;
use crate::guard::Guard;
use crate::rules::Rules;
use crate::workspace::Scope;

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
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    skills: Vec<Skill>,
    home: Option<PathBuf>,
    staging: Option<Arc<files::Staging>>,
    /// What commands run under.
    guard: Arc<Guard>,
    rules: Rules,
    pool: Pool,
    /// See [`Scope::writing`].
    replacing: Arc<Mutex<()>>,
}

impl Context {
    /// The workspace, blind to every path that is or lies under one of `hidden` after symbolic links and
    /// `..` are resolved. The kernel's own trees (`/proc`, `/sys`, `/dev`) are always hidden: they hold the
    /// process's environment and its descriptors.
    pub fn new(workspace: PathBuf, hidden: Vec<PathBuf>) -> Self {
        Self {
            workspace,
            hidden,
            protected: Vec::new(),
            skills: Vec::new(),
            rules: Rules::new(Permission::Ask, [], []),
            home: None,
            staging: None,
            guard: Arc::new(Guard::this_program()),
            pool: Pool::new(CALLS),
            replacing: Arc::default(),
        }
    }

    /// Runs commands under another guard than this very program.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = Arc::new(guard);
        self
    }

    /// The person's home, which `~` stands for in a path, and whose credentials are asked for before they are
    /// read.
    #[must_use]
    pub fn with_home(mut self, home: Option<&Path>) -> Self {
        self.home = home.map(Path::to_owned);
        self
    }

    /// Works on the threads of this pool, which others may share.
    #[must_use]
    pub fn with_pool(mut self, pool: Pool) -> Self {
        self.pool = pool;
        self
    }

    /// The rules by which command lines are judged.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// A directory of the product's own, made when it is needed, where a new file has its name for the moment
    /// before it takes another one's place. Without one, that moment passes in the file's own directory.
    #[must_use]
    pub fn with_staging(mut self, directory: PathBuf) -> Self {
        self.staging = Some(Arc::new(files::Staging::new(directory)));
        self
    }

    /// The skills that can be loaded.
    #[must_use]
    pub fn with_skills(mut self, skills: Vec<Skill>) -> Self {
        self.skills = skills;
        self
    }

    /// Paths whose writing is asked for wherever they lie, with everything under them: the
    /// home's own files. Reading them is not affected.
    #[must_use]
    pub fn with_protected(mut self, protected: Vec<PathBuf>) -> Self {
        self.protected = protected;
        self
    }

    /// The directory that relative paths start from, as it was given.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    pub fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Threads for what blocks.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    pub(crate) fn replacing(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.replacing)
    }

    /// What may be seen, resolved now.
    ///
    /// # Errors
    ///
    /// The workspace is missing or can't be looked at.
    pub fn scope(&self) -> Result<Scope, ToolError> {
        let scope = Scope::new(&self.workspace, &self.hidden)?;
        Ok(scope.with(self.home.clone(), self.staging.clone()))
    }

    /// The path of an input as a person is shown it, by its words alone: relative inside the workspace, its
    /// last part elsewhere.
    pub fn subject(&self, path: &str) -> String {
        crate::workspace::subject(&self.workspace, self.home.as_deref(), path)
    }
}
