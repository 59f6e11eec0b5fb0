//! The commands for people of `magi-code`: `try`, `help`, `version`, `schema`. Only the built binary is used.
#![cfg(all(feature = "try", feature = "turn", unix))]
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("work")).unwrap();
    std::fs::write(place.path().join("work/README.md"), "# Readme\n").unwrap();
    place
}

fn command(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_magi-code"));
    command
        .args(args)
        .current_dir(place.join("work"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", place.join("home"))
        .env("MC_HOME", place.join("mc"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(place: &TempDir, args: &[&str], stdin: &[u8]) -> Ran {
    let mut child = command(place.path(), args).spawn().unwrap();
    // A command that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn sessions(place: &TempDir) -> usize {
    std::fs::read_dir(place.path().join("mc/sessions")).map_or(0, Iterator::count)
}

#[test]
fn try_reads_its_prompt_from_the_input_where_a_dash_says_so() {
    let place = place();
    let ran = run(
        &place,
        &["try", "-"],
        "What is here, in ünïcode?\n".as_bytes(),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("offline demonstration"), "{}", ran.out);
    let dir = std::fs::read_dir(place.path().join("mc/sessions")).unwrap();
    let files = dir.map(|entry| entry.unwrap().path());
    let file = files
        .into_iter()
        .find(|file| file.extension().is_some_and(|e| e == "jsonl"));
    let text = std::fs::read_to_string(file.unwrap()).unwrap();
    assert!(text.contains("What is here, in ünïcode?"), "{text}");
}

#[test]
fn try_refuses_a_prompt_that_is_none_before_anything_is_made() {
    let place = place();
    let long = "x".repeat(16_385);
    for (given, stdin, why) in [
        ("", "", "the prompt is blank"),
        (" \n\t", "", "the prompt is blank"),
        ("-", "", "the prompt is blank"),
        (
            &long,
            "",
            "the prompt has 16385 bytes; at most 16,384 are taken",
        ),
        (
            "-",
            &"é".repeat(9_000),
            "the prompt has more than 16,384 bytes; at most 16,384 are taken",
        ),
    ] {
        let ran = run(&place, &["try", given], stdin.as_bytes());
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert_eq!(ran.err, format!("magi-code try: {why}\n"));
    }
    let ran = run(&place, &["try", "-"], b"\xff");
    assert!(
        ran.code == 2 && ran.err.contains("not UTF-8"),
        "{}",
        ran.err
    );
    assert_eq!(sessions(&place), 0);
}

#[test]
fn try_says_what_is_wrong_with_its_directory() {
    let place = place();
    let none = place.path().join("none");
    let file = place.path().join("work/README.md");
    for (dir, why) in [
        (
            &none,
            format!("{}: No such file or directory", none.display()),
        ),
        (&file, format!("{} is no directory", file.display())),
    ] {
        let ran = run(&place, &["try", "--cwd", dir.to_str().unwrap(), "hi"], b"");
        assert_eq!(ran.code, 2);
        assert!(
            ran.err.starts_with(&format!("magi-code try: --cwd: {why}")),
            "{}",
            ran.err
        );
    }
}

#[test]
fn frames_stand_on_lines_of_their_own_where_both_outputs_are_one() {
    let place = place();
    let script = place.path().join("script.json");
    std::fs::write(
        &script,
        r#"{"turns":[{"steps":[{"text":"one two three four five six","chunks":6,"delay_ms":20}]}]}"#,
    )
    .unwrap();
    std::fs::create_dir(place.path().join("mc")).unwrap();
    let settings = serde_json::json!({ "providers": { "fixture": { "script": script } } });
    std::fs::write(place.path().join("mc/settings.json"), settings.to_string()).unwrap();
    let all = std::fs::File::create(place.path().join("all")).unwrap();
    let status = command(place.path(), &["try", "--frames", "hi"])
        .stdout(all.try_clone().unwrap())
        .stderr(all)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let all = std::fs::read_to_string(place.path().join("all")).unwrap();
    assert!(
        all.lines().filter(|line| line.starts_with("← {")).count() > 3,
        "{all}"
    );
    for line in all.lines() {
        let at = line.find(['→', '←']);
        assert!(at.is_none_or(|at| at == 0), "{line}");
    }
}

#[test]
fn help_and_version_are_commands() {
    let place = place();
    let help = run(&place, &["help"], b"");
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(
        help.out.contains("Usage: magi-code") && help.out.contains("  version "),
        "{}",
        help.out
    );
    let of = run(&place, &["help", "try"], b"");
    assert!(
        of.out.contains("Usage: magi-code try") && of.out.contains("reads it from standard input"),
        "{}",
        of.out
    );
    let version = run(&place, &["version"], b"");
    assert_eq!(version.code, 0);
    let expected = format!("magi-code {}\ndialects: ", env!("CARGO_PKG_VERSION"));
    assert!(version.out.starts_with(&expected), "{}", version.out);
    assert!(
        version.out.contains("features: ") && version.out.contains("turn"),
        "{}",
        version.out
    );
    assert_eq!(run(&place, &["--version"], b"").out, version.out);
    assert_eq!(run(&place, &["help", "nothing"], b"").code, 2);
}

#[test]
fn schema_of_another_binary_says_which() {
    let place = place();
    let other = run(&place, &["schema", "mty-agent"], b"");
    assert_eq!(other.code, 2);
    assert!(
        other
            .err
            .starts_with("error: mty-agent is the other binary's: mty schema\n"),
        "{}",
        other.err
    );
    let none = run(&place, &["schema", "local_agent"], b"");
    assert_eq!(none.code, 2);
    assert!(
        none.err
            .starts_with("error: no dialect `local_agent` in this build; it serves "),
        "{}",
        none.err
    );
    assert!(none.err.contains("Usage: magi-code schema"), "{}", none.err);
}

#[test]
fn an_answer_that_nobody_can_get_is_a_failure() {
    let place = place();
    for args in [
        &["version"][..],
        &["help"],
        &["schema", "local-agent"],
        &["try", "hi"],
    ] {
        let output = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" >&-"])
            .arg(env!("CARGO_BIN_EXE_magi-code"))
            .args(args)
            .current_dir(place.path().join("work"))
            .env("HOME", place.path().join("home"))
            .env("MC_HOME", place.path().join("mc"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("standard output is closed"),
            "{args:?}: {said}"
        );
    }
    assert_eq!(sessions(&place), 0);
}

#[cfg(all(feature = "catalog", feature = "providers"))]
#[test]
fn models_are_listed_one_a_line_and_a_failed_refresh_names_its_provider() {
    let place = place();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = serde_json::json!({"provider": "mine", "model": "b", "providers": {
        "mine": {"api": "openai-responses", "base_url": format!("http://{}/v1", server.local_addr().unwrap())},
        "listed": {"api": "ollama", "models": ["x", "y"]},
    }});
    std::fs::create_dir_all(place.path().join("mc")).unwrap();
    std::fs::write(place.path().join("mc/settings.json"), settings.to_string()).unwrap();
    let unknown = run(&place, &["models", "mine"], b"");
    assert_eq!((unknown.code, unknown.out.as_str()), (0, ""));
    assert!(
        unknown.err.contains("magi-code models --refresh mine"),
        "{}",
        unknown.err
    );

    let answering = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut asked = [0; 4096];
        let read = std::io::Read::read(&mut stream, &mut asked).unwrap();
        let body = r#"{"data":[{"id":"b"},{"id":"a"},{"id":"off","disabled":true}]}"#;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        String::from_utf8_lossy(&asked[..read]).into_owned()
    });
    let refreshed = run(&place, &["models", "--refresh"], b"");
    assert!(answering.join().unwrap().starts_with("GET /v1/models "));
    assert_eq!(refreshed.code, 0, "{}", refreshed.err);
    let all = "fixture/fixture-model\nlisted/x\nlisted/y\nmine/b\nmine/a\n";
    assert_eq!(refreshed.out, all);
    // Kept, and nobody is asked: the server is gone.
    let kept = run(&place, &["models", "mine"], b"");
    assert_eq!(
        (kept.code, kept.out.as_str(), kept.err.as_str()),
        (0, "b\na\n", "")
    );
    let failed = run(&place, &["models", "--refresh", "mine"], b"");
    assert_eq!((failed.code, failed.out.as_str()), (1, "b\na\n"));
    assert!(failed.err.contains("mine"), "{}", failed.err);
    let why = "the provider cannot be reached at 127.0.0.1:";
    assert!(failed.err.contains(why), "{}", failed.err);
    let keyless = run(&place, &["models", "--refresh", "anthropic"], b"");
    assert_eq!(keyless.code, 1);
    assert!(keyless.err.contains("ANTHROPIC_API_KEY"), "{}", keyless.err);
    let none = run(&place, &["models", "nobody"], b"");
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    assert!(none.err.contains("no such provider"), "{}", none.err);
}
