//! Black-box tests of the commands for people: `mty check`, `mty fmt`, `mty fix` (toolchain digest, sections 4, 6
//! and 7). Only the built binary is used.
#![cfg(all(feature = "check", feature = "fix", feature = "fmt", unix))]
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

#[path = "mty_cli/fix.rs"]
mod fix;

const CLEAN: &str = "fn main() {\n  log(\"hi\")\n}\n";
const BAD: &str = "fn main() {\n  let n = 10_\n  log(n)\n}\n";
const MANIFEST: &str = "[package]\nname = \"geo\"\nversion = \"0.1.0\"\nedition = \"2026\"\n";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn mty(cwd: &Path, args: &[&str], stdin: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mty"))
        .args(args)
        .current_dir(cwd)
        .env("MC_HOME", cwd.join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn read(dir: &TempDir, path: &str) -> String {
    std::fs::read_to_string(dir.path().join(path)).unwrap()
}

#[test]
fn check_of_clean_files_says_ok_for_each() {
    let dir = dir(&[("a.mty", CLEAN), ("b.mty", CLEAN)]);
    let ran = mty(dir.path(), &["check", "a.mty", "b.mty"], "");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "ok: a.mty\nok: b.mty\n", "")
    );
    let ran = mty(dir.path(), &["check", "--format", "json", "a.mty"], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let ran = mty(dir.path(), &["check", "--json", "a.mty"], "");
    assert_eq!(
        ran.out,
        "{\"ok\":true,\"path\":\"a.mty\",\"diagnostics\":[]}\n"
    );
}

#[test]
fn check_reports_on_stderr_without_colour() {
    let dir = dir(&[("é.mty", "// é\nfn f() {\n  let é = 10_\n}\n")]);
    let ran = mty(dir.path(), &["check", "é.mty"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("error[MT0006]: "), "{}", ran.err);
    for part in [
        "é.mty:3:11",
        "3 |   let é = 10_\n",
        "  |           ^^^",
        "help: write `10`",
        "1 error\n",
    ] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
    assert!(!ran.err.contains('\x1b'));
}

#[test]
fn pretty_reports_of_crlf_and_hostile_text() {
    let text = "fn f() {\r\n  let a = \"\x1b[31m\"\r\n  let b = 10_\r\n}\r\n";
    let dir = dir(&[("a.mty", text)]);
    let ran = mty(dir.path(), &["check", "a.mty"], "");
    assert!(
        ran.err.contains("3 |   let b = 10_\n  |           ^^^"),
        "{}",
        ran.err
    );
    let dir = self::dir(&[("a.mty", "fn f() { let \x1b[31m = 1 }\n")]);
    let ran = mty(dir.path(), &["check", "a.mty"], "");
    assert_eq!(ran.code, 1);
    assert!(!ran.err.contains('\x1b'), "{:?}", ran.err);
}

#[test]
fn json_lines_are_the_agents_without_kind() {
    let dir = dir(&[("a.mty", BAD)]);
    let ran = mty(
        dir.path(),
        &["check", "--format", "json", "--include-source", "a.mty"],
        "",
    );
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let request = r#"{"op":"check","path":"a.mty","include_source":true}"#;
    let agent = mty(dir.path(), &["agent"], &format!("{request}\n"));
    let line = agent.out.lines().next().unwrap();
    assert_eq!(
        line.replacen(r#""kind":"envelope","#, "", 1),
        ran.out.trim_end()
    );
    assert!(!ran.out.ends_with("\n\n"));
    let ran = mty(
        dir.path(),
        &["check", "--format", "json-result", "a.mty"],
        "",
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let title = document["diagnostics"][0]["message"].as_str().unwrap();
    let expected = format!(
        concat!(
            r#"{{"ok":false,"path":"a.mty","diagnostics":[{{"code":"MT0006","severity":"error","message":{},"#,
            r#""span":{{"file":"a.mty","line":2,"col":11,"end_line":2,"end_col":14}}}}]}}"#
        ),
        serde_json::to_string(title).unwrap()
    );
    assert_eq!(ran.out.trim_end(), expected);
}

#[test]
fn directories_are_packages_or_heaps_of_files() {
    let dir = dir(&[
        ("pkg/mighty.toml", MANIFEST),
        ("pkg/src/main.mty", "fn main() { log(util.twice(2)) }\n"),
        (
            "pkg/src/util.mty",
            "pub fn twice(n: I32) -> I32 { n * 2_ }\n",
        ),
        ("loose/a.mty", CLEAN),
        ("loose/b/c.mty", BAD),
        ("loose/notes.txt", BAD),
    ]);
    let ran = mty(dir.path(), &["check", "--format", "json", "pkg"], "");
    assert_eq!(ran.out.lines().count(), 1);
    assert!(
        ran.out.contains(r#""file":"pkg/src/util.mty""#),
        "{}",
        ran.out
    );
    let ran = mty(
        dir.path(),
        &[
            "check",
            "--format",
            "json",
            "pkg/src/main.mty",
            "pkg/src/util.mty",
            "loose",
        ],
        "",
    );
    let files: Vec<String> = ran
        .out
        .lines()
        .map(|l| {
            serde_json::from_str::<Value>(l).unwrap()["span"]["file"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        files,
        ["pkg/src/util.mty", "loose/b/c.mty"],
        "a package is told once"
    );
    // A package below a heap of files is still one package.
    let ran = mty(dir.path(), &["check", "--format", "json", "."], "");
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert_eq!(ran.code, 1);
}

#[test]
fn check_of_what_cannot_be_read_exits_1_and_goes_on() {
    let dir = dir(&[("a.mty", CLEAN)]);
    std::fs::write(dir.path().join("bytes.mty"), b"\xff").unwrap();
    let ran = mty(dir.path(), &["check", "none.mty", "bytes.mty", "a.mty"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, "ok: a.mty\n"));
    assert_eq!(
        ran.err,
        "error: path not found: none.mty\nerror: not UTF-8 at byte 0: bytes.mty\n"
    );
    let ran = mty(dir.path(), &["check", "--json", "none.mty"], "");
    assert_eq!(
        ran.out,
        "{\"ok\":false,\"path\":\"none.mty\",\"diagnostics\":[]}\n"
    );
    assert_eq!(mty(dir.path(), &["check"], "").code, 2);
    assert_eq!(
        mty(dir.path(), &["check", "--format", "xml", "a.mty"], "").code,
        2
    );
}

#[test]
fn fmt_writes_checks_and_streams() {
    let ugly = "fn main(){log( \"hi\" )}\n";
    let broken = "fn main( { }\n";
    let dir = dir(&[
        ("d/a.mty", ugly),
        ("d/b.mty", CLEAN),
        ("d/c.txt", ugly),
        ("d/e.mty", broken),
    ]);
    let ran = mty(dir.path(), &["fmt", "--check", "d"], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (1, "would reformat: d/a.mty\n")
    );
    assert!(ran.err.contains("d/e.mty:1:") && ran.err.contains("1 file would change, 2 unchanged"));
    assert_eq!(read(&dir, "d/a.mty"), ugly);
    let piped = mty(dir.path(), &["fmt", "--stdin"], ugly);
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
    assert_eq!(
        mty(dir.path(), &["fmt", "--stdin", "--check"], ugly).code,
        1
    );
    let ran = mty(dir.path(), &["fmt", "d"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(read(&dir, "d/a.mty"), piped.out);
    assert_eq!(
        (read(&dir, "d/c.txt"), read(&dir, "d/e.mty")),
        (ugly.into(), broken.into())
    );
    assert_eq!(mty(dir.path(), &["fmt", "--check", "d"], "").code, 0);
    let refused = mty(dir.path(), &["fmt", "--stdin"], broken);
    assert_eq!((refused.code, refused.out.as_str()), (0, broken));
    let ran = mty(dir.path(), &["fmt", "none.mty", "d/c.txt"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("path not found: none.mty") && ran.err.contains("d/c.txt"));
    assert_eq!(mty(dir.path(), &["fmt"], "").code, 2);
}

#[test]
fn warnings_never_hide_an_error_and_a_cut_is_told() {
    let many = "fn f() { }\n".repeat(10_100);
    let text = format!("{many}fn main() {{ let n: I32 = \"x\" }}\n");
    let dir = dir(&[("a.mty", &text), ("w.mty", &many)]);
    let cut = "too many reports: more than 10,000, the rest is left out";
    let ran = mty(dir.path(), &["check", "--format", "json", "a.mty"], "");
    assert_eq!(ran.code, 1);
    let errors = ran
        .out
        .lines()
        .filter(|l| l.contains(r#""severity":"error""#));
    assert_eq!((errors.count(), ran.out.lines().count()), (1, 10_000));
    assert_eq!(ran.err, format!("a.mty: {cut}\n"));
    let ran = mty(dir.path(), &["check", "--json", "w.mty"], "");
    assert!(ran.code == 0 && ran.out.starts_with(r#"{"ok":true,"#));
    assert_eq!(ran.err, format!("w.mty: {cut}\n"));
    let ran = mty(
        dir.path(),
        &["agent"],
        "{\"op\":\"check\",\"path\":\"a.mty\"}\n",
    );
    assert_eq!(ran.code, 1);
    // The agent's answer holds a mebibyte of them.
    let is_envelope = |line: &&str| line.starts_with(r#"{"kind":"envelope""#);
    let sent = ran.out.lines().filter(is_envelope).count();
    let last: Vec<&str> = ran.out.lines().skip(sent).collect();
    let log = |text: &str| format!(r#"{{"kind":"log","stream":"stderr","text":"{text}"}}"#);
    assert_eq!(last[0], log(cut));
    let left_out = 10_000 - sent;
    assert_eq!(
        last[1],
        log(&format!(
            "{left_out} of 10000 diagnostics are left out: an answer holds 1 MiB of them"
        ))
    );
    assert!(last[2].contains(r#""ok":false,"diagnostics_count":10000"#));
    assert_eq!(last.len(), 4);
}

#[test]
fn directories_that_cannot_be_read_are_errors() {
    let deep = format!("{}a.mty", "d/".repeat(70));
    let dir = dir(&[
        (&format!("loose/{deep}"), CLEAN),
        ("pkg/mighty.toml", MANIFEST),
        ("pkg/src/main.mty", CLEAN),
        (&format!("pkg/src/{deep}"), CLEAN),
        ("locked/b/c.mty", CLEAN),
    ]);
    for path in ["loose", "pkg", "pkg/src/main.mty"] {
        let ran = mty(dir.path(), &["check", path], "");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{path}");
        assert!(ran.err.contains("cannot read"), "{}", ran.err);
    }
    for args in [&["fmt", "loose"][..], &["fmt", "--check", "loose"]] {
        let ran = mty(dir.path(), args, "");
        assert_eq!(ran.code, 1);
        assert!(ran.err.starts_with("error: cannot read loose/d/d/"));
    }
    let request = "{\"op\":\"check\",\"path\":\"pkg/src/main.mty\"}\n";
    let ran = mty(dir.path(), &["agent"], request);
    assert!(ran.code == 1 && ran.out.contains(r#""kind":"error""#));
    let lock = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.path().join("locked/b");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    lock(0o000);
    // A privileged user reads it all the same.
    let wanted = i32::from(std::fs::read_dir(dir.path().join("locked/b")).is_err());
    let codes = ["check", "fmt"].map(|command| mty(dir.path(), &[command, "locked"], "").code);
    lock(0o700);
    assert_eq!(codes, [wanted; 2]);
}

#[test]
fn directories_beside_the_sources_are_checked_and_nothing_is_told_twice() {
    let dir = dir(&[
        ("pkg/mighty.toml", MANIFEST),
        ("pkg/src/main.mty", "fn main() { log(10_) }\n"),
        ("pkg/tests/a.mty", "fn test_a() { log(20_) }\n"),
        ("pkg/tests/b.mty", CLEAN),
    ]);
    let files = |args: &[&str]| {
        let all = [&["check", "--format", "json"], args].concat();
        let ran = mty(dir.path(), &all, "");
        assert_eq!(ran.code, 1, "{}", ran.err);
        let file = |l: &str| serde_json::from_str::<Value>(l).unwrap()["span"]["file"].clone();
        let mut files: Vec<Value> = ran.out.lines().map(file).collect();
        files.sort_by_key(ToString::to_string);
        files
    };
    let both = ["pkg/src/main.mty", "pkg/tests/a.mty"];
    assert_eq!(files(&["pkg/tests"]), both);
    assert_eq!(files(&["."]), both.map(|file| format!("./{file}")));
    assert_eq!(files(&["pkg/tests/a.mty", "pkg/tests/b.mty", "pkg"]), both);
    let ran = mty(dir.path(), &["check", "--json", "pkg/tests"], "");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["diagnostics"].as_array().unwrap().len(), 2);
    assert_eq!(document["ok"], false);
    // One without sources stands for its package.
    std::fs::create_dir(dir.path().join("pkg/docs")).unwrap();
    assert_eq!(files(&["pkg/docs"]), both[..1]);
}

#[test]
fn fmt_never_rewrites_through_a_link_what_is_no_source() {
    let ugly = "fn main(){log( \"hi\" )}\n";
    let dir = dir(&[("notes.txt", ugly), ("d/a.txt", ugly), ("b.mty", ugly)]);
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, dir.path().join(at)).unwrap();
    link("notes.txt", "n.mty");
    link("../b.mty", "d/b.mty");
    link("a.txt", "d/a.mty");
    let ran = mty(dir.path(), &["fmt", "n.mty"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("`.mty` expected: n.mty"), "{}", ran.err);
    let ran = mty(dir.path(), &["fmt", "d"], "");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            1,
            "error: no `.mty` file in this directory: d\n0 files changed, 0 unchanged\n"
        )
    );
    for path in ["notes.txt", "d/a.txt", "b.mty"] {
        assert_eq!(read(&dir, path), ugly);
    }
    // A named link to a source is its source.
    assert_eq!(mty(dir.path(), &["fmt", "d/b.mty"], "").code, 0);
    assert_ne!(read(&dir, "b.mty"), ugly);
}

#[test]
fn an_output_that_takes_nothing_is_an_io_error() {
    let dir = dir(&[("a.mty", CLEAN)]);
    let code = |args: &str, to: &str| {
        let script = format!("exec \"$0\" {args} {to}");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_mty")])
            .current_dir(dir.path())
            .env("MC_HOME", dir.path().join("home"))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(CLEAN.as_bytes());
        child.wait().unwrap().code().unwrap()
    };
    let mut outputs = vec![">&-"];
    if Path::new("/dev/full").exists() {
        outputs.push(">/dev/full");
    }
    for to in outputs {
        for args in [
            "check a.mty",
            "check --json a.mty",
            "fmt --stdin",
            "explain MT0001",
        ] {
            assert_eq!(code(args, to), 1, "{args} {to}");
        }
        assert_eq!(code("agent", to), 2, "agent {to}");
    }
}

#[test]
fn what_holds_no_mighty_source_is_not_called_right() {
    let dir = dir(&[("README.md", "# Read me\n"), ("empty/notes.txt", "x\n")]);
    let ran = mty(dir.path(), &["check", "README.md"], "");
    assert_eq!(ran.code, 1);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        (
            "",
            "error: not a Mighty source file, `.mty` expected: README.md\n"
        )
    );
    let ran = mty(dir.path(), &["check", "empty"], "");
    assert_eq!(ran.code, 1);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "error: no `.mty` file in this directory: empty\n")
    );
    let ran = mty(dir.path(), &["check", "--json", "empty"], "");
    assert!(
        ran.code == 1 && ran.out.starts_with(r#"{"ok":false,"#),
        "{}",
        ran.out
    );
    let ran = mty(dir.path(), &["fix", "--apply", "README.md"], "");
    assert_eq!(ran.code, 1, "{}", ran.err);
    for args in [&["fmt", "empty"][..], &["fmt", "--check", "empty/"]] {
        let ran = mty(dir.path(), args, "");
        assert_eq!(ran.code, 1, "{args:?}");
        let told = "error: no `.mty` file in this directory: empty";
        assert!(ran.err.starts_with(told), "{}", ran.err);
    }
}

#[test]
fn help_and_version_are_commands_and_usage_is_the_subcommands() {
    let dir = dir(&[]);
    let help = mty(dir.path(), &["help", "check"], "");
    assert_eq!(help.code, 0);
    assert!(help.out.contains("Usage: mty check"), "{}", help.out);
    let version = mty(dir.path(), &["version"], "");
    let expected = format!("mty {}\ndialects: mty-agent 1", env!("CARGO_PKG_VERSION"));
    assert!(
        version.code == 0 && version.out.starts_with(&expected),
        "{}",
        version.out
    );
    assert_eq!(mty(dir.path(), &["--version"], "").out, version.out);
    for (args, usage) in [
        (
            &["fix", "--apply", "--threshold", "2", "a.mty"][..],
            "Usage: mty fix",
        ),
        (&["agent", "--port", "1"], "Usage: mty agent"),
        (&["fmt"], "Usage: mty fmt"),
        (&["check"], "Usage: mty check"),
    ] {
        let ran = mty(dir.path(), args, "");
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(usage), "{args:?}: {}", ran.err);
    }
}
