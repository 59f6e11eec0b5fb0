//! A settings file as the global one and as a project's: the same verdict, everything within its bounds, and
//! nothing of a project's that would run a command, name a key, or send one elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use store::settings::{
    MAX_BYTES, MAX_HOOK_BYTES, MAX_HOOKS, MAX_INSTRUCTIONS, MAX_NAME_BYTES, Overrides, Permission,
    Settings, SettingsError,
};
use store::{Home, LocalHome, MAX_REASONS, Reason};

use crate::input::expand_to;

const FILE_NAME: &str = "settings.json";
/// Above the longest settings file.
const MOST: usize = MAX_BYTES as usize + 100 * 1024;

/// Checks an input. Says "settings", or why there are none.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> String {
    thread_local!(static PLACE: Place = Place::new());
    let bytes = expand_to(data, MOST);
    PLACE.with(|place| {
        let global = place.load(Some(&bytes), None);
        let project = place.load(None, Some(&bytes));
        let both = place.load(Some(&bytes), Some(&bytes));
        match (global, project, both) {
            (Ok(global), Ok(project), Ok(both)) => {
                agrees(&bytes, &global);
                bounded(&global, place);
                bounded(&project, place);
                harmless(&global, &project, &both);
                "settings".to_owned()
            }
            (Err(global), Err(project), Err(both)) => {
                let (global, project) = (global.into_reasons(), project.into_reasons());
                let word = reason(&global, &place.home, &bytes);
                assert_eq!(reason(&project, &place.project, &bytes), word);
                assert!(both.into_reasons().starts_with(&global));
                word
            }
            other => panic!("{other:?}"),
        }
    })
}

/// What the first one is about. All of them stand in the file.
fn reason(reasons: &[Reason], folder: &Path, bytes: &[u8]) -> String {
    let file = folder.join(FILE_NAME);
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    assert!((1..=MAX_REASONS).contains(&reasons.len()));
    for reason in reasons {
        assert!(!reason.reason.is_empty() && reason.reason.len() < 1024);
        if reason.file.is_none() {
            continue;
        }
        assert_eq!(reason.file.as_ref(), Some(&file));
        let (Some(line), Some(column)) = (reason.line, reason.column) else {
            assert!(bytes.len() as u64 > MAX_BYTES);
            return "too long".to_owned();
        };
        assert!((1..=lines.len()).contains(&line));
        assert!((1..=lines[line - 1].len() + 1).contains(&column));
    }
    let key = reasons[0].key.as_deref().unwrap_or_default();
    match key.split('.').next().unwrap_or_default() {
        "" => "invalid".to_owned(),
        key if bytes.len() > 1 && key.len() < 32 => key.to_owned(),
        _ => "a key".to_owned(),
    }
}

/// What was taken is what stands there.
fn agrees(bytes: &[u8], settings: &Settings) {
    let json = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let Ok(value) = serde_json::from_slice::<Value>(json) else {
        // Comments and a comma behind a last member are let through, nothing else.
        let is_beyond = json.contains(&b'/') || json.contains(&b',');
        return assert!(is_beyond, "JSON");
    };
    let file = value.as_object().expect("an object");
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    let provider = text("provider").filter(|provider| !provider.is_empty());
    assert_eq!(settings.provider, provider.unwrap_or("fixture"));
    if let Some(model) = text("model") {
        assert_eq!(settings.model.as_deref(), Some(model));
    }
    let fast = file.get("fast").and_then(Value::as_bool);
    assert_eq!(settings.fast, fast.unwrap_or(false));
    let days = file.get("retention_days").and_then(Value::as_u64);
    assert_eq!(u64::from(settings.retention_days), days.unwrap_or(30));
    let members = |key: &str| {
        file.get(key)
            .and_then(Value::as_object)
            .map_or(0, |m| m.len())
    };
    assert_eq!(settings.providers.len(), members("providers"));
    let permissions = file.get("permissions").and_then(Value::as_object);
    for (tool, word) in permissions.into_iter().flatten() {
        assert!(!word.is_string() || settings.permissions.contains_key(tool));
    }
    assert_eq!(settings.hooks.len(), members("hooks"));
}

fn bounded(settings: &Settings, place: &Place) {
    assert!((1..=MAX_NAME_BYTES).contains(&settings.provider.len()));
    let model = settings.model.as_ref();
    assert!(model.is_none_or(|model| (1..=MAX_NAME_BYTES).contains(&model.len())));
    assert!(model.is_some() || settings.provider != "fixture");
    assert!(settings.compaction_threshold > 0.0 && settings.compaction_threshold <= 1.0);
    assert!(settings.instructions.len() <= MAX_INSTRUCTIONS);
    assert!(
        settings
            .instructions
            .iter()
            .all(|file| file.path.is_absolute() && file.path != place.home)
    );
    for commands in settings.hooks.values() {
        assert!(commands.len() <= MAX_HOOKS);
        assert!(commands.iter().all(|command| {
            command.len() <= MAX_HOOK_BYTES && !command.trim().is_empty() && !command.contains('\0')
        }));
    }
    let scripts = settings
        .providers
        .values()
        .flat_map(|provider| &provider.script);
    assert!(scripts.into_iter().all(|path| path.is_absolute()));
}

fn harmless(global: &Settings, project: &Settings, both: &Settings) {
    assert!(!project.fast && project.hooks.is_empty());
    assert_eq!((both.fast, &both.hooks), (global.fast, &global.hooks));
    assert!(project.providers.is_empty() && !project.trusted && !both.trusted);
    assert_eq!(both.providers, global.providers);
    assert!(project.bash.allow.is_empty() && project.bash.default <= Permission::Ask);
    assert!(
        !project
            .permissions
            .values()
            .any(|word| *word == Permission::Allow)
    );
    for (words, of_both) in [
        (&global.permissions, &both.permissions),
        (&global.code, &both.code),
    ] {
        for (tool, word) in words {
            assert!(of_both[tool] <= *word);
        }
    }
    assert!(both.bash.default <= global.bash.default);
    assert!(
        both.bash
            .allow
            .iter()
            .all(|rule| global.bash.allow.contains(rule))
    );
    assert!(
        global
            .bash
            .deny
            .iter()
            .all(|rule| both.bash.deny.contains(rule))
    );
    let parts = [&global.instructions[..], &project.instructions].concat();
    assert_eq!(both.instructions, parts);
    assert_eq!(
        (&both.provider, &both.model),
        (&global.provider, &global.model)
    );
}

/// A home and a working directory.
struct Place {
    _dir: tempfile::TempDir,
    home: PathBuf,
    cwd: PathBuf,
    project: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let (home, cwd) = (dir.path().join("home"), dir.path().join("cwd"));
        let project = cwd.join(".magi-code");
        fs::create_dir(&home).expect("a folder");
        fs::create_dir_all(&project).expect("a folder");
        Self {
            _dir: dir,
            home,
            cwd,
            project,
        }
    }

    fn load(
        &self,
        global: Option<&[u8]>,
        project: Option<&[u8]>,
    ) -> Result<Settings, SettingsError> {
        for (folder, bytes) in [(&self.home, global), (&self.project, project)] {
            let file = folder.join(FILE_NAME);
            match bytes {
                Some(bytes) => fs::write(file, bytes).expect("a file"),
                None => drop(fs::remove_file(file)),
            }
        }
        let home = LocalHome::prepare(&self.home).expect("a home");
        home.settings().load(&self.cwd, Overrides::default(), &[])
    }
}
