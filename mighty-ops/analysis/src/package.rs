//! What is checked: parsed files with their places in a package, and the options of a check.
//! Must not read files or manifests; the toolchain does.

use std::sync::Arc;

use syntax::Parse;

/// Index of a file in [`Package::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl FileId {
    /// Index into [`Package::files`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One parsed file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// As it is to be shown; never opened here.
    pub path: String,
    /// The module the file is: empty for `main.mty`, `lib.mty` and a file on its own, `["a", "b"]` for
    /// `src/a/b.mty` and `src/a/b/mod.mty`.
    pub module: Vec<String>,
    /// Its tree.
    pub parse: Arc<Parse>,
}

impl SourceFile {
    /// Parses a text as the root module.
    #[must_use]
    pub fn root(path: impl Into<String>, text: &str) -> Self {
        Self {
            path: path.into(),
            module: Vec::new(),
            parse: Arc::new(syntax::parse(text)),
        }
    }
}

/// Everything that is checked together.
#[derive(Debug, Clone, Default)]
pub struct Package {
    /// The name in the manifest; without a manifest the `package` line of the first file serves.
    pub name: Option<String>,
    /// In a fixed order; diagnostics come in this order.
    pub files: Vec<SourceFile>,
}

impl Package {
    /// A file on its own.
    #[must_use]
    pub fn single(path: impl Into<String>, text: &str) -> Self {
        Self {
            name: None,
            files: vec![SourceFile::root(path, text)],
        }
    }

    /// The file of an identity.
    ///
    /// # Panics
    /// If it is out of range.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.index()]
    }
}

/// `profile` of the manifest (language.md §24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Everything.
    #[default]
    Host,
    /// Network and files, no DOM.
    Edge,
    /// DOM, restricted I/O.
    Web,
    /// No heap (MT4002).
    Core,
}

/// How to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Makes the warning form of MT2021 an error (language.md §5.2).
    pub strict_names: bool,
    /// The package's profile.
    pub profile: Profile,
    /// Moves the whole local where a field is moved (language.md §12.3).
    pub whole_root_moves: bool,
}
