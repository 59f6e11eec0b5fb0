//! A document under the writer of settings: what can't be read is not written, what is written says what was wanted, and every
//! byte that was not changed is still there, in its order.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use store::settings::{Change, EditError, MAX_BYTES, Overrides, Scope, Seen, ThinkingLevel};
use store::{Home, LocalHome};

use crate::input::expand_to;

/// Above the longest settings file.
const MOST: usize = MAX_BYTES as usize + 100 * 1024;
/// More than a change adds.
const ROOM: u64 = 512;
const SEEN: Seen<'_> = Seen {
    env: Overrides {
        provider: None,
        model: None,
    },
    tools: &[],
};

/// What the first byte of an input asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    Fast,
    Level,
    Selection,
    Server,
    Trust,
}

impl Wanted {
    fn of(byte: u8) -> Self {
        match byte.wrapping_sub(b'0') % 5 {
            0 => Self::Fast,
            1 => Self::Level,
            2 => Self::Selection,
            3 => Self::Server,
            _ => Self::Trust,
        }
    }

    /// The members that it changes, and what they are then.
    fn members(self) -> Vec<(&'static [&'static str], Value)> {
        match self {
            Self::Fast => vec![(&["fast"], json!(true))],
            Self::Level => vec![(&["thinking_level"], json!("x_high"))],
            Self::Selection => vec![(&["provider"], json!("p")), (&["model"], json!("m\"/"))],
            Self::Server => vec![(&["mcp_servers", "a", "approved"], json!("sha256:0"))],
            Self::Trust => vec![(&["projects", "/no/such", "trusted"], json!(true))],
        }
    }
}

/// Checks an input: a byte that says what is wanted, and the document. Says what it came to.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> String {
    thread_local!(static PLACE: Place = Place::new());
    let Some((&wanted, data)) = data.split_first() else {
        return "nothing".to_owned();
    };
    let wanted = Wanted::of(wanted);
    let before = expand_to(data, MOST);
    PLACE.with(|place| {
        fs::write(&place.file, &before).expect("a file");
        let settings = place.home.settings();
        let readable = settings.load(&place.cwd, SEEN.env, &[]).is_ok();
        let written = place.write(wanted);
        let after = fs::read(&place.file).expect("the file");
        assert!(readable || written.is_err());
        match written {
            Err(error) => {
                assert_eq!(before, after, "{error}");
                let is_full = before.len() as u64 + ROOM > MAX_BYTES;
                let is_selection =
                    matches!(wanted, Wanted::Fast | Wanted::Level | Wanted::Selection);
                assert!(!readable || !is_selection || is_full, "{error}");
                refusal(&error).to_owned()
            }
            Ok(()) => {
                stays(wanted, &before, &after);
                let read = settings.load(&place.cwd, SEEN.env, &[]);
                says(wanted, &read.expect("settings"));
                // Once more it is there already.
                place.write(wanted).expect("the same again");
                assert_eq!(fs::read(&place.file).expect("the file"), after);
                format!("{wanted:?}")
            }
        }
    })
}

fn refusal(error: &EditError) -> &'static str {
    match error {
        EditError::Unusable(_) => "unusable",
        EditError::NoObject { .. } => "no object",
        EditError::Io { .. } => "too long",
        _ => panic!("{error:?}"),
    }
}

fn says(wanted: Wanted, settings: &store::settings::Settings) {
    match wanted {
        Wanted::Fast => assert!(settings.fast),
        Wanted::Level => assert_eq!(settings.thinking_level, ThinkingLevel::XHigh),
        Wanted::Selection => assert_eq!(
            (settings.provider.as_str(), settings.model.as_deref()),
            ("p", Some("m\"/"))
        ),
        Wanted::Server => assert!(settings.mcp_servers.iter().any(|server| server.name == "a")),
        Wanted::Trust => assert!(settings.projects.trust("/no/such".as_ref())),
    }
}

/// Everything but the members that were to change is as it was.
fn stays(wanted: Wanted, before: &[u8], after: &[u8]) {
    let mark = "\u{feff}".as_bytes();
    assert_eq!(before.starts_with(mark), after.starts_with(mark));
    let object = |bytes: &[u8]| {
        let bytes = bytes.strip_prefix(mark).unwrap_or(bytes);
        serde_json::from_slice::<Map<String, Value>>(bytes)
    };
    // An entry that spells the directory otherwise is the one that is changed.
    let others = |value: &Map<String, Value>| {
        let projects = value.get("projects").and_then(Value::as_object);
        projects.into_iter().flatten().any(|(name, _)| {
            let is_it = Path::new(name) == Path::new("/no/such") || name.contains("..");
            is_it && name != "/no/such"
        })
    };
    if wanted == Wanted::Trust && object(before).is_ok_and(|value| others(&value)) {
        return;
    }
    let is_single = wanted.members().len() == 1;
    let Ok(mut values) = object(before).map(Value::Object) else {
        // With comments: no member is read here, so nothing is known of what was replaced but that it is one word.
        let is_word = matches!(wanted, Wanted::Fast | Wanted::Level);
        return assert!(!is_word || is_within(before, after) || is_value(&gone(before, after)));
    };
    let replaced = wanted
        .members()
        .into_iter()
        .filter(|(path, value)| set(&mut values, path, value.clone()))
        .count();
    let written = object(after).map(Value::Object).expect("JSON as before");
    assert_eq!(written, values);
    match replaced {
        0 => assert!(is_within(before, after), "bytes are missing"),
        // What was approved may be any text.
        1 if is_single && wanted != Wanted::Server => {
            assert!(is_value(&gone(before, after)), "more is gone")
        }
        _ => {}
    }
}

/// What of `before` lies between what both begin with and what both end with.
fn gone(before: &[u8], after: &[u8]) -> Vec<u8> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[start..], &after[start..]);
    let ends = before.iter().rev().zip(after.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    before[..before.len() - end].to_vec()
}

/// Whether it can be a part of one word, text or `null`.
fn is_value(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| byte.is_ascii_graphic() && !b",{}[]".contains(byte))
}

/// Sets a member, and makes what is missing on the way. Says whether it was there.
fn set(mut value: &mut Value, path: &[&str], wanted: Value) -> bool {
    let mut was_there = true;
    for name in path {
        let members = value.as_object_mut().expect("an object");
        was_there &= members.contains_key(*name);
        value = members.entry(*name).or_insert_with(|| json!({}));
    }
    *value = wanted;
    was_there
}

/// Whether all bytes of `few` stand in `many`, in their order.
fn is_within(few: &[u8], many: &[u8]) -> bool {
    let mut many = many.iter();
    few.iter().all(|byte| many.any(|other| other == byte))
}

/// A home and a working directory.
struct Place {
    _dir: tempfile::TempDir,
    home: LocalHome,
    file: PathBuf,
    cwd: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path");
        let cwd = root.join("cwd");
        fs::create_dir(&cwd).expect("a folder");
        let home = LocalHome::prepare(&root.join("home")).expect("a home");
        let file = root.join("home/settings.json");
        Self {
            _dir: dir,
            home,
            file,
            cwd,
        }
    }

    fn write(&self, wanted: Wanted) -> Result<(), EditError> {
        let settings = self.home.settings();
        let mut change = Change::default();
        match wanted {
            Wanted::Fast => change.fast = Some(true),
            Wanted::Level => change.thinking_level = Some(ThinkingLevel::XHigh),
            Wanted::Selection => change.selection = Some(("p".into(), "m\"/".into())),
            Wanted::Server => return settings.approve_server("a", Some("sha256:0")).map(drop),
            Wanted::Trust => return settings.set_trusted("/no/such".as_ref(), true).map(drop),
        }
        let mut accept =
            |_: &store::settings::Settings, _: Option<&store::settings::Settings>| Ok(());
        let changed = settings.change(&self.cwd, Scope::Global, &change, SEEN, &mut accept);
        changed.map(drop)
    }
}
