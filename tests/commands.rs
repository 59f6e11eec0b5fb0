//! Both programs as a person meets them: help, examples, near misses, completions, manual pages, and what happens without
//! arguments. Only the built binaries are used; every command that help names is looked at, whatever is linked.
#![cfg(all(feature = "magi", feature = "mty-agent", unix))]
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

const PROGRAMS: [(&str, &str); 2] = [
    ("magi-code", env!("CARGO_BIN_EXE_magi-code")),
    ("mty", env!("CARGO_BIN_EXE_mty")),
];

/// Examples that need what a test has not: a browser, a person, an account.
const NOT_RUN: [&str; 5] = [
    "magi-code login",
    "magi-code login anthropic --with-key",
    "magi-code mcp login tickets",
    "magi-code models --refresh anthropic",
    "pass show anthropic | magi-code login anthropic --with-key",
];

/// A folder in which every example of every help can be run.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for folder in ["work/src", "other", "mc/sessions", "home"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    let request =
        r#"{"protocol":"magi-code.application-service","version":1,"id":"1","operation":"status"}"#;
    let program = "fn main() {}\n";
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp/server.py");
    let settings =
        serde_json::json!({"mcp_servers": {"docs": {"command": "python3", "args": [server]}}});
    let session = r#"{"v":1,"n":1,"session":"2b6f0c1e-66d1-4c1a-9a0e-0c0c2f8a3c11","at":7,"body":{"type":"user_input","message_id":"m","text":"Hello"}}"#;
    for (name, text) in [
        (
            "mc/sessions/2b6f0c1e-66d1-4c1a-9a0e-0c0c2f8a3c11.jsonl",
            &*format!("{session}\n"),
        ),
        ("work/README.md", "# Readme\n"),
        ("work/requests.ndjson", &format!("{request}\n")),
        ("work/main.mty", program),
        ("work/src/lib.mty", program),
        ("mc/settings.json", &settings.to_string()),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    place
}

/// A command with nothing of this process but the path, on which both programs lie.
fn command(place: &Path, program: &str) -> Command {
    let folder = Path::new(PROGRAMS[0].1).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&path)));
    let mut command = Command::new(program);
    command
        .current_dir(place.join("work"))
        .env_clear()
        .env("PATH", path.unwrap())
        .env("HOME", place.join("home"))
        .env("MC_HOME", place.join("mc"))
        .stdin(Stdio::null());
    command
}

fn run(place: &TempDir, program: &str, args: &[&str]) -> (i32, String, String) {
    said(&command(place.path(), program).args(args).output().unwrap())
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

/// Every command and command of a command that help names, with its help; the program itself first.
fn commands(place: &TempDir, program: &str) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(line) = open.pop() {
        let mut args: Vec<&str> = line.iter().map(String::as_str).collect();
        args.push("--help");
        let (code, help, complaint) = run(place, program, &args);
        assert_eq!((code, complaint.as_str()), (0, ""), "{args:?}");
        let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for named in below.take_while(|line| !line.is_empty()) {
            // A long description goes on below, further in.
            let Some(name) = named
                .strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '))
            else {
                continue;
            };
            let name = name.split(' ').next().unwrap();
            if name != "help" {
                let mut below: Vec<String> = line.clone();
                below.push(name.to_owned());
                open.push(below);
            }
        }
        found.push((line, help));
    }
    assert!(found.len() > 6, "{found:?}");
    found
}

fn examples(help: &str) -> Vec<&str> {
    let from = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let lines = from.take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim()).collect()
}

#[test]
fn every_help_has_a_purpose_a_usage_examples_and_exit_statuses() {
    let place = place();
    for (name, program) in PROGRAMS {
        for (line, help) in commands(&place, program) {
            let whole = [&[name.to_owned()][..], &line].concat().join(" ");
            assert!(help.contains(&format!("Usage: {whole}")), "{whole}: {help}");
            assert!(!help.starts_with("Usage:"), "{whole} has no purpose");
            let examples = examples(&help);
            let own = examples.iter().any(|example| example.contains(&whole));
            // Both programs have some commands that are the same.
            let alike = examples.iter().any(|example| {
                let rest = whole.strip_prefix("mty ");
                rest.is_some_and(|rest| example.contains(&format!("magi-code {rest}")))
            });
            assert!(own || alike, "{whole} has no example: {help}");
            let statuses = help.rsplit_once("Exit status: ");
            let (before, after) = statuses
                .or_else(|| help.rsplit_once("Exit codes:\n"))
                .unwrap_or_else(|| panic!("{whole} says nothing of its exit status"));
            let says = ["0 ", "1 ", "2 "].map(|status| after.contains(status));
            assert_eq!((before.is_empty(), says), (false, [true; 3]), "{after}");
            // The same by the other way to ask.
            let mut asked: Vec<&str> = vec!["help"];
            asked.extend(line.iter().map(String::as_str));
            assert_eq!(
                run(&place, program, &asked),
                (0, help.clone(), String::new())
            );
        }
    }
}

#[test]
fn every_argument_says_what_it_is() {
    let place = place();
    for (_, program) in PROGRAMS {
        for (line, help) in commands(&place, program) {
            let mut lines = help.lines().peekable();
            while let Some(argument) = lines.next() {
                let is_one = argument.starts_with("  <")
                    || argument.starts_with("  [")
                    || argument.starts_with("      --");
                if is_one {
                    let trimmed = argument.trim();
                    let told = trimmed.split_once("  ").is_some()
                        || lines
                            .peek()
                            .is_some_and(|next| next.starts_with("          "));
                    assert!(told, "{line:?}: {argument}");
                }
            }
        }
    }
}

#[test]
fn every_example_runs() {
    let mut ran = 0;
    for (_, program) in PROGRAMS {
        for (line, help) in commands(&place(), program) {
            // Of one command they run one after another: what one makes, the next may use.
            let place = place();
            if line.first().is_some_and(|first| first == "mcp")
                && line.len() == 2
                && line[1] != "approve"
            {
                let approved = run(&place, program, &["mcp", "approve", "docs"]);
                assert_eq!(approved.0, 0, "{approved:?}");
            }
            for example in examples(&help) {
                if NOT_RUN.contains(&example) {
                    continue;
                }
                let script = format!("set -o pipefail; {example}");
                let output = command(place.path(), "bash")
                    .args(["-c", &script])
                    .output()
                    .unwrap();
                let (code, _, complaint) = said(&output);
                assert_eq!(code, 0, "{example}: {complaint}");
                ran += 1;
            }
        }
    }
    assert!(ran > 20, "{ran}");
}

#[test]
fn what_is_almost_a_command_or_an_option_is_suggested() {
    let place = place();
    let [(_, magi), (_, mty)] = PROGRAMS;
    for (program, args, meant) in [
        (magi, &["shema"][..], "'schema'"),
        (magi, &["versoin"], "'version'"),
        (
            magi,
            &["schema", "local-agent", "--markdwon"],
            "'--markdown'",
        ),
        (magi, &["completions", "bahs"], "'bash'"),
        (mty, &["agnet"], "'agent'"),
        (mty, &["schema", "--markdwon"], "'--markdown'"),
    ] {
        let (code, out, complaint) = run(&place, program, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        let told = complaint.contains("tip: ") && complaint.contains(meant);
        assert!(told, "{args:?}: {complaint}");
    }
}

#[test]
fn wrong_use_of_a_command_shows_the_usage_of_that_command() {
    let place = place();
    for (name, program) in PROGRAMS {
        for (line, _) in commands(&place, program) {
            let mut args: Vec<&str> = line.iter().map(String::as_str).collect();
            args.push("--no-such-option");
            let (code, out, complaint) = run(&place, program, &args);
            assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
            let whole = [&[name.to_owned()][..], &line].concat().join(" ");
            assert!(
                complaint.contains(&format!("Usage: {whole}")),
                "{whole}: {complaint}"
            );
        }
    }
    for args in [["schema", "nothing"], ["man", "nothing"]] {
        let (code, _, complaint) = run(&place, PROGRAMS[0].1, &args);
        let usage = format!("Usage: magi-code {}", args[0]);
        assert!(
            code == 2 && complaint.contains(&usage),
            "{args:?}: {complaint}"
        );
    }
}

/// Whether a program is there to ask. `version` must succeed with these arguments.
fn is_there(program: &str, version: &[&str]) -> bool {
    let mut asked = Command::new(program);
    asked
        .args(version)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

#[test]
fn completions_are_scripts_that_the_shells_take_and_that_know_every_command() {
    let place = place();
    for (_, program) in PROGRAMS {
        let known = commands(&place, program);
        for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
            let (code, script, complaint) = run(&place, program, &["completions", shell]);
            assert_eq!((code, complaint.as_str()), (0, ""), "{shell}");
            for name in known.iter().flat_map(|(line, _)| line) {
                assert!(script.contains(name.as_str()), "{shell} knows no {name}");
            }
            let file = place.path().join(shell);
            std::fs::write(&file, script).unwrap();
            if is_there(shell, &["-c", "true"]) {
                let checked = command(place.path(), shell).arg(check).arg(&file).output();
                assert_eq!(
                    said(&checked.unwrap()),
                    (0, String::new(), String::new()),
                    "{shell}"
                );
            }
        }
    }
    // What bash makes of it.
    let script = format!(
        "source {}; COMP_WORDS=(magi-code comp); COMP_CWORD=1; $(complete -p magi-code | grep -o '_[^ ]*' | head -n 1) magi-code comp magi-code; echo \"${{COMPREPLY[*]}}\"",
        place.path().join("bash-magi").display()
    );
    let (_, of_bash, _) = run(&place, PROGRAMS[0].1, &["completions", "bash"]);
    std::fs::write(place.path().join("bash-magi"), of_bash).unwrap();
    let completed = command(place.path(), "bash").args(["-c", &script]).output();
    assert_eq!(
        said(&completed.unwrap()),
        (0, "completions\n".to_owned(), String::new())
    );
    assert_eq!(run(&place, PROGRAMS[0].1, &["completions", "tcsh"]).0, 2);
}

#[test]
fn manual_pages_of_every_command_have_the_sections_of_one() {
    let place = place();
    for (name, program) in PROGRAMS {
        for (line, help) in commands(&place, program) {
            let mut args: Vec<&str> = vec!["man"];
            args.extend(line.iter().map(String::as_str));
            let (code, page, complaint) = run(&place, program, &args);
            assert_eq!((code, complaint.as_str()), (0, ""), "{args:?}");
            let title = [&[name.to_owned()][..], &line].concat().join("-");
            assert!(page.contains(&format!(".TH {title} 1 ")), "{page}");
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"] {
                assert!(
                    page.contains(&format!(".SH {section}\n")),
                    "{title} without {section}: {page}"
                );
            }
            assert!(
                page.contains(".SH \"EXIT STATUS\"") || page.contains(".SH \"EXIT CODES\""),
                "{page}"
            );
            let plain = page
                .replace("\\-", "-")
                .replace("\\*(Aq", "'")
                .replace("\\\\", "\\");
            for example in examples(&help) {
                assert!(plain.contains(example), "{title} without {example}: {page}");
            }
            if is_there("which", &["mandoc"]) {
                let file = place.path().join("page.1");
                std::fs::write(&file, &page).unwrap();
                let checked = command(place.path(), "mandoc")
                    .args(["-Tlint", "-Werror"])
                    .arg(&file)
                    .output();
                assert_eq!(
                    said(&checked.unwrap()),
                    (0, String::new(), String::new()),
                    "{title}"
                );
            }
        }
    }
}

/// What the program without arguments shows on a terminal, and its exit status.
fn on_a_terminal(place: &TempDir) -> (i32, String) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let terminal = File::from(rustix::fs::open(&*name, flags, Mode::empty()).unwrap());
    let mut child = command(place.path(), PROGRAMS[0].1);
    child
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal);
    let status = {
        let mut running = child.spawn().unwrap();
        // Nothing of this process may keep the terminal open.
        drop(child);
        running.wait().unwrap()
    };
    let mut shown = Vec::new();
    // On Linux the end of a terminal is an error.
    let _ = File::from(person).read_to_end(&mut shown);
    let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
    (status.code().unwrap(), shown)
}

#[test]
fn without_arguments_a_person_is_told_what_to_do_next() {
    let place = place();
    let settings =
        |text: &str| std::fs::write(place.path().join("mc/settings.json"), text).unwrap();
    settings("{}");
    let (code, fresh) = on_a_terminal(&place);
    assert_eq!(code, 0);
    assert!(fresh.starts_with("No model is chosen yet"), "{fresh}");
    #[cfg(feature = "try")]
    assert!(
        fresh.contains("  magi-code try \"What is in this project?\" "),
        "{fresh}"
    );
    assert!(
        fresh.ends_with("\nEvery command: magi-code --help\n"),
        "{fresh}"
    );
    // Every command that it names is there.
    let (_, help, _) = run(&place, PROGRAMS[0].1, &["--help"]);
    for line in fresh
        .lines()
        .filter_map(|line| line.strip_prefix("  magi-code "))
    {
        let name = line.split(' ').next().unwrap();
        assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
    }

    settings("{\"provider\":");
    let (code, broken) = on_a_terminal(&place);
    assert_eq!(code, 0);
    assert!(
        broken.starts_with("One thing keeps a start from succeeding."),
        "{broken}"
    );
    #[cfg(feature = "doctor")]
    assert!(broken.contains("  magi-code doctor "), "{broken}");

    #[cfg(feature = "providers")]
    {
        settings(
            r#"{"provider":"local","model":"tiny","providers":{"local":{"api":"openai-chat","base_url":"http://127.0.0.1:9/v1"}}}"#,
        );
        let (code, ready) = on_a_terminal(&place);
        assert_eq!(code, 0);
        assert!(ready.starts_with("Turns here go to local/tiny."), "{ready}");
    }
}

#[test]
fn without_arguments_and_without_a_terminal_it_is_wrong_use() {
    let place = place();
    for (name, program) in PROGRAMS {
        let mut child = command(place.path(), program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It reads nothing.
        let _ = child.stdin.take().unwrap().write_all(b"hello\n");
        let (code, out, complaint) = said(&child.wait_with_output().unwrap());
        assert_eq!((code, out.as_str()), (2, ""), "{name}");
        assert!(complaint.contains(&format!("Usage: {name}")), "{complaint}");
    }
}

/// Every step of the picture is run again, and what it shows is compared.
#[cfg(all(feature = "try", feature = "doctor", feature = "turn"))]
#[test]
fn the_recorded_first_minute_is_what_a_terminal_shows_today() {
    if !is_there("python3", &["--version"]) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/first-minute/record.py");
    let programs = Path::new(PROGRAMS[0].1).parent().unwrap();
    let checked = Command::new("python3")
        .arg(script)
        .arg("--check")
        .arg("--bin")
        .arg(programs)
        .output();
    assert_eq!(said(&checked.unwrap()), (0, String::new(), String::new()));
}
