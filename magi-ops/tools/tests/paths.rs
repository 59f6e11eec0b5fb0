//! Which paths the tools open and walk: hidden ones, special files, links, `.gitignore`.
//! Only the public API.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use support::{mkfifo, place};
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

mod support;

#[tokio::test]
async fn hidden_paths_are_refused_however_they_are_reached() {
    let place = place();
    let auth = place.hidden.join("auth.json");
    symlink(&auth, place.workspace.join("link")).unwrap();
    symlink(&place.hidden, place.workspace.join("dir")).unwrap();
    symlink("dir", place.workspace.join("dir2")).unwrap();
    symlink("/proc/self/root", place.workspace.join("root")).unwrap();
    let through_root = format!("root{}", auth.display());
    for path in [
        auth.to_str().unwrap(),
        "link",
        "dir/auth.json",
        "dir2/auth.json",
        "../home/auth.json",
        "../work/../home/./auth.json",
        "dir/none.json",
        &through_root,
        "/proc/self/environ",
        "/dev/null",
    ] {
        let outcome = place.err("read", json!({ "path": path })).await;
        assert_eq!(outcome.summary, "path refused", "{path}");
        assert!(!outcome.content.contains("secret"));
    }
    for tool in ["list", "glob", "grep"] {
        for path in ["dir", "../home", "/proc"] {
            let mut input = json!({ "path": path });
            if tool != "list" {
                input["pattern"] = json!("secret");
            }
            let outcome = place.err(tool, input).await;
            assert_eq!(outcome.summary, "path refused");
        }
    }
    // From above, the hidden directory is neither listed nor entered, and links are not followed.
    let list = place.ok("list", json!({ "path": ".." })).await;
    assert_eq!(list.content.lines().count(), 3);
    assert!(!list.content.contains("home/"));
    let grep = place
        .ok("grep", json!({ "pattern": "secret|outside", "path": ".." }))
        .await;
    assert_eq!(
        grep.content,
        format!("{}:1: outside\n", place.outside.join("notes.txt").display())
    );
    let glob = place
        .ok("glob", json!({ "pattern": "auth.json", "path": ".." }))
        .await;
    assert_eq!(glob.content, "[no file matches]\n");
}

#[tokio::test]
async fn a_hidden_path_that_appears_later_or_is_a_link_is_hidden() {
    let place = place();
    symlink(&place.hidden, place.outside.join("alias")).unwrap();
    let later = place.outside.join("alias/sessions");
    let tools = ToolSet::registered(Context::new(place.workspace.clone(), vec![later])).unwrap();
    fs::create_dir(place.hidden.join("sessions")).unwrap();
    fs::write(place.hidden.join("sessions/s.jsonl"), "private").unwrap();
    let path = place.hidden.join("sessions/s.jsonl");
    let outcome = tools
        .run("read", &json!({ "path": path }), CancellationToken::new())
        .await;
    assert_eq!(outcome.summary, "path refused");
}

#[tokio::test]
async fn a_hard_link_to_a_hidden_file_is_hidden() {
    let place = place();
    fs::hard_link(place.hidden.join("auth.json"), place.workspace.join("hard")).unwrap();
    fs::write(place.workspace.join("one"), "secret of my own\n").unwrap();
    fs::hard_link(place.workspace.join("one"), place.workspace.join("two")).unwrap();
    let tools = ToolSet::registered(Context::new(
        place.workspace.clone(),
        vec![place.hidden.join("auth.json")],
    ))
    .unwrap();
    let run = |tool, input| {
        let tools = &tools;
        async move { tools.run(tool, &input, CancellationToken::new()).await }
    };
    let outcome = run("read", json!({"path": "hard"})).await;
    assert!(
        outcome.is_error && !outcome.content.contains("secret"),
        "{outcome:?}"
    );
    let outcome = run("read", json!({"path": "two"})).await;
    assert!(outcome.content.contains("of my own"), "{outcome:?}");
    let outcome = run("grep", json!({"pattern": "secret"})).await;
    assert!(!outcome.content.contains("hard:"), "{outcome:?}");
    assert!(
        outcome.content.contains("one:") && outcome.content.contains("two:"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn reading_outside_the_workspace_names_no_directory() {
    let place = place();
    let outcome = place
        .ok("read", json!({ "path": place.outside.join("notes.txt") }))
        .await;
    assert_eq!(outcome.summary, "1 line");
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let place = place();
    mkfifo(&place.workspace.join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(place.workspace.join("socket")).unwrap();
    for (path, kind) in [("fifo", "FIFO"), ("socket", "socket")] {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("grep", json!({ "path": path, "pattern": "x" })),
        ] {
            let outcome = place.err(tool, input).await;
            assert_eq!(
                outcome.content,
                format!("refused: {path} is a {kind}, not a regular file")
            );
        }
    }
    let list = place.ok("list", json!({})).await;
    assert_eq!(
        list.content,
        ".: 2 entries\n        fifo  fifo\n      socket  socket\n"
    );
    assert!(
        place
            .err("read", json!({ "path": "." }))
            .await
            .content
            .contains("is a directory")
    );
    let missing = place.err("read", json!({ "path": "none" })).await;
    assert_eq!(missing.content, "no such file or directory: none");
    place.write("file", "");
    let outcome = place.err("list", json!({ "path": "file" })).await;
    assert!(
        outcome.content.contains("is not a directory"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn a_fifo_named_gitignore_holds_nothing_up() {
    let place = place();
    place.write("sub/a.rs", "fn a() {}\n");
    mkfifo(&place.workspace.join(".gitignore"));
    mkfifo(&place.workspace.join("sub/.gitignore"));
    let outcome = place.ok("glob", json!({ "pattern": "*.rs" })).await;
    assert_eq!(
        outcome.content,
        "sub/a.rs\n[2 .gitignore files were not honoured]\n"
    );
}

#[tokio::test]
async fn gitignore_is_honoured_from_the_top_down() {
    let place = place();
    place.write(
        ".gitignore",
        "# comment\ntarget/\n*.log\n!keep.log\n/only-top\n",
    );
    place.write("sub/.gitignore", "local\n");
    // Another repository inside: the outer rules end there.
    place.write("vendor/.git/config", "");
    place.write("vendor/v.log", "");
    for path in [
        "target/x",
        "a.log",
        "keep.log",
        "only-top",
        "sub/only-top",
        "sub/local",
        "local",
        "sub/deep/b.log",
        ".git/config",
    ] {
        place.write(path, "");
    }
    let outcome = place.ok("glob", json!({ "pattern": "*" })).await;
    assert_eq!(
        outcome.content,
        ".gitignore\nkeep.log\nlocal\nsub/.gitignore\nsub/only-top\nvendor/v.log\n"
    );
    // The rules above the searched directory hold, too.
    let outcome = place
        .ok("glob", json!({ "pattern": "*", "path": "sub" }))
        .await;
    assert_eq!(outcome.content, "sub/.gitignore\nsub/only-top\n");
}

#[tokio::test]
async fn rules_above_a_workspace_without_a_repository_are_not_its_own() {
    let place = place();
    fs::write(place.workspace.join("../.gitignore"), "*\n").unwrap();
    place.write("a.rs", "");
    let outcome = place.ok("glob", json!({ "pattern": "*" })).await;
    assert_eq!(outcome.content, "a.rs\n");
}

#[tokio::test]
async fn a_tilde_is_the_persons_home() {
    let place = place();
    fs::write(place.outside.join("notes.txt"), "at home\n").unwrap();
    place.write("~odd", "odd\n");
    let mut context = place.context();
    context.home = Some(place.outside.clone());
    let tools = ToolSet::registered(context).unwrap();
    let run = async |tool, input| tools.run(tool, &input, CancellationToken::new()).await;
    for path in ["~/notes.txt", "~//notes.txt", "~/./notes.txt"] {
        let outcome = run("read", json!({ "path": path })).await;
        assert!(outcome.content.contains("at home"), "{path}: {outcome:?}");
    }
    let outcome = run("list", json!({ "path": "~" })).await;
    assert!(outcome.content.contains("notes.txt"), "{outcome:?}");
    // The ordinary rules outside the workspace.
    let input = json!({ "path": "~/new.txt", "content": "x" });
    let access = tools.access("write", &input).await;
    assert_eq!(access.default, tools::DefaultPolicy::Ask);
    assert_eq!(
        access
            .question
            .render(&redact::Redactor::default(), 960)
            .into_string(),
        format!(
            "write outside the workspace: {}",
            place.outside.join("new.txt").display()
        )
    );
    assert_eq!(
        tools.subject("write", &input),
        "new.txt outside the workspace"
    );
    for path in ["~root/x", "~odd", "~~"] {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
        ] {
            let outcome = run(tool, input).await;
            assert!(
                outcome.content.contains(&format!(
                    "another person's home can't be named; write ./{path}"
                )),
                "{outcome:?}"
            );
        }
    }
    let outcome = run("read", json!({ "path": "./~odd" })).await;
    assert!(outcome.content.contains("odd"), "{outcome:?}");
    let homeless = place.err("read", json!({ "path": "~/notes.txt" })).await;
    assert!(homeless.content.contains("nobody's home"), "{homeless:?}");
    assert!(!place.workspace.join("~").exists());
}

#[tokio::test]
async fn a_call_says_what_it_is_about() {
    let place = place();
    let tools = place.tools();
    let absolute = place.workspace.join("src/lib.rs");
    let elsewhere = place.outside.join("deep/notes.txt");
    for (tool, input, subject) in [
        ("read", json!({ "path": "README.md" }), "README.md"),
        ("read", json!({ "path": "./a/../b.rs", "limit": 5 }), "b.rs"),
        (
            "edit",
            json!({ "path": absolute, "old": "secret" }),
            "src/lib.rs",
        ),
        (
            "write",
            json!({ "path": elsewhere }),
            "notes.txt outside the workspace",
        ),
        ("list", json!({}), ""),
        ("list", json!({ "path": place.workspace }), "."),
        ("grep", json!({ "pattern": "secret", "path": "src" }), "src"),
        ("glob", json!({ "pattern": "secret" }), ""),
        ("read", json!({ "path": "a\nb\u{202e}" }), "a\\nb\\u{202e}"),
        ("bash", json!({ "command": "cargo test --all" }), "cargo"),
        (
            "bash",
            json!({ "command": "cd src && KEY=secret /usr/bin/git log | head -5; git x" }),
            "cd, git, head",
        ),
        ("bash", json!({ "command": "'my prog' x; $SHELL -c y" }), ""),
        (
            "bash",
            json!({ "command": "cat <<end\nsecret words\nend" }),
            "cat",
        ),
        ("bash", json!({ "command": "echo 'a; rm b > c'" }), "echo"),
        (
            "bash",
            json!({ "command": "ls >out.txt 2>& 1 | wc -l < in && cat <(sort a)" }),
            "ls, wc, cat, sort",
        ),
        ("made up", json!({ "path": "x" }), ""),
        ("read", json!(5), ""),
    ] {
        assert_eq!(tools.subject(tool, &input), subject, "{input}");
    }
    let long = format!("a/{}/b.rs", "x".repeat(500));
    assert_eq!(tools.subject("read", &json!({ "path": long })), long);
    let longer = tools.subject("read", &json!({ "path": "x".repeat(5000) }));
    assert!(longer.len() <= 200 && longer.ends_with('…'), "{longer}");
}
