//! What a call would touch: the defaults, what a person is asked, and that an admission holds.
//! Only the public API; places with credentials are tested in `credentials.rs`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use store::settings::Permission;
use support::{look, place};
use tokio_util::sync::CancellationToken;
use tools::DefaultPolicy::{Allow, Ask};
use tools::policy::{Policy, Rules};
use tools::{Access, Context, Question, ToolSet};

mod support;

fn writing(path: &str) -> Value {
    json!({ "path": path, "content": "text" })
}

#[tokio::test]
async fn reading_is_allowed_and_commands_ask() {
    let place = place();
    let tools = place.tools();
    for (tool, input, expected) in [
        (
            "read",
            json!({ "path": "/etc/passwd" }),
            (Allow, true, "read outside the workspace: /etc/passwd"),
        ),
        ("list", json!({}), (Allow, true, "list: .")),
        (
            "glob",
            json!({ "pattern": "*.rs", "path": "src" }),
            (Allow, true, "glob: *.rs in src"),
        ),
        (
            "grep",
            json!({ "pattern": "x", "glob": "*.c" }),
            (Allow, true, "grep: x in . (glob *.c)"),
        ),
        (
            "grep",
            json!({ "pattern": "x", "path": "/etc" }),
            (Allow, true, "grep outside the workspace: x in /etc"),
        ),
        ("skill", json!({ "name": "pdf" }), (Allow, true, "skill")),
        ("unknown", json!("x"), (Allow, true, "unknown")),
    ] {
        let (default, parallel, summary) = look(&tools, tool, input).await;
        assert_eq!((default, parallel, summary.as_str()), expected);
    }
}

#[tokio::test]
async fn writing_asks_outside_the_workspace_wherever_links_lead() {
    let place = place();
    symlink(&place.outside, place.workspace.join("out")).unwrap();
    symlink(
        place.outside.join("later"),
        place.workspace.join("dangling"),
    )
    .unwrap();
    symlink(&place.workspace, place.outside.join("in")).unwrap();
    fs::create_dir(place.workspace.join("sub")).unwrap();
    let tools = place.tools();
    let outside = |name: &str| {
        format!(
            "outside the workspace: {}",
            place.outside.join(name).display()
        )
    };
    let back = place.outside.join("in/sub/x");
    for (path, default, words) in [
        ("a.rs", Allow, ": a.rs".to_owned()),
        ("new/deep/a.rs", Allow, ": new/deep/a.rs".to_owned()),
        (back.to_str().unwrap(), Allow, ": sub/x".to_owned()),
        ("sub/../.github/x", Allow, ": .github/x".to_owned()),
        ("../outside/x", Ask, outside("x")),
        ("sub/../../outside/x", Ask, outside("x")),
        ("out/x", Ask, outside("x")),
        ("dangling", Ask, outside("later")),
        ("out/../x", Ask, "outside the workspace: ".to_owned()),
        // The tools refuses these.
        ("../home/auth.json", Allow, ": ../home/auth.json".to_owned()),
        ("", Allow, String::new()),
    ] {
        for tool in ["write", "edit"] {
            let (found, parallel, summary) = look(&tools, tool, writing(path)).await;
            assert_eq!((found, parallel), (default, false), "{path}");
            assert!(
                summary.starts_with(tool) && summary.contains(&words),
                "{path}: {summary}"
            );
        }
    }
    assert_eq!(look(&tools, "write", json!({})).await.0, Allow);
    assert_eq!(look(&tools, "edit", json!({ "path": 5 })).await.0, Allow);
}

#[tokio::test]
async fn what_widens_a_models_rights_asks_inside_too() {
    let place = place();
    fs::create_dir_all(place.workspace.join(".git/hooks")).unwrap();
    fs::create_dir(place.workspace.join("home")).unwrap();
    symlink(".git/hooks", place.workspace.join("scripts")).unwrap();
    symlink("real-settings", place.workspace.join("alias")).unwrap();
    let mut context = place.context();
    context.protected = vec![
        place.workspace.join("home"),
        PathBuf::from("alias"),
        PathBuf::from("later/settings.json"),
    ];
    let tools = ToolSet::registered(context).unwrap();
    for path in [
        ".magi-code/settings.json",
        ".magi-code/skills/x/SKILL.md",
        "sub/.magi-code/settings.json",
        ".Magi-Code/settings.json",
        "AGENTS.md",
        "sub/agents.md",
        "sub/new/AGENTS.md",
        ".githooks/pre-push",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        "vendor/.git/modules/x/config",
        "scripts/pre-commit",
        "home/settings.json",
        "home/new/x",
        "real-settings",
        "later/settings.json",
        "x/../later/./settings.json",
    ] {
        let (default, _, summary) = look(&tools, "write", writing(path)).await;
        assert_eq!(default, Ask, "{path}");
        assert!(
            summary.starts_with("write to a protected place: "),
            "{summary}"
        );
    }
    for path in [
        ".gitignore",
        "later/settings",
        "git/config",
        "magi-code/x",
        "homes/x",
    ] {
        assert_eq!(
            look(&tools, "write", writing(path)).await.0,
            Allow,
            "{path}"
        );
    }
    // What lies above the workspace has its own name.
    let inner = place.workspace.join(".magi-code/work");
    fs::create_dir_all(&inner).unwrap();
    let tools = ToolSet::registered(Context::new(inner, Vec::new())).unwrap();
    assert_eq!(look(&tools, "write", writing("a")).await.0, Allow);
}

#[tokio::test]
async fn what_is_asked_is_one_bounded_line_that_hides_nothing() {
    let place = place();
    let path = format!(
        "../outside/{}\u{202e}\n{}",
        "a/".repeat(1000),
        "b/".repeat(900)
    );
    let (default, _, summary) = look(&place.tools(), "write", writing(&(path + "c"))).await;
    assert_eq!(default, Ask);
    assert!(
        summary.len() <= 960 && !summary.contains(['\n', '\u{202e}']),
        "{summary}"
    );
}

#[tokio::test]
async fn an_admission_holds_for_the_place_that_was_looked_at() {
    let place = place();
    place.write("inside/file", "one");
    let link = place.workspace.join("link");
    symlink("inside", &link).unwrap();
    let tools = place.tools();
    let cancel = CancellationToken::new;
    for (tool, input) in [
        ("write", json!({ "path": "link/file", "content": "two" })),
        (
            "edit",
            json!({ "path": "link/file", "old": "o", "new": "i" }),
        ),
    ] {
        let access = tools.access(tool, &input).await;
        assert_eq!(access.default, Allow);
        fs::remove_file(&link).unwrap();
        symlink(&place.outside, &link).unwrap();
        fs::write(place.outside.join("file"), "outside").unwrap();
        let outcome = tools
            .run_admitted(tool, &input, &access, None, cancel())
            .await;
        assert_eq!(outcome.summary, "path changed");
        assert_eq!(fs::read(place.outside.join("file")).unwrap(), b"outside");
        fs::remove_file(&link).unwrap();
        symlink("inside", &link).unwrap();
        let outcome = tools
            .run_admitted(tool, &input, &access, None, cancel())
            .await;
        assert!(!outcome.is_error, "{}", outcome.content);
    }
    assert_eq!(place.read("inside/file"), b"twi");
    // What was refused when it was looked at does not become allowed by a change.
    symlink(&place.hidden, place.workspace.join("other")).unwrap();
    let input = writing("other/new");
    let access = tools.access("write", &input).await;
    fs::remove_file(place.workspace.join("other")).unwrap();
    symlink(&place.outside, place.workspace.join("other")).unwrap();
    let outcome = tools
        .run_admitted("write", &input, &access, None, cancel())
        .await;
    assert_eq!(outcome.summary, "path changed");
    assert!(!place.outside.join("new").exists());
    // Tools that write nothing are not concerned.
    let input = json!({ "path": "inside/file" });
    let access = tools.access("read", &input).await;
    let outcome = tools
        .run_admitted("read", &input, &access, None, cancel())
        .await;
    assert_eq!(outcome.content, "     1\ttwi\n");
}

#[tokio::test]
async fn a_link_that_is_swapped_all_the_time_never_leads_outside() {
    let place = place();
    let door = place.workspace.join("door");
    let away = place.workspace.join("away");
    fs::create_dir(&door).unwrap();
    symlink(&place.outside, &away).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (stop, door) = (Arc::clone(&stop), door.clone());
        move || {
            // The directory and the link change their names at one stroke.
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &door, CWD, &away, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        }
    });
    let tools = place.tools();
    let input = writing("door/file");
    let (mut written, mut refused) = (0, 0);
    for _ in 0..100 {
        let access = tools.access("write", &input).await;
        if access.default != Allow {
            continue;
        }
        // One admission may be used long after the look; here at several moments.
        for _ in 0..8 {
            let cancel = CancellationToken::new();
            let outcome = tools
                .run_admitted("write", &input, &access, None, cancel)
                .await;
            if outcome.is_error {
                refused += 1;
            } else {
                written += 1;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(written > 0, "{refused} were refused");
    let outside: Vec<_> = fs::read_dir(&place.outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(outside, ["notes.txt"]);
}

#[tokio::test]
async fn rules_judge_command_lines_in_their_workspace() {
    let place = place();
    place.write("sub/file", "");
    fs::create_dir(place.workspace.join(".git")).unwrap();
    symlink(&place.outside, place.workspace.join("out")).unwrap();
    symlink(".git", place.workspace.join("link")).unwrap();
    fs::write(place.outside.join("first"), "").unwrap();
    fs::hard_link(place.outside.join("first"), place.workspace.join("second")).unwrap();
    let mut context = place.context();
    context.rules = Rules::new(Permission::Ask, ["ls", "cd"], ["git push"]);
    let tools = ToolSet::registered(context).unwrap();
    let policy = Policy::new([("bash".to_owned(), Permission::Ask)].into());
    let inside = place.workspace.join("x").to_str().unwrap().to_owned();
    for (command, expected) in [
        ("ls", Permission::Allow),
        ("ls > sub/new", Permission::Allow),
        ("ls > sub/../x", Permission::Allow),
        (&format!("ls > {inside}"), Permission::Allow),
        (&format!("cd sub; ls > {inside}"), Permission::Allow),
        ("ls > /dev/null 2>&1", Permission::Allow),
        ("cd sub; ls > x", Permission::Ask),
        ("ls > second", Permission::Ask),
        ("ls >> second", Permission::Ask),
        ("ls > out/x", Permission::Ask),
        ("ls > ../x", Permission::Ask),
        ("ls > .git/config", Permission::Ask),
        ("ls > link/config", Permission::Ask),
        ("ls > sub/AGENTS.md", Permission::Ask),
        ("ls > .magi-code/settings.json", Permission::Ask),
        ("ls > $(echo x)", Permission::Ask),
        ("make", Permission::Ask),
        ("ls; git push", Permission::Deny),
    ] {
        let access = tools.access("bash", &json!({ "command": command })).await;
        let decision = policy.decide("bash", &access);
        assert_eq!(decision.permission, expected, "{command}: {decision:?}");
    }
    // What is going to be refused is not asked for; the longest line is.
    for (bytes, expected) in [
        (32 * 1024, Permission::Ask),
        (32 * 1024 + 1, Permission::Allow),
    ] {
        let line = json!({ "command": format!("make {}", "x".repeat(bytes - 5)) });
        let access = tools.access("bash", &line).await;
        assert_eq!(
            policy.decide("bash", &access).permission,
            expected,
            "{bytes}"
        );
    }
    // A profile that leaves the tool out beats every rule.
    let access = tools.access("bash", &json!({ "command": "ls" })).await;
    let none = Policy::new([("bash".to_owned(), Permission::Deny)].into());
    assert_eq!(none.decide("bash", &access).permission, Permission::Deny);
    let access = tools
        .access("bash", &json!({ "command": "git push" }))
        .await;
    let denial = policy.decide("bash", &access).denial("bash");
    assert!(
        denial.contains("permissions.bash.deny: \"git push\""),
        "{denial}"
    );
}

/// Inside snippets the words of `permissions.code` hold, both ways; what rules deny stays denied, and what none can allow is
/// asked for.
#[tokio::test]
async fn words_of_snippets_hold_in_snippets_both_ways() {
    use Permission::{Allow, Ask, Deny};
    let home = tempfile::tempdir().unwrap();
    let mut context = Context::new(home.path().to_owned(), Vec::new());
    context.rules = Rules::new(Ask, ["echo"], ["git push"]);
    let tools = ToolSet::registered(context).unwrap();
    let words = |words: &[(&str, Permission)]| -> BTreeMap<String, Permission> {
        words
            .iter()
            .map(|(tool, word)| ((*tool).to_owned(), *word))
            .collect()
    };
    let direct = Policy::new(words(&[("bash", Ask), ("read", Deny), ("list", Allow)]));
    for (tool, input, own, inside, expected, found) in [
        (
            "read",
            json!({"path": "x"}),
            Deny,
            Some(Allow),
            Allow,
            "snippet_word",
        ),
        ("read", json!({"path": "x"}), Deny, None, Deny, "word"),
        ("list", json!({}), Allow, Some(Deny), Deny, "snippet_word"),
        (
            "glob",
            json!({"pattern": "x"}),
            Allow,
            Some(Ask),
            Ask,
            "snippet_word",
        ),
        (
            "bash",
            json!({"command": "ls"}),
            Ask,
            Some(Allow),
            Allow,
            "snippet_word",
        ),
        ("bash", json!({"command": "ls"}), Ask, None, Ask, "default"),
        (
            "bash",
            json!({"command": "echo a"}),
            Allow,
            Some(Ask),
            Ask,
            "snippet_word",
        ),
        (
            "bash",
            json!({"command": "echo a"}),
            Allow,
            Some(Deny),
            Deny,
            "snippet_word",
        ),
        (
            "bash",
            json!({"command": "git push"}),
            Deny,
            Some(Allow),
            Deny,
            "deny",
        ),
        (
            "bash",
            json!({"command": "echo $(ls)"}),
            Ask,
            Some(Allow),
            Ask,
            "substitution",
        ),
    ] {
        let access = tools.access(tool, &input).await;
        assert_eq!(
            direct.decide(tool, &access).permission,
            own,
            "{tool} {input}"
        );
        let snippets = direct.of_snippets(
            inside
                .map(|word| (tool.to_owned(), word))
                .into_iter()
                .collect(),
        );
        let decision = snippets.decide(tool, &access);
        assert_eq!(
            (decision.permission, decision.rule()),
            (expected, found),
            "{tool} {input} {inside:?}"
        );
        assert_eq!(snippets.word(tool), inside.or(direct.word(tool)));
    }
    let access = tools.access("bash", &json!({"command": "ls"})).await;
    let decision = direct.of_snippets(words(&[])).decide("bash", &access);
    assert!(
        decision
            .unasked("bash")
            .contains("`permissions.code.bash` set to `allow`")
    );
    let decision = direct
        .of_snippets(words(&[("bash", Deny)]))
        .decide("bash", &access);
    assert!(decision.denial("bash").contains("(permissions.code.bash)"));
}

#[test]
fn what_an_agent_does_not_have_is_not_said_to_be_denied_by_the_settings() {
    let words = [("read", Permission::Allow), ("bash", Permission::Deny)];
    let words = words.map(|(tool, word)| (tool.to_owned(), word));
    let policy = Policy::new(words.into()).without(["read", "bash", "write"].map(str::to_owned));
    let beneath = policy.of_snippets([("read".to_owned(), Permission::Allow)].into());
    let access = Access::new(Allow, Question::new("x", ""));
    for policy in [policy, beneath] {
        for (tool, by_settings) in [("read", false), ("write", false), ("bash", true)] {
            let decision = policy.decide(tool, &access);
            assert_eq!(decision.permission, Permission::Deny, "{tool}");
            assert_eq!(policy.word(tool), Some(Permission::Deny), "{tool}");
            let denial = decision.denial(tool);
            assert_eq!(denial.contains("settings"), by_settings, "{denial}");
        }
        assert_eq!(policy.decide("grep", &access).permission, Permission::Allow);
    }
}
