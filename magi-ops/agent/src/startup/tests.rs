//! Tests of admission: what the snapshot holds for a home and a workspace on the disk.
//! What the wire says of a failed one is tested in the black-box tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::Arc;

use super::*;
use store::settings::Permission;
use tokio_util::sync::CancellationToken;

struct Place {
    dir: tempfile::TempDir,
    environment: Environment,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work/.git")).unwrap();
        let environment = Environment {
            cwd: dir.path().join("work"),
            mc_home: Some(dir.path().join("home")),
            ..Environment::default()
        };
        Self { dir, environment }
    }

    fn with(self, path: &str, content: &str) -> Self {
        let at = self.dir.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, content).unwrap();
        self
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        let var = (name.to_owned(), value.to_owned());
        self.environment.vars.push(var);
        self
    }

    fn admit(&self) -> Result<Workspace, StartupError> {
        let stop = CancellationToken::new();
        admit(&self.environment, &mut StartupStatus::default(), &stop)
    }

    fn notices(&self) -> Vec<store::Reason> {
        let mut status = StartupStatus::default();
        admit(&self.environment, &mut status, &CancellationToken::new()).unwrap();
        status.notices
    }

    fn error(&self) -> StartupErrorKind {
        self.admit().unwrap_err().kind
    }
}

fn admit(
    environment: &Environment,
    status: &mut StartupStatus,
    stop: &CancellationToken,
) -> Result<Workspace, StartupError> {
    let services = Arc::new(Services::start(environment, stop)?);
    Workspace::admit(&services, &environment.cwd, status, stop)
}

fn offered(admitted: &Workspace) -> Vec<&str> {
    admitted
        .equipment
        .offered
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}

const MODELS: &str = r#"{"model":"m1","providers":{"fixture":{"models":["m1","m2","m3"]}},
    "instructions":["extra.md"]}"#;

#[test]
fn the_prompt_holds_what_was_there_at_startup_in_order() {
    let place = Place::new()
        .with("home/settings.json", MODELS)
        .with("home/extra.md", "the extra file")
        .with("home/AGENTS.md", "the global file")
        .with("work/AGENTS.md", "the project's file")
        .with("home/agents/primary.md", "---\nname:\n---\nthe role");
    let admitted = place.admit().unwrap();
    let parts = [
        "the role",
        "<instructions source=\"global AGENTS.md\">\nthe global file\n",
        "<instructions source=\"AGENTS.md\">\nthe project's file\n",
        "<instructions source=\"global extra.md\">\nthe extra file\n",
    ];
    let places = parts.map(|part| admitted.equipment.system.find(part).unwrap());
    assert!(places.is_sorted(), "{}", admitted.equipment.system);
    let workspace = place.environment.cwd.canonicalize().unwrap();
    let line = format!("Directory: {}\n", workspace.display());
    assert!(admitted.equipment.system.contains(&line));
}

#[test]
fn a_missing_or_hidden_additional_file_is_a_configuration_that_is_not_valid() {
    let place = Place::new().with("home/settings.json", MODELS);
    assert_eq!(place.error(), StartupErrorKind::ConfigurationInvalid);
    let place = Place::new()
        .with("home/auth.json", "{}")
        .with("home/settings.json", r#"{"instructions":["auth.json"]}"#);
    assert_eq!(place.error(), StartupErrorKind::ConfigurationInvalid);
    // A project's is ignored, and said to be.
    let settings = r#"{"instructions":["../home/auth.json"]}"#;
    let place = Place::new()
        .with("home/auth.json", "{}")
        .with("work/.magi-code/settings.json", settings);
    assert_eq!(place.notices()[0].key.as_deref(), Some("instructions.0"));
}

/// What a call comes to that the tool itself allows.
fn decided(admitted: &Workspace, tool: &str) -> Permission {
    let question = tools::Question::new(tool, "");
    let access = tools::Access::new(tools::DefaultPolicy::Allow, question);
    admitted.equipment.decide(tool, &access, false).permission
}

#[test]
fn the_primary_profile_restricts_the_tools() {
    let profile = "---\ntools: [grep, read, mcp__gone__ask]\n---\n";
    let place = Place::new().with("home/agents/primary.md", profile);
    let admitted = place.admit().unwrap();
    assert_eq!(offered(&admitted), ["read", "grep"]);
    assert_eq!(decided(&admitted, "read"), Permission::Allow);
    assert_eq!(decided(&admitted, "list"), Permission::Deny);
    // It restricts and grants nothing.
    let place = place.with("home/settings.json", r#"{"permissions":{"read":"deny"}}"#);
    let admitted = place.admit().unwrap();
    assert_eq!(offered(&admitted), ["grep"]);
    assert_eq!(decided(&admitted, "read"), Permission::Deny);
    let none = Place::new().with("home/agents/primary.md", "---\ntools: []\n---\n");
    assert!(none.admit().unwrap().equipment.offered.is_empty());
}

#[test]
fn the_primary_profile_chooses_the_model_unless_the_environment_does() {
    let settings = r#"{"provider":"fixture","model":"m1","providers":{"fixture":{"models":["m1","m2","m3"]}}}"#;
    let place = || {
        Place::new()
            .with("home/settings.json", settings)
            .with("home/agents/primary.md", "---\nmodel: m2\n---\n")
    };
    let model = |place: &Place| {
        let mut status = StartupStatus::default();
        let stop = CancellationToken::new();
        let admitted = admit(&place.environment, &mut status, &stop).unwrap();
        let model = admitted.select().unwrap().choice.model;
        assert_eq!(status.model.as_ref(), Some(&model));
        // A turn that reads the settings again comes to the same.
        assert_eq!(admitted.select_now().unwrap().choice.model, model);
        model
    };
    assert_eq!(model(&place()), "m2");
    assert_eq!(model(&place().var("MC_MODEL", "")), "m2");
    assert_eq!(model(&place().var("MC_MODEL", "m3")), "m3");
    assert_eq!(model(&place().var("MC_PROVIDER", "fixture")), "m1");
    // The project's profile beats the global one, and a disabled one leaves the built-in.
    let project = "work/.magi-code/agents/primary.md";
    let off = place().with(project, "---\ndisabled: true\n---\n");
    assert_eq!(model(&off), "m1");
    assert!(off.admit().unwrap().guidance.primary.is_none());
    assert_eq!(model(&place().with(project, "---\nmodel: m3\n---\n")), "m3");
    let unknown = place().with(project, "---\nmodel: m4\n---\n");
    let selected = unknown.admit().unwrap().select();
    assert_eq!(
        selected.unwrap().choice.model,
        "m1",
        "a stranger's choice is ignored"
    );
    assert_eq!(unknown.notices().len(), 1);
    let unknown = Place::new()
        .with("home/settings.json", settings)
        .with("home/agents/primary.md", "---\nmodel: m4\n---\n");
    let error = unknown.admit().unwrap().select().unwrap_err();
    assert_eq!(error.kind, StartupErrorKind::ProviderUnavailable);
    let reason = &error.reasons[0];
    assert_eq!((reason.line, reason.column), (Some(2), Some(1)));
}

#[test]
fn an_enabled_profile_must_be_right_whoever_uses_it() {
    for (name, content) in [
        ("primary", "no front matter"),
        ("primary", "---\ntools: [read, teleport]\n---\n"),
        ("helper", "---\ntools: [teleport]\n---\n"),
        ("helper", "---\nname: [\n---\n"),
    ] {
        let place = Place::new().with(&format!("home/agents/{name}.md"), content);
        assert_eq!(place.error(), StartupErrorKind::ProfileInvalid, "{content}");
    }
    let off = "---\ndisabled: true\ntools: [teleport]\n---\n";
    let place = Place::new()
        .with("home/agents/helper.md", off)
        .with("home/agents/other.md", "---\ntools: [bash, task]\n---\n");
    let admitted = place.admit().unwrap();
    let names: Vec<_> = admitted.guidance.profiles.iter().map(|p| &p.name).collect();
    assert_eq!(names, ["other"]);
}

#[test]
fn skills_are_admitted_and_malformed_ones_are_noticed() {
    let place = Place::new()
        .with(
            "home/skills/a/SKILL.md",
            "---\nname: a\ndescription: d\n---\nbody",
        )
        .with("work/.magi-code/skills/b/SKILL.md", "words");
    let admitted = place.admit().unwrap();
    assert_eq!(&*admitted.guidance.skills[0].body, "body");
    assert_eq!(admitted.guidance.skills.len(), 1);
    let notice = "the skill `b` has no front matter between lines of `---`";
    assert_eq!(place.notices()[0].reason, notice);
}

#[test]
fn a_stopped_admission_reads_no_guidance() {
    // Would be refused if anybody read it.
    let place = Place::new().with("home/agents/primary.md", "no front matter");
    let stop = CancellationToken::new();
    stop.cancel();
    let error = admit(&place.environment, &mut StartupStatus::default(), &stop).unwrap_err();
    assert_eq!(error.kind, StartupErrorKind::Cancelled);
    assert_eq!(place.error(), StartupErrorKind::ProfileInvalid);
}

#[test]
fn a_key_that_the_settings_name_since_the_start_is_not_shown_whoever_reads_them() {
    let key = "plain-words-of-a-gateway";
    let place = Place::new()
        .with("home/settings.json", MODELS)
        .with("home/extra.md", "")
        .with(
            "home/agents/helper.md",
            "---
description: d
model: m2
---
",
        )
        .var("GATEWAY", key);
    let admitted = place.admit().unwrap();
    let of_run = admitted.select_now().unwrap();
    let profile = admitted.guidance.profile("helper").unwrap();
    assert_eq!(admitted.redactor().redact(key).as_str(), key);
    let more = MODELS.replace(
        r#""providers":{"#,
        r#""providers":{"mine":{"api":"openai-chat","base_url":"http://127.0.0.1:9","api_key_env":"GATEWAY"},"#,
    );
    let place = place.with("home/settings.json", &more);
    let selected = admitted.select_profile(&of_run, profile, "m2").unwrap();
    assert_eq!(selected.choice.model, "m2");
    let shown = admitted.redactor().redact(key);
    assert!(!shown.as_str().contains("gateway"), "{shown}");
    drop(place);
}

#[test]
fn what_is_told_of_servers_hides_secrets_also_in_paths() {
    let secret = format!("sk-proj-{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let Place { dir, environment } = Place::new();
    let cwd = Environment {
        cwd: dir.path().join(&secret),
        ..environment.clone()
    };
    fs::write(dir.path().join(&secret), "no folder").unwrap();
    let home = Environment {
        mc_home: Some(dir.path().join(&secret)),
        ..environment
    };
    for environment in [cwd, home] {
        for refused in [
            servers(&environment).map(drop),
            approve(&environment, "s", true).map(drop),
        ] {
            let reasons = refused.unwrap_err();
            let told = format!("{reasons:?}");
            assert!(!told.contains(&secret), "{told}");
        }
    }
}
