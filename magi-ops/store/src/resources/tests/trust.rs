//! Tests of what a project's files may lead to, trusted or not.
//! On a real disk, within a temporary directory.

use super::*;

/// A place with one secret outside of everything, and one each that is closed to models.
fn with_secrets() -> Place {
    Place::new()
        .with("outside/secret.md", skill("a", "canary", ""))
        .with("home/auth.json", skill("a", "canary", ""))
        .with("home/sessions/s.jsonl", skill("a", "canary", ""))
}

fn said(loaded: &Loaded) -> String {
    format!("{:?}", loaded.resources)
}

#[test]
fn nothing_of_an_untrusted_project_leads_out_of_it() {
    let secrets = [
        "outside/secret.md",
        "home/auth.json",
        "home/sessions/s.jsonl",
    ];
    let skill_file = format!("{PROJECT}/skills/a/SKILL.md");
    let profile = format!("{PROJECT}/agents/a.md");
    for file in [
        "repo/in/cwd/AGENTS.md",
        "repo/in/AGENTS.md",
        "repo/AGENTS.md",
        &skill_file,
        &profile,
    ] {
        for secret in secrets {
            for place in [
                with_secrets().link(file, secret),
                with_secrets().hard_link(file, secret),
            ] {
                let loaded = place.load();
                assert!(!said(&loaded).contains("canary"), "{file} {secret}");
                let notice = &loaded.notices[0];
                assert_eq!(loaded.notices.len(), 1, "{file} {secret}");
                assert_eq!(notice.file.as_deref(), Some(place.path(file).as_path()));
                // Trusted, it may lie elsewhere, but never among what is closed to models.
                let trusted = place.load_as(true, &[]).unwrap();
                let is_open = secret == secrets[0];
                assert_eq!(
                    said(&trusted).contains("canary"),
                    is_open,
                    "{file} {secret}"
                );
                assert_eq!(trusted.notices.is_empty(), is_open, "{file} {secret}");
            }
        }
    }
    let folders = ["skills", "agents"].map(|folder| format!("{PROJECT}/{folder}"));
    let files = ["outside/skills/a/SKILL.md", "outside/agents/a.md"];
    for (folder, file) in folders.iter().zip(files) {
        let target = Path::new(file).components().take(2).collect::<PathBuf>();
        let place = with_secrets()
            .with(file, skill("a", "canary", ""))
            .link(folder, target.to_str().unwrap());
        let loaded = place.load();
        assert!(!said(&loaded).contains("canary"), "{folder}");
        assert_eq!(
            notices(&loaded),
            ["this is a link, so nothing below it counts"]
        );
        assert!(said(&place.load_as(true, &[]).unwrap()).contains("canary"));
    }
    // A skill's own folder may be the link.
    let place = with_secrets()
        .with("outside/a/SKILL.md", skill("a", "canary", ""))
        .link(&format!("{PROJECT}/skills/a"), "outside/a");
    assert!(place.load().skills.is_empty());
    // What stays inside is fine, but a folder of it.
    let place = with_secrets()
        .with("repo/in/cwd/docs/own.md", "own words")
        .link("repo/in/cwd/AGENTS.md", "repo/in/cwd/docs/own.md");
    assert_eq!(texts(&place.load()), [("in/cwd/AGENTS.md", "own words")]);
    // The person's own skills and profiles hold all the same.
    let place = with_secrets()
        .with("home/skills/b/SKILL.md", skill("b", "global", ""))
        .link(&skill_file, "outside/secret.md");
    assert_eq!(place.load().skills.len(), 1);
    // A link that leads nowhere stops nothing.
    let place = with_secrets().link("repo/in/cwd/AGENTS.md", "outside/none");
    assert_eq!(place.load().notices.len(), 1);
    let place = with_secrets().link("repo/in/cwd/AGENTS.md", "repo/in/cwd/AGENTS.md");
    assert_eq!(place.load().notices.len(), 1);
}

#[test]
fn instructions_that_an_untrusted_project_names_lie_in_it() {
    let place = with_secrets()
        .with("repo/in/cwd/docs/own.md", "own words")
        .with("repo/in/above.md", "canary")
        .link("repo/in/cwd/linked.md", "outside/secret.md")
        .hard_link("repo/in/cwd/named.md", "outside/secret.md");
    let named = |path: &str| place.named(path, true);
    let stray = [
        "outside/secret.md",
        "repo/in/cwd/../above.md",
        "repo/in/cwd/linked.md",
        "repo/in/cwd/named.md",
        "home/auth.json",
    ];
    let mut files: Vec<_> = stray.map(named).into();
    files.push(named("repo/in/cwd/docs/own.md"));
    let loaded = place.load_as(false, &files).unwrap();
    assert_eq!(texts(&loaded), [("in/cwd/docs/own.md", "own words")]);
    assert_eq!(loaded.notices.len(), stray.len());
    assert!(
        loaded
            .notices
            .iter()
            .all(|notice| notice.file.as_deref() == Some(Path::new("/settings.json")))
    );
    let trusted = place.load_as(true, &files[..3]).unwrap();
    assert_eq!(
        trusted.instructions.len(),
        2,
        "one file, named twice, and one"
    );
    let trusted = place.load_as(true, &files).unwrap();
    assert!(
        trusted.instructions.len() == 4 && trusted.notices.len() == 1,
        "credentials stay closed"
    );
    // What is missing was asked for by name.
    assert!(is_refused(
        place.load_as(false, &[named("repo/in/cwd/none.md")])
    ));
    // The person's own may lie anywhere.
    assert_eq!(
        place
            .load_with(&["outside/secret.md"])
            .unwrap()
            .instructions
            .len(),
        1
    );
}

#[test]
fn an_untrusted_projects_profile_gives_no_tool_back() {
    let global = "---\ntools: [read, grep]\n---\n";
    let tools = |project: &str, trusted: bool| {
        let place = Place::new()
            .with("home/agents/primary.md", global)
            .with(&format!("{PROJECT}/agents/primary.md"), project);
        let loaded = place.load_as(trusted, &[]).unwrap();
        let tools = loaded.profiles.first().map(|profile| profile.tools.clone());
        (
            tools.map(|tools| tools.map(|tools| tools.join(" "))),
            loaded.notices.len(),
        )
    };
    let some = |tools: &str| Some(Some(tools.to_owned()));
    assert_eq!(tools("---\nname:\n---\n", false), (some("read grep"), 0));
    assert_eq!(
        tools("---\ntools: [bash, grep]\n---\n", false),
        (some("grep"), 1)
    );
    assert_eq!(
        tools("---\ndisabled: true\n---\n", false),
        (some("read grep"), 1)
    );
    assert_eq!(tools("---\nname:\n---\n", true), (Some(None), 0));
    assert_eq!(
        tools("---\ntools: [bash, grep]\n---\n", true),
        (some("bash grep"), 0)
    );
    assert_eq!(tools("---\ndisabled: true\n---\n", true), (None, 0));
}

#[test]
fn nothing_of_a_trusted_project_leads_to_credentials_of_other_programs() {
    let skill = "---\nname: a\ndescription: d\n---\n";
    for target in [
        "person/.ssh/id",
        "person/.netrc",
        "else/.aws/x",
        "else/id_rsa",
    ] {
        for hard in [false, true] {
            // A second name tells nothing of a place that is not the person's.
            if hard && target.starts_with("else") {
                continue;
            }
            for file in [
                "repo/AGENTS.md",
                "repo/in/cwd/.magi-code/skills/a/SKILL.md",
                "repo/in/cwd/.magi-code/agents/a.md",
                "repo/in/cwd/named.md",
            ] {
                let place = Place::new().with(target, skill);
                let place = match hard {
                    true => place.hard_link(file, target),
                    false => place.link(file, target),
                };
                let named = [place.named("repo/in/cwd/named.md", true)];
                let named = &named[..usize::from(file.ends_with("named.md"))];
                let user_home = place.path("person");
                let wanted = Wanted {
                    trusted: true,
                    user_home: Some(&user_home),
                    instructions: named,
                    ..Wanted::default()
                };
                let found = place.read(wanted, &|| false).unwrap();
                assert_eq!(found.resources, Resources::default(), "{file} {target}");
                assert_eq!(found.notices.len(), 1, "{file} {target}");
                assert!(found.notices[0].reason.contains("credentials"));
            }
        }
    }
    // By its path, and the person's own may.
    let place = Place::new().with("person/.netrc", "words");
    let user_home = place.path("person");
    for (of_project, read) in [(true, 0), (false, 1)] {
        let named = [place.named("person/.netrc", of_project)];
        let wanted = Wanted {
            trusted: true,
            user_home: Some(&user_home),
            instructions: &named,
            ..Wanted::default()
        };
        let found = place.read(wanted, &|| false).unwrap();
        assert_eq!(found.instructions.len(), read);
        assert_eq!(found.notices.len(), 1 - read);
    }
}
