//! `mighty.toml` (toolchain digest, section 1.1): where it is and what it must hold. Unknown tables and keys
//! are nobody's concern here; those that are known must have their type.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::Profile;
use serde::Deserialize;

use crate::source::{SourceError, read_bounded};

/// The file's name.
pub(crate) const NAME: &str = "mighty.toml";
/// Manifests of this size and above are refused, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a check needs of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) profile: Profile,
}

#[derive(Deserialize)]
struct Document {
    package: PackageTable,
    #[serde(default)]
    deps: BTreeMap<String, Dependency>,
    #[serde(default, rename = "build")]
    _build: BuildTable,
    #[serde(default, rename = "eval")]
    _eval: EvalTable,
}

#[derive(Deserialize)]
struct PackageTable {
    name: String,
    version: String,
    #[serde(rename = "edition")]
    _edition: String,
    #[serde(default)]
    profile: ProfileWord,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProfileWord {
    #[default]
    Host,
    Web,
    Edge,
    Core,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Dependency {
    Version(String),
    Table {
        version: Option<String>,
        path: Option<String>,
        git: Option<String>,
    },
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BuildTable {
    #[serde(default, rename = "script")]
    _script: Option<String>,
    #[serde(default, rename = "allow_net")]
    _allow_net: Vec<String>,
    #[serde(default, rename = "allow_fs")]
    _allow_fs: Vec<String>,
}

#[derive(Default, Deserialize)]
struct EvalTable {
    #[serde(default, rename = "paths")]
    _paths: Vec<String>,
}

/// The directory of the nearest manifest at or above `dir`, an absolute path.
pub(crate) fn package_root(dir: &Path) -> Option<PathBuf> {
    dir.ancestors()
        .find(|d| d.join(NAME).is_file())
        .map(Path::to_path_buf)
}

/// Reads the manifest of a package directory; `shown` is its path for messages.
pub(crate) fn read(root: &Path, shown: &str) -> Result<Manifest, SourceError> {
    let text = read_bounded(&root.join(NAME), MAX_BYTES).map_err(|e| SourceError::Package {
        path: shown.to_owned(),
        why: e.to_string(),
    })?;
    parse(&text).map_err(|why| SourceError::Package {
        path: shown.to_owned(),
        why,
    })
}

fn parse(text: &str) -> Result<Manifest, String> {
    let document: Document = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |s| {
            text[..s.start.min(text.len())].matches('\n').count() + 1
        });
        format!(
            "line {line}: {}",
            e.message().lines().next().unwrap_or_default()
        )
    })?;
    if document.package.name.trim().is_empty() {
        return Err("package.name is empty".into());
    }
    if !is_version(&document.package.version) {
        return Err(format!(
            "package.version `{}` is not of the form 1.2.3",
            document.package.version
        ));
    }
    for (name, dependency) in &document.deps {
        if let Dependency::Table { version, path, git } = dependency {
            if path.is_some() && git.is_some() {
                return Err(format!("deps.{name} has both `path` and `git`"));
            }
            if version.is_none() && path.is_none() && git.is_none() {
                return Err(format!("deps.{name} has no `version`, `path` or `git`"));
            }
        } else if let Dependency::Version(requirement) = dependency
            && requirement.trim().is_empty()
        {
            return Err(format!("deps.{name} is empty"));
        }
    }
    Ok(Manifest {
        name: document.package.name,
        profile: match document.package.profile {
            ProfileWord::Host => Profile::Host,
            ProfileWord::Web => Profile::Web,
            ProfileWord::Edge => Profile::Edge,
            ProfileWord::Core => Profile::Core,
        },
    })
}

/// Three numbers, then perhaps a pre-release or build part.
fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|p| !p.is_empty() && p.len() < 20 && p.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HEAD: &str = "[package]\nname = \"geo\"\nversion = \"0.1.0\"\nedition = \"2026\"\n";

    #[test]
    fn reads_what_a_check_needs() {
        let full = format!(
            "{HEAD}profile = \"core\"\n[deps]\na = \"0.1\"\nb = {{ path = \"../b\" }}\n[eval]\npaths = [\"x\"]\n[other]\nk = 1\n"
        );
        let manifest = parse(&full).unwrap();
        assert_eq!(manifest.name, "geo");
        assert_eq!(manifest.profile, Profile::Core);
        assert_eq!(parse(HEAD).unwrap().profile, Profile::Host);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let why = |text: &str| parse(text).unwrap_err();
        assert!(
            why("").starts_with("line 1: missing field `package`"),
            "{}",
            why("")
        );
        assert!(why("[package]\nname = 5\n").starts_with("line 2: "));
        assert!(why("[package\n").starts_with("line 1: "));
        assert!(why(&format!("{HEAD}profile = \"moon\"\n")).contains("moon"));
        let version = HEAD.replace("0.1.0", "one");
        assert!(why(&version).contains("`one`"));
        assert!(
            why(&format!(
                "{HEAD}[deps]\nx = {{ path = \"a\", git = \"b\" }}\n"
            ))
            .contains("both")
        );
        assert!(why(&format!("{HEAD}[deps]\nx = {{ hash = \"a\" }}\n")).contains("deps.x has no"));
    }
}
