//! From a named path to the package that is checked: all sources of the package around it, or the file alone
//! (toolchain digest, section 1). Must not check anything.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use analysis::{Options, Package, Profile, SourceFile, Unfinished};
use tokio_util::sync::CancellationToken;

use crate::manifest::{self, NAME};
use crate::source::{SourceError, is_source, read_source};
use crate::tree::sources_below;

/// Files of one package at most.
const MAX_FILES: usize = 20_000;
/// Source of one package at most, in bytes.
const MAX_TOTAL_BYTES: usize = 256 << 20;

/// One file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// As it is to be shown: like the path that was named.
    pub shown: String,
    /// Where it is.
    pub real: PathBuf,
    /// As it is on disk.
    pub text: Arc<str>,
    module: Vec<String>,
}

/// Everything that is checked together, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// In the order of their paths; the only one outside a package.
    pub files: Vec<LoadedFile>,
    /// Index of the named file; `None` where a directory was named.
    pub named: Option<usize>,
    name: Option<String>,
    profile: Profile,
}

impl Loaded {
    /// Parses all of it, unless `cancel` is cancelled before a file.
    pub(crate) fn package(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Package, Options), Unfinished> {
        let files = self.files.iter().map(|f| {
            if cancel.is_cancelled() {
                return Err(Unfinished::Cancelled);
            }
            Ok(SourceFile {
                path: f.shown.clone(),
                module: f.module.clone(),
                parse: Arc::new(syntax::parse(Arc::clone(&f.text))),
            })
        });
        let package = Package {
            name: self.name.clone(),
            files: files.collect::<Result<_, _>>()?,
        };
        let options = Options {
            profile: self.profile,
            ..Options::default()
        };
        Ok((package, options))
    }
}

/// The package of a named file: `shown` as it was spelled, `real` where it is.
///
/// # Errors
/// See [`SourceError`]; a broken manifest or an unreadable file of the package is one.
pub fn load_file(shown: &str, real: &Path) -> Result<Loaded, SourceError> {
    let text = read_source(real)?;
    // After reading: that there is no such file is the better word.
    if !is_source(real) {
        return Err(SourceError::NotMighty);
    }
    let absolute = lexically_absolute(real);
    let root = absolute.parent().and_then(manifest::package_root);
    let Some(root) = root else {
        return Ok(Loaded {
            files: vec![LoadedFile {
                shown: shown.to_owned(),
                real: absolute,
                text: text.into(),
                module: Vec::new(),
            }],
            named: Some(0),
            name: None,
            profile: Profile::Host,
        });
    };
    let relative = absolute
        .strip_prefix(&root)
        .unwrap_or(&absolute)
        .to_path_buf();
    let names = Names::new(shown, &relative, &root);
    let mut loaded = load_sources(&root, &names)?;
    let named = match loaded.files.iter().position(|f| f.real == absolute) {
        Some(at) => {
            // As it was spelled, whatever the way there.
            shown.clone_into(&mut loaded.files[at].shown);
            loaded.files[at].text = text.into();
            at
        }
        // A test or an example: a module of its own beside the sources.
        None => {
            loaded.files.push(LoadedFile {
                shown: shown.to_owned(),
                real: absolute,
                text: text.into(),
                module: module_of(&relative),
            });
            loaded.files.len() - 1
        }
    };
    loaded.named = Some(named);
    Ok(loaded)
}

/// The package whose directory, or a directory of its sources, was named. `None` elsewhere.
///
/// # Errors
/// See [`SourceError`].
pub fn load_directory(shown: &str, real: &Path) -> Result<Option<Loaded>, SourceError> {
    let of_sources =
        |relative: &Path| relative.as_os_str().is_empty() || relative.starts_with("src");
    load_around(shown, real, of_sources)
}

/// The package around a named directory, if that is `meant` by its path below the package.
pub(crate) fn load_around(
    shown: &str,
    real: &Path,
    meant: impl FnOnce(&Path) -> bool,
) -> Result<Option<Loaded>, SourceError> {
    let absolute = lexically_absolute(real);
    let Some(root) = manifest::package_root(&absolute) else {
        return Ok(None);
    };
    let relative = absolute
        .strip_prefix(&root)
        .unwrap_or(&absolute)
        .to_path_buf();
    if !meant(&relative) {
        return Ok(None);
    }
    let names = Names::new(shown, &relative, &root);
    load_sources(&root, &names).map(Some)
}

/// The package around the current directory, else that directory; links resolved.
///
/// # Errors
/// Where there is no current directory.
#[cfg(feature = "fix")]
pub fn project_root() -> std::io::Result<PathBuf> {
    let here = std::env::current_dir()?.canonicalize()?;
    Ok(manifest::package_root(&here).unwrap_or(here))
}

fn load_sources(root: &Path, names: &Names) -> Result<Loaded, SourceError> {
    let manifest = manifest::read(root, &names.show(Path::new(NAME)))?;
    let mut files = Vec::new();
    let mut total = 0usize;
    let about = |path: &Path, why: String| SourceError::Package {
        path: names.show(path),
        why,
    };
    let tree = sources_below(&root.join("src"), MAX_FILES);
    // A package of which a part is unknown can't be called right.
    if let Some((path, why)) = tree.unread.into_iter().next() {
        let relative = path.strip_prefix(root).unwrap_or(&path);
        return Err(about(relative, format!("cannot read: {why}")));
    }
    for path in tree.files {
        let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        let text = read_source(&path).map_err(|e| about(&relative, e.to_string()))?;
        total += text.len();
        if total > MAX_TOTAL_BYTES || files.len() == MAX_FILES {
            return Err(about(
                Path::new("src"),
                "too large to check at once: more than 256 MiB or 20,000 files".into(),
            ));
        }
        let in_src = relative.strip_prefix("src").unwrap_or(&relative);
        files.push(LoadedFile {
            shown: names.show(&relative),
            module: module_of(in_src),
            real: path,
            text: text.into(),
        });
    }
    Ok(Loaded {
        files,
        named: None,
        name: Some(manifest.name),
        profile: manifest.profile,
    })
}

/// `a/b.mty` and `a/b/mod.mty` are the module `a.b`; `main.mty` and `lib.mty` at the top are the root.
fn module_of(relative: &Path) -> Vec<String> {
    let mut module: Vec<String> = relative
        .with_extension("")
        .components()
        .filter_map(|c| match c {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let last = module.last().map(String::as_str);
    let is_root = module.len() == 1 && matches!(last, Some("main" | "lib"));
    if is_root || last == Some("mod") {
        module.pop();
    }
    module
}

/// Without `.` and `..` but with its links: the way somebody spelled it decides which package it is in.
pub(crate) fn lexically_absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut clean = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// How files of the package are shown: below the same prefix as the named path.
struct Names {
    prefix: String,
}

impl Names {
    /// `relative` is the named path below `root`.
    fn new(shown: &str, relative: &Path, root: &Path) -> Self {
        let tail = relative.to_string_lossy();
        let trimmed = shown.trim_end_matches('/');
        let prefix = match trimmed.strip_suffix(tail.as_ref()) {
            Some(prefix) if prefix.is_empty() || prefix.ends_with('/') => prefix.to_owned(),
            // The directory of the package itself.
            Some(prefix) if tail.is_empty() && prefix != "." => format!("{prefix}/"),
            Some("." | "") if tail.is_empty() => String::new(),
            // From inside the package: by the way up, where it is one of plain names.
            _ => {
                let plain = |p: &str| {
                    Path::new(p)
                        .components()
                        .all(|c| matches!(c, Component::Normal(_)))
                };
                let below = Path::new(trimmed).components().count();
                let ups = relative.components().count().checked_sub(below);
                match ups {
                    Some(ups) if plain(trimmed) && Path::new(tail.as_ref()).ends_with(trimmed) => {
                        "../".repeat(ups)
                    }
                    _ => format!("{}/", root.display()),
                }
            }
        };
        Self { prefix }
    }

    fn show(&self, relative: &Path) -> String {
        format!("{}{}", self.prefix, relative.display())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    const MANIFEST: (&str, &str) = (
        "mighty.toml",
        "[package]\nname = \"geo\"\nversion = \"0.1.0\"\nedition = \"2026\"\n",
    );

    fn modules(loaded: &Loaded) -> Vec<(String, String)> {
        loaded
            .files
            .iter()
            .map(|f| (f.shown.clone(), f.module.join(".")))
            .collect()
    }

    #[test]
    fn a_file_in_a_package_brings_all_sources() {
        let dir = package(&[
            MANIFEST,
            ("src/main.mty", "fn main() { }"),
            ("src/a/mod.mty", ""),
            ("src/a/b.mty", ""),
            ("src/.hidden/c.mty", ""),
            ("src/notes.md", ""),
            ("tests/t.mty", ""),
        ]);
        let shown = format!("{}/src/main.mty", dir.path().display());
        let loaded = load_file(&shown, Path::new(&shown)).unwrap();
        let at = |p: &str| format!("{}/{p}", dir.path().display());
        let sources = vec![
            (at("src/a/b.mty"), "a.b".to_owned()),
            (at("src/a/mod.mty"), "a".to_owned()),
            (at("src/main.mty"), String::new()),
        ];
        assert_eq!(modules(&loaded), sources);
        assert_eq!(loaded.named, Some(2));
        let shown = at("tests/t.mty");
        let loaded = load_file(&shown, Path::new(&shown)).unwrap();
        assert_eq!(modules(&loaded)[3], (shown, "tests.t".to_owned()));
        assert_eq!(loaded.named, Some(3));
        let of_dir = load_directory("pkg", dir.path()).unwrap().unwrap();
        assert_eq!(modules(&of_dir)[2].0, "pkg/src/main.mty");
    }

    #[test]
    fn paths_are_shown_as_the_named_one_is() {
        let root = Path::new("/w/pkg");
        let show = |shown: &str, relative: &str| {
            Names::new(shown, Path::new(relative), root).show(Path::new("src/x.mty"))
        };
        assert_eq!(show("src/main.mty", "src/main.mty"), "src/x.mty");
        assert_eq!(show("./src/main.mty", "src/main.mty"), "./src/x.mty");
        assert_eq!(
            show("../pkg/src/main.mty", "src/main.mty"),
            "../pkg/src/x.mty"
        );
        assert_eq!(show("main.mty", "src/main.mty"), "../src/x.mty");
        assert_eq!(show("../src/main.mty", "src/main.mty"), "../src/x.mty");
        assert_eq!(show("../main.mty", "src/main.mty"), "/w/pkg/src/x.mty");
        assert_eq!(show(".", ""), "src/x.mty");
        assert_eq!(show("pkg/", ""), "pkg/src/x.mty");
    }

    #[test]
    fn outside_a_package_the_file_stands_alone() {
        let dir = package(&[("a.mty", "fn f() { }"), ("b.mty", "")]);
        let path = dir.path().join("a.mty");
        let loaded = load_file("a.mty", &path).unwrap();
        assert_eq!(modules(&loaded), [("a.mty".to_owned(), String::new())]);
        assert!(load_directory(".", dir.path()).unwrap().is_none());
    }

    #[test]
    fn a_broken_manifest_or_file_is_an_error() {
        let dir = package(&[("mighty.toml", "[package]\n"), ("src/main.mty", "")]);
        let path = dir.path().join("src/main.mty");
        let error = load_file("src/main.mty", &path).unwrap_err().to_string();
        assert!(error.starts_with("mighty.toml: line "), "{error}");
        let dir = package(&[MANIFEST, ("src/main.mty", "")]);
        std::fs::write(dir.path().join("src/bad.mty"), b"\xff").unwrap();
        let path = dir.path().join("src/main.mty");
        let error = load_file("src/main.mty", &path).unwrap_err().to_string();
        assert_eq!(error, "src/bad.mty: not UTF-8 at byte 0");
    }

    #[test]
    fn links_to_directories_are_not_entered() {
        let dir = package(&[MANIFEST, ("src/main.mty", "")]);
        std::os::unix::fs::symlink(dir.path().join("src"), dir.path().join("src/again")).unwrap();
        assert_eq!(sources_below(&dir.path().join("src"), 100).files.len(), 1);
    }
}
