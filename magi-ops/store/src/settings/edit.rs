//! Changes in the global settings file: a changed value changes its own bytes only, an inserted member is written as
//! its siblings are. One change at a time, under a lock, and the file is replaced whole or not at all. The nearest entry of
//! `projects` counts whole, so whoever adds one for another reason says `trusted` in it as it held before.

use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::source::File;
use super::tree::{self, Node, Value};
use super::{FILE_NAME, MAX_BYTES};
use crate::file::{self, Links};
use crate::local::LocalHome;
use crate::reason::{Reason, first};

/// The lock's name beside the settings.
const LOCK_NAME: &str = "settings.lock";
/// What a level is indented by in a file that does not show it.
const INDENT: &str = "  ";

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file as it is can't be used, so it is left alone; at least one reason.
    #[error("{}", first(.0))]
    Unusable(Vec<Reason>),
    /// Something else than an object stands where a member was to be put.
    #[error("{}: `{key}` is no object", path.display())]
    NoObject { path: PathBuf, key: String },
    /// JSON has no way to write it.
    #[error("{} is no UTF-8", .0.display())]
    NoText(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl EditError {
    /// Why, for a person; at least one reason.
    #[must_use]
    pub fn into_reasons(self) -> Vec<Reason> {
        match self {
            Self::Unusable(reasons) => reasons,
            other => vec![Reason::new(other.to_string())],
        }
    }
}

/// See [`super::SettingsStore::set_trusted`].
pub(super) fn set_trusted(
    home: &LocalHome,
    directory: &Path,
    trusted: bool,
) -> Result<bool, EditError> {
    let name = directory
        .to_str()
        .ok_or_else(|| EditError::NoText(directory.to_owned()))?;
    change(home, |file| {
        let projects = &file.layer.projects;
        let held = super::Projects::of(projects).trust(directory);
        // Every entry for the directory, however it spells it: the strictest of them counts.
        let entries: Vec<_> = projects
            .iter()
            .filter(|(name, _)| super::projects::directory(name).as_deref() == Some(directory))
            .collect();
        let mut members: Vec<_> = entries
            .iter()
            .filter(|(_, own)| own.trusted != Some(trusted) && (trusted || own.trusted.is_some()))
            .map(|(name, _)| {
                let path = ["projects", name, "trusted"].map(str::to_owned);
                (path.to_vec(), trusted.to_string())
            })
            .collect();
        // What is not trusted by any entry needs none that says so.
        if entries.is_empty() && (trusted || held) {
            let path = ["projects", name].map(str::to_owned);
            members.push((path.to_vec(), format!("{{\"trusted\": {trusted}}}")));
        }
        (held != trusted, members)
    })
}

/// See [`super::SettingsStore::approve_server`].
pub(super) fn approve_server(
    home: &LocalHome,
    name: &str,
    digest: Option<&str>,
) -> Result<bool, EditError> {
    change(home, |file| {
        let held = file.layer.mcp_servers.get(name);
        let held = held.and_then(|server| server.approved.as_deref());
        let changes = held != digest;
        let path = ["mcp_servers", name, "approved"].map(str::to_owned);
        let value = digest.map_or_else(|| "null".to_owned(), quoted);
        (
            changes,
            changes
                .then(|| (path.to_vec(), value))
                .into_iter()
                .collect(),
        )
    })
}

/// Changes the global settings by the members that `decide` names with their values as JSON.
fn change(
    home: &LocalHome,
    decide: impl FnOnce(&File) -> (bool, Vec<(Vec<String>, String)>),
) -> Result<bool, EditError> {
    let path = home.root().join(FILE_NAME);
    // A linked file is replaced where it really is, so that the link stays one.
    let path = path.canonicalize().unwrap_or(path);
    let failed = |source| EditError::Io {
        path: path.clone(),
        source,
    };
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(file::flags(Links::Refuse))
        .open(home.root().join(LOCK_NAME))
        .map_err(failed)?;
    // Given back with the descriptor.
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
    let found = file::read(&path, MAX_BYTES).map_err(|why| EditError::Unusable(vec![*why]))?;
    let is_new = found.is_none();
    let text = found.unwrap_or_else(|| b"{}\n".to_vec());
    let file = File::of_bytes(&path, text.clone());
    if !file.problems.is_empty() {
        return Err(EditError::Unusable(file.problems.into_vec()));
    }
    let (answer, members) = decide(&file);
    if members.is_empty() {
        return Ok(answer);
    }
    let mut changed = String::from_utf8(text)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    for (member, value) in members {
        let member: Vec<_> = member.iter().map(String::as_str).collect();
        changed = set(&changed, &member, &value).map_err(|key| EditError::NoObject {
            path: path.clone(),
            key,
        })?;
    }
    let mode = match is_new {
        true => 0o600,
        false => fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o7777,
    };
    file::replace(&path, changed.as_bytes(), mode, home.staging()).map_err(failed)?;
    Ok(answer)
}

/// The text with the member under `path` set to `value`; objects that are missing on the way are made. Errs with
/// the name of a member on the way that is no object. `text` is JSON, perhaps behind a byte order mark.
fn set(text: &str, path: &[&str], value: &str) -> Result<String, String> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let json = &text[start..];
    let root = tree::parse(json).map_err(|error| error.fault.reason)?;
    let with =
        |at: Range<usize>, new: &str| [&text[..start + at.start], new, &json[at.end..]].concat();
    let mut node = &root;
    for (depth, name) in path.iter().enumerate() {
        let Value::Object(members) = &node.value else {
            return Err(path[..depth].join("."));
        };
        match members.iter().find(|member| member.name == *name) {
            Some(member) => node = &member.value,
            None => {
                // What is missing below is written in one line.
                let value = path[depth + 1..]
                    .iter()
                    .rev()
                    .fold(value.to_owned(), |value, name| {
                        format!("{{{}: {value}}}", quoted(name))
                    });
                let (at, inserted) = insertion(json, node, &quoted(name), &value);
                return Ok(with(at, &inserted));
            }
        }
    }
    Ok(with(node.span.clone(), value))
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// Which bytes of `json` to put a member of `object` in place of, and with what.
fn insertion(json: &str, object: &Node, name: &str, value: &str) -> (Range<usize>, String) {
    if let Some(last) = object.members().last() {
        let end = last.value.span.end;
        // What stands between a sibling and what is before it: a line end with an indentation, or a blank.
        let blanks = [' ', '\t', '\r', '\n'];
        let before = json[..last.name_span.start].trim_end_matches(blanks).len();
        let lead = &json[before..last.name_span.start];
        let colon = &json[last.name_span.end..last.value.span.start];
        // An only sibling stands close to its brace also where others would stand apart.
        let lead = match lead {
            "" if object.members().len() == 1 && colon.ends_with(' ') => " ",
            lead => lead,
        };
        return (end..end, format!(",{lead}{name}{colon}{value}"));
    }
    let member = format!("{name}: {value}");
    let inner = object.span.start + 1..object.span.end - 1;
    let line_end = if json.contains("\r\n") { "\r\n" } else { "\n" };
    let line = json[..object.span.start]
        .rfind('\n')
        .map_or(0, |end| end + 1);
    let indent = &json[line..];
    let indent = &indent[..indent.len() - indent.trim_start_matches([' ', '\t']).len()];
    let unit = unit(json);
    let inside = format!("{line_end}{indent}{unit}{member}{line_end}{indent}");
    (inner, inside)
}

/// What the file indents its first level by.
fn unit(json: &str) -> &str {
    let first = json.lines().skip(1).find_map(|line| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        (blank > 0 && blank < line.len()).then(|| &line[..blank])
    });
    first.unwrap_or(INDENT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_changed_value_changes_its_own_bytes_and_an_inserted_one_is_like_its_siblings() {
        let path = ["projects", "/w", "trusted"];
        for (text, expected) in [
            (
                "{}\n",
                "{\n  \"projects\": {\"/w\": {\"trusted\": true}}\n}\n",
            ),
            (
                "{\"a\":1}",
                "{\"a\":1,\"projects\":{\"/w\": {\"trusted\": true}}}",
            ),
            (
                "{\r\n\t\"a\" : 1,\r\n\t\"b\":[]\r\n}\r\n",
                "{\r\n\t\"a\" : 1,\r\n\t\"b\":[],\r\n\t\"projects\":{\"/w\": {\"trusted\": true}}\r\n}\r\n",
            ),
            (
                "{\n    \"projects\": {},\n    \"z\": 1e2\n}",
                "{\n    \"projects\": {\n        \"/w\": {\"trusted\": true}\n    },\n    \"z\": 1e2\n}",
            ),
            (
                "\u{feff}{ \"projects\": { \"/w\": { \"trusted\" :  false , \"x\": 1 } } }",
                "\u{feff}{ \"projects\": { \"/w\": { \"trusted\" :  true , \"x\": 1 } } }",
            ),
            (
                "{\n  \"projects\": {\n    \"/v\": {}\n  }\n}\n",
                "{\n  \"projects\": {\n    \"/v\": {},\n    \"/w\": {\"trusted\": true}\n  }\n}\n",
            ),
            (
                "{\n  \"projects\": {\n    \"/w\": {\"permissions\": {}}\n  }\n}\n",
                "{\n  \"projects\": {\n    \"/w\": {\"permissions\": {}, \"trusted\": true}\n  }\n}\n",
            ),
        ] {
            assert_eq!(set(text, &path, "true").unwrap(), expected);
        }
        assert_eq!(
            set("{\"projects\": 1}", &path, "true"),
            Err("projects".to_owned())
        );
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Into::into),
            "[a-z\"\\\\é]{0,4}".prop_map(serde_json::Value::from)
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_else_changes(value in json(), path in prop::collection::vec("[a-d]", 1..4), pretty in any::<bool>()) {
            prop_assume!(value.is_object());
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let names: Vec<_> = path.iter().map(String::as_str).collect();
            let mut expected = value.clone();
            let mut slot = Some(&mut expected);
            for name in &names {
                slot = slot.filter(|at| at.is_object()).map(|at| {
                    if at.get(name).is_none() {
                        at[*name] = serde_json::json!({});
                    }
                    &mut at[*name]
                });
            }
            match (set(&text.unwrap(), &names, "7"), slot) {
                (Ok(changed), Some(slot)) => {
                    *slot = 7.into();
                    let changed: serde_json::Value = serde_json::from_str(&changed).unwrap();
                    prop_assert_eq!(changed, expected);
                }
                (Err(_), None) => {}
                (changed, _) => prop_assert!(false, "{:?}", changed),
            }
        }
    }
}
