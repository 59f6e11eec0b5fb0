//! Tests of changes in settings files: where they go, what stays, and who changes a file at the same time.
//! On a real disk, within a temporary directory.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::settings::edit::Edit;
use crate::settings::writer;

struct Home {
    dir: tempfile::TempDir,
    home: LocalHome,
}

impl Home {
    fn with(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
        fs::write(home.root().join(FILE_NAME), settings).unwrap();
        Self { dir, home }
    }

    fn file(&self) -> PathBuf {
        self.home.root().join(FILE_NAME)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn project(&self) -> PathBuf {
        let project = self.dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(&project).unwrap();
        project
    }

    fn change(&self, scope: Scope, change: &Change) -> Result<(), EditError> {
        self.changed(scope, change, &mut |_, _| Ok(())).map(drop)
    }

    fn changed(
        &self,
        scope: Scope,
        change: &Change,
        accept: &mut Accept<'_>,
    ) -> Result<Settings, EditError> {
        let seen = Seen {
            env: Overrides::default(),
            tools: &[],
        };
        SettingsStore::change(&self.home, &self.project(), scope, change, seen, accept)
    }
}

fn model(model: &str) -> Change {
    Change {
        selection: Some(("p".into(), model.into())),
        ..Change::default()
    }
}

#[test]
fn each_scope_has_its_file_and_keeps_what_it_does_not_know() {
    let home = Home::with("{\n  // mine\n  \"later\": [1.50],\n  \"model\": \"old\",\n}\n");
    let all = Change {
        thinking_level: Some(ThinkingLevel::XHigh),
        fast: Some(true),
        ..model("m")
    };
    home.change(Scope::Global, &all).unwrap();
    assert_eq!(
        home.text(),
        "{\n  // mine\n  \"later\": [1.50],\n  \"model\": \"m\",\n  \"provider\": \"p\",\n  \
         \"thinking_level\": \"x_high\",\n  \"fast\": true,\n}\n"
    );
    home.change(Scope::Project, &model("q")).unwrap();
    let project = home.project().join(PROJECT_FOLDER).join(FILE_NAME);
    assert_eq!(
        fs::read_to_string(project).unwrap(),
        "{\n  \"provider\": \"p\",\n  \"model\": \"q\"\n}\n"
    );
    let settings = home.home.load(&home.project(), Overrides::default(), &[]);
    assert!(settings.unwrap().fast);
}

#[test]
fn what_all_layers_will_make_is_seen_before_anything_is_written() {
    let home = Home::with("{\"model\": \"fixture-model\"}");
    let level = Change {
        thinking_level: Some(ThinkingLevel::High),
        ..Change::default()
    };
    home.change(Scope::Project, &level).unwrap();
    let low = Change {
        thinking_level: Some(ThinkingLevel::Low),
        ..Change::default()
    };
    // The project's counts over it.
    let effect = home.changed(Scope::Global, &low, &mut |effect, elsewhere| {
        assert_eq!(effect.thinking_level, ThinkingLevel::High);
        assert_eq!(elsewhere.unwrap().thinking_level, ThinkingLevel::Low);
        Ok(())
    });
    assert_eq!(effect.unwrap().thinking_level, ThinkingLevel::High);
    let before = home.text();
    let refused = home.changed(Scope::Global, &model("m"), &mut |effect, _| {
        assert_eq!(
            (effect.provider.as_str(), effect.model.as_deref()),
            ("p", Some("m"))
        );
        Err("no".into())
    });
    assert!(matches!(refused, Err(EditError::Refused(_))), "{refused:?}");
    assert_eq!(home.text(), before);
    let long = home.change(Scope::Global, &model(&"m".repeat(MAX_BYTES as usize)));
    assert!(matches!(long, Err(EditError::Io { .. })), "{long:?}");
    // Another layer that can't be read.
    let project = home.project().join(PROJECT_FOLDER).join(FILE_NAME);
    fs::write(project, "{").unwrap();
    let unread = home.change(Scope::Global, &model("m"));
    assert!(matches!(unread, Err(EditError::Effect(_))), "{unread:?}");
    assert_eq!(home.text(), before);
}

#[test]
fn the_home_is_no_project() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let home = LocalHome::prepare(&cwd.join(PROJECT_FOLDER)).unwrap();
    let seen = Seen {
        env: Overrides::default(),
        tools: &[],
    };
    let project = SettingsStore::change(
        &home,
        &cwd,
        Scope::Project,
        &model("m"),
        seen,
        &mut |_, _| Ok(()),
    );
    assert!(
        matches!(project, Err(EditError::NoProject(_))),
        "{project:?}"
    );
    assert!(!home.has_project(&cwd));
    assert!(!home.root().join(FILE_NAME).exists());
}

#[test]
fn what_cannot_be_used_is_left_alone() {
    for wrong in [
        "{\"model\": \"a\", \"model\": \"b\"}",
        "{\"fast\": 1}",
        "{\"version\": 2}",
        "{",
        "[]",
        "",
    ] {
        let home = Home::with(wrong);
        let error = home.change(Scope::Global, &model("m")).unwrap_err();
        assert!(matches!(error, EditError::Unusable(_)), "{error:?}");
        assert_eq!(home.text(), wrong);
    }
    // A project's file that would not be read is not written.
    let home = Home::with("{}");
    let folder = home.project().join(PROJECT_FOLDER);
    let elsewhere = home.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(FILE_NAME), "{}").unwrap();
    symlink(&elsewhere, folder).unwrap();
    let error = home.change(Scope::Project, &model("m")).unwrap_err();
    assert!(matches!(error, EditError::NoProject(_)), "{error:?}");
    assert!(!home.home.has_project(&home.project()));
    assert_eq!(fs::read_to_string(elsewhere.join(FILE_NAME)).unwrap(), "{}");
}

#[test]
fn a_link_stays_one_and_the_mode_is_kept() {
    let home = Home::with("{}");
    let real = home.dir.path().join("dotfiles.json");
    fs::write(&real, "\u{feff}{\"fast\":true}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(home.file()).unwrap();
    symlink(&real, home.file()).unwrap();
    home.change(Scope::Global, &model("m")).unwrap();
    assert!(home.file().is_symlink());
    assert_eq!(
        fs::read_to_string(&real).unwrap(),
        "\u{feff}{\"fast\":true,\"provider\":\"p\",\"model\":\"m\"}"
    );
    let metadata = fs::metadata(&real).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    let before = metadata.ino();
    home.change(Scope::Global, &model("m")).unwrap();
    assert_eq!(
        fs::metadata(&real).unwrap().ino(),
        before,
        "nothing to write"
    );
}

#[test]
fn a_command_is_allowed_where_a_person_works_and_nothing_above_is_lost() {
    let rule =
        |directory: &Path, home: &Home| home.home.allow_command(directory, "cargo test").unwrap();
    let home = Home::with("{}\n");
    let project = home.project();
    let name = project.to_str().unwrap();
    assert!(rule(&project, &home));
    let entry =
        format!("\"{name}\": {{\"permissions\": {{\"bash\": {{\"allow\": [\"cargo test\"]}}}}}}");
    assert_eq!(
        home.text(),
        format!("{{\n  \"projects\": {{{entry}}}\n}}\n")
    );
    assert!(!rule(&project, &home));

    // A word says what no rule does.
    let home = Home::with("");
    let settings =
        format!("{{\"projects\":{{\"{name}\":{{\"permissions\":{{\"bash\":\"deny\"}}}}}}}}");
    fs::write(home.file(), settings).unwrap();
    assert!(rule(&project, &home));
    assert!(
        home.text()
            .contains("{\"default\": \"deny\", \"allow\": [\"cargo test\"]}")
    );

    // An entry of its own counts whole, in place of the one above.
    let above = project.parent().unwrap().to_str().unwrap();
    let rules = "{\"bash\": {\"deny\": [\"git push\"]}, \"write\": \"ask\"}";
    let settings = format!(
        "{{\"projects\": {{\"{above}\": {{\"trusted\": true, \"permissions\": {rules}}}}}}}"
    );
    fs::write(home.file(), settings).unwrap();
    assert!(rule(&project, &home));
    let settings = home.home.load(&project, Overrides::default(), &[]).unwrap();
    assert!(settings.trusted);
    assert_eq!(settings.bash.deny, ["git push"]);
    assert_eq!(settings.bash.allow, ["cargo test"]);
    assert_eq!(settings.permissions["write"], Permission::Ask);
}

#[test]
fn nobodys_change_is_lost() {
    let home = Home::with("{}");
    let projects: Vec<_> = (0..40)
        .map(|n| {
            let project = home.project().join(format!("p{n}"));
            fs::create_dir(&project).unwrap();
            project
        })
        .collect();
    let begin = Barrier::new(projects.len());
    thread::scope(|scope| {
        for project in &projects {
            scope.spawn(|| {
                let own = LocalHome::prepare(home.home.root()).unwrap();
                begin.wait();
                own.set_trusted(project, true).unwrap();
            });
        }
    });
    let settings = home
        .home
        .load(&home.project(), Overrides::default(), &[])
        .unwrap();
    assert!(
        projects
            .iter()
            .all(|project| settings.projects.trust(project))
    );
}

#[test]
fn an_editor_that_saves_meanwhile_is_not_written_over() {
    let home = Home::with("{\"retention_days\": 0}");
    let mut saves = 0;
    // It saves between the reading and the writing, twice.
    writer::change(&home.home, None, |_| {
        if saves < 2 {
            saves += 1;
            fs::write(home.file(), format!("{{\"retention_days\": {saves}}}")).unwrap();
        }
        ((), vec![Edit::set(&["fast"], "true")])
    })
    .unwrap();
    assert_eq!(home.text(), "{\"retention_days\": 2, \"fast\": true}");
    let contended = writer::change(&home.home, None, |_| {
        saves += 1;
        fs::write(home.file(), format!("{{\"retention_days\": {saves}}}")).unwrap();
        ((), vec![Edit::set(&["fast"], "false")])
    });
    assert!(
        matches!(contended, Err(EditError::Contended(_))),
        "{contended:?}"
    );
    assert_eq!(home.text(), format!("{{\"retention_days\": {saves}}}"));
}

#[test]
fn what_cannot_be_written_changes_nothing() {
    let home = Home::with("{\"fast\": false}");
    fs::write(home.home.root().join("settings.lock"), "").unwrap();
    // A folder that is written by nobody, for whoever is no root.
    let folder = fs::Permissions::from_mode(0o500);
    fs::set_permissions(home.home.root(), folder).unwrap();
    let changed = home.change(Scope::Global, &model("m"));
    fs::set_permissions(home.home.root(), fs::Permissions::from_mode(0o700)).unwrap();
    if let Err(error) = changed {
        assert!(matches!(error, EditError::Io { .. }), "{error:?}");
        assert_eq!(home.text(), "{\"fast\": false}");
    }
}
