//! The front matter of skills and profiles: flat, bounded, refused with fixed words; what was read is read again
//! from any other way to write it. Each input is one skill and one profile of a home.

use std::fs;
use std::path::PathBuf;

use store::resources::{
    MAX_DESCRIPTION_BYTES, MAX_PROFILE_BYTES, Profile, ResourceError, Resources, Skill, Wanted,
};
use store::{Home, LocalHome, Reason, Reasons};

use crate::input::expand_to;

/// Above the longest skill.
const MOST: usize = 300 * 1024;
/// The directory of the skill, and the stem of the profile's file.
const NAME: &str = "a-b";

/// Checks an input. Gives what the skill came to, and what the profile did: "skill", "profile", "disabled", or
/// the reason of the refusal.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> [String; 2] {
    thread_local!(static PLACE: Place = Place::new());
    PLACE.with(|place| read(&expand_to(data, MOST), place))
}

fn read(bytes: &[u8], place: &Place) -> [String; 2] {
    let (skill, skill_said) = place.skill(bytes);
    let (profile, profile_said) = place.profile(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        other_line_ends(place, text, skill.as_ref(), profile.as_ref());
    }
    if let Some(skill) = skill {
        assert!(!skill.description.is_empty());
        bounded(&skill.name, &skill.description, &skill.body, bytes);
        assert_eq!(skill.name, NAME);
        let fields = [
            ("name", quoted(NAME)),
            ("description", quoted(&skill.description)),
        ];
        let text = written(&fields, &skill.body);
        // Quoting may make a file longer than one may be.
        if text.len() <= 16 * 1024 {
            let again = place.skill(text.as_bytes()).0;
            assert_eq!(again, Some(skill), "{text:?}");
        }
    }
    if let Some(profile) = profile {
        bounded(&profile.name, &profile.description, &profile.body, bytes);
        assert!(
            profile
                .model
                .as_ref()
                .is_none_or(|model| { !model.trim().is_empty() && model.len() <= 256 })
        );
        assert!(
            profile
                .tools
                .as_ref()
                .is_none_or(|tools| tools.len() <= 256)
        );
        let tools = profile.tools.as_ref().map(|tools| {
            let tools: Vec<_> = tools.iter().map(|tool| quoted(tool)).collect();
            format!("[{}]", tools.join(", "))
        });
        let fields = [
            ("name", quoted(&profile.name)),
            ("description", quoted(&profile.description)),
            ("model", profile.model.as_deref().map_or("~".into(), quoted)),
            ("tools", tools.unwrap_or_default()),
        ];
        let text = written(&fields, &profile.body);
        if text.len() <= 16 * 1024 {
            let again = place.profile(text.as_bytes()).0;
            let named = profile.named.clone();
            let again = again.map(|again| Profile { named, ..again });
            assert_eq!(again, Some(profile), "{text:?}");
        }
    }
    [skill_said, profile_said]
}

fn bounded(name: &str, description: &str, body: &str, bytes: &[u8]) {
    assert!((1..=64).contains(&name.len()));
    assert!(
        name.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    );
    assert!(description.len() <= MAX_DESCRIPTION_BYTES && description.trim() == description);
    let text = std::str::from_utf8(bytes).expect("text");
    assert!(body.trim() == body && text.trim_end().ends_with(body));
}

/// A scalar in double quotes, for any text.
fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out + "\""
}

fn written(fields: &[(&str, String)], body: &str) -> String {
    let fields: String = fields
        .iter()
        .map(|(key, value)| format!("{key}: {value}\n"))
        .collect();
    format!("---\n{fields}---\n\n{body}\n")
}

/// A file of an editor that ends lines with CR LF says the same.
fn other_line_ends(place: &Place, text: &str, skill: Option<&Skill>, profile: Option<&Profile>) {
    if text.contains('\r') || text.len() > MAX_PROFILE_BYTES / 2 {
        return;
    }
    let other = text.replace('\n', "\r\n");
    let lf = |body: &str| body.replace("\r\n", "\n");
    // A front matter at its bound is longer so.
    if other.len() > 16 * 1024 {
        return;
    }
    let found = place.skill(other.as_bytes()).0;
    let found = found.map(|found| Skill {
        body: lf(&found.body).into(),
        ..found
    });
    assert_eq!(found.as_ref(), skill, "{other:?}");
    let found = place.profile(other.as_bytes()).0;
    let named = profile.map(|profile| profile.named.clone());
    let found = found.map(|found| Profile {
        body: lf(&found.body),
        named: named.unwrap_or_default(),
        ..found
    });
    assert_eq!(found.as_ref(), profile, "{other:?}");
}

/// A home of its own.
struct Place {
    _dir: tempfile::TempDir,
    home: LocalHome,
    root: PathBuf,
    cwd: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path").join("home");
        let home = LocalHome::prepare(&root).expect("a home");
        for folder in ["agents", &format!("skills/{NAME}"), "cwd"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        Self {
            cwd: root.join("cwd"),
            home,
            root,
            _dir: dir,
        }
    }

    /// Reads the resources with one more file, which is gone afterwards.
    fn load(&self, file: &str, bytes: &[u8]) -> Result<(Resources, Vec<Reason>), ResourceError> {
        let file = self.root.join(file);
        fs::write(&file, bytes).expect("a file");
        let load = || {
            let mut notices = Reasons::default();
            self.home
                .resources(&self.cwd, Wanted::default(), &|| false, &mut notices)
                .map(|read| (read, notices.into_vec()))
        };
        let (one, other) = (load(), load());
        assert_eq!(one.as_ref().ok(), other.as_ref().ok());
        fs::remove_file(&file).expect("a file");
        one
    }

    fn skill(&self, bytes: &[u8]) -> (Option<Skill>, String) {
        let loaded = self.load(&format!("skills/{NAME}/SKILL.md"), bytes);
        let (mut loaded, mut notices) = loaded.expect("a skill stops nothing");
        assert!(loaded.profiles.is_empty() && loaded.instructions.is_empty());
        let skill = loaded.skills.pop();
        // Members that nobody knows are told, and keep nothing from being taken.
        let strange = "the front matter has an unknown member `";
        notices.retain(|notice| !notice.reason.starts_with(strange));
        assert!(loaded.skills.is_empty() && notices.len() <= 1);
        let said = match (notices.pop(), &skill) {
            (Some(notice), None) => {
                let reason = notice.reason.strip_prefix(&format!("the skill `{NAME}` "));
                reason_of(reason.expect("a notice names the skill"))
            }
            (None, Some(_)) => "skill".to_owned(),
            (None, None) => "disabled".to_owned(),
            (Some(notice), Some(_)) => panic!("taken, and {notice}"),
        };
        (skill, said)
    }

    fn profile(&self, bytes: &[u8]) -> (Option<Profile>, String) {
        match self.load(&format!("agents/{NAME}.md"), bytes) {
            Ok((mut loaded, _)) => {
                let profile = loaded.profiles.pop();
                assert!(loaded.profiles.is_empty());
                let said = profile.as_ref().map_or("disabled", |_| "profile");
                (profile, said.to_owned())
            }
            Err(ResourceError::Profiles(reasons)) => {
                let reason = reasons[0].reason.strip_prefix("the profile ");
                (None, reason_of(reason.expect("it names the profile")))
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Every reason, none of which shows what stands in the file.
fn reason_of(reason: &str) -> String {
    // The one reason that names a member of the file.
    if reason.starts_with("has an unknown member `") {
        return "has an unknown member".to_owned();
    }
    let known = [
        "is too long",
        "is not UTF-8",
        "has no front matter between lines of `---`",
        "has a front matter that is too long",
        "has a front matter that is not valid YAML",
        "has a front matter that is not a mapping",
        "has a front matter with a key that is not text",
        "has a front matter with a field twice",
        "has a front matter of several documents",
        "has a field that should be text",
        "has a field that should be true or false",
        "has a field that should be a list of texts",
        "has a name that is not its directory's",
        "has a name beyond `[a-z0-9-]{1,64}`",
        "has no description",
        "has a description that is too long",
        "names a model that is too long",
        "names too many tools",
    ];
    assert!(known.contains(&reason), "{reason:?}");
    reason.to_owned()
}
