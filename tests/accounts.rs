//! `magi-code login`, `logout` and `status` as a person meets them, with an issuer on the loopback and a browser of these tests;
//! and what two processes do to one home. Only the built binary is used.
#![cfg(all(feature = "auth", unix))]
#![allow(clippy::unwrap_used)]

#[path = "support/issuer.rs"]
mod issuer;

use std::fs::{self, File};
use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use issuer::{Issuer, Play, forged, visit};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tempfile::TempDir;

const CODEX: &str = "openai-codex";

struct Place {
    dir: TempDir,
    issuer: Issuer,
}

/// A command that waits for a person.
struct Waiting {
    child: Child,
    stdin: Option<ChildStdin>,
    page: String,
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
            issuer: Issuer::start(),
        };
        for folder in ["work", "mc", "home"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        // A browser that only says where it was sent to.
        let browser = place.at("browser");
        let script = "#!/bin/sh\nprintf '%s' \"$1\" > \"$0.tmp\" && mv \"$0.tmp\" \"$0.page\"\n";
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
        place.settings(&json!({"providers": {CODEX: {"issuer_url": place.issuer.url()}}}));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn settings(&self, settings: &Value) {
        fs::write(self.at("mc/settings.json"), settings.to_string()).unwrap();
    }

    fn stored(&self) -> Value {
        let file = fs::read(self.at("mc/auth.json")).unwrap_or_else(|_| b"{}".to_vec());
        serde_json::from_slice(&file).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_magi-code"));
        command
            .args(args)
            .current_dir(self.at("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.at("home"))
            .env("MC_HOME", self.at("mc"))
            .env("BROWSER", self.at("browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(args).spawn().unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        ended(child)
    }

    /// A login that has opened its page.
    fn login(&self, args: &[&str]) -> Waiting {
        let page = self.at("browser.page");
        let _ = fs::remove_file(&page);
        let mut child = self.command(args).spawn().unwrap();
        let stdin = child.stdin.take();
        let began = Instant::now();
        while !page.exists() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "no page was opened"
            );
            sleep(Duration::from_millis(10));
        }
        let page = fs::read_to_string(page).unwrap();
        Waiting { child, stdin, page }
    }
}

impl Waiting {
    fn paste(&mut self, text: &str) {
        let line = format!("{text}\n");
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn end(self) -> Ran {
        ended(self.child)
    }
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_login_ends_by_itself_once_the_browser_is_back() {
    let place = Place::new();
    // Its input ends at once, which ends no login.
    for args in [&["login"][..], &["login", CODEX]] {
        let mut login = place.login(args);
        login.stdin = None;
        let back = place.issuer.agree(&login.page);
        assert_eq!(visit(&forged(&back)).0, 400);
        assert_eq!(visit(&back).0, 200);
        let page = login.page.clone();
        let ran = login.end();
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "logged in to openai-codex\n"),
            "{}",
            ran.err
        );
        // Unbroken, on a line of its own.
        assert!(ran.err.lines().any(|line| line == page), "{}", ran.err);
        assert!(!ran.err.contains("canary"), "{}", ran.err);
    }
    let record = place.stored()["providers"][CODEX].clone();
    assert_eq!(record["generation"], 2);
    assert_eq!(record["oauth"]["access_token"], "canary-access-4");
}

#[test]
fn what_is_pasted_logs_in_where_no_browser_can() {
    let place = Place::new();
    for code_alone in [false, true] {
        let mut login = place.login(&["login"]);
        let mut back = place.issuer.agree(&login.page);
        if code_alone {
            back = back.split(['=', '&']).nth(1).unwrap().to_owned();
        }
        // A blank line says nothing.
        login.paste("");
        login.paste(&back);
        let ran = login.end();
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_eq!(place.stored()["providers"][CODEX]["generation"], 2);
}

#[test]
fn a_login_that_stores_nothing_says_why_and_fails() {
    let place = Place::new();
    let words = json!({"error": "server_error", "error_description": "zz-reason"}).to_string();
    for (play, pasted, why) in [
        (None, "foreign", "what came back is of another login"),
        (None, "two words", "what came back holds no code"),
        (
            None,
            "denied",
            "the login was refused: access_denied: canary-denial",
        ),
        (
            Some(Play::Say(500, words)),
            "good",
            "refused to give tokens (HTTP 500): server_error: zz-reason",
        ),
        (Some(Play::Leave), "good", "the issuer cannot be reached: "),
    ] {
        place.issuer.plays(play);
        let mut login = place.login(&["login"]);
        let back = match pasted {
            "foreign" => forged(&place.issuer.agree(&login.page)),
            "denied" => place.issuer.deny(&login.page),
            "good" => place.issuer.agree(&login.page),
            other => other.to_owned(),
        };
        login.paste(&back);
        let ran = login.end();
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{why}");
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
        assert!(
            ran.err
                .contains("run `magi-code login openai-codex` once more"),
            "{}",
            ran.err
        );
        assert!(!ran.err.contains("canary-code"), "{}", ran.err);
        assert_eq!(place.stored(), json!({}));
    }
}

#[test]
fn an_interrupted_login_leaves_nothing() {
    let place = Place::new();
    let login = place.login(&["login"]);
    let id = rustix::process::Pid::from_child(&login.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let status = login.child.wait_with_output().unwrap().status;
    assert!(!status.success());
    assert_eq!(place.stored(), json!({}));
    let port = login.page.split("localhost%3A").nth(1).unwrap();
    let port: u16 = port.split("%2F").next().unwrap().parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_browser_outlives_the_login_that_opened_it() {
    let place = Place::new();
    // The first is none, the second fails, the third takes its time.
    let broken = place.at("broken");
    fs::write(&broken, "#!/bin/sh\nexit 3\n").unwrap();
    let lasting = place.at("lasting");
    let script = "#!/bin/sh\necho $$ > \"$0.tmp\" && mv \"$0.tmp\" \"$0.id\"\n[ \"$1\" = -n ] && printf '%s' \"$2\" > \"$0.page\"\nexec sleep 60\n";
    fs::write(&lasting, script).unwrap();
    for script in [&broken, &lasting] {
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let browsers = format!(
        "{}:{}:{} -n",
        place.at("none").display(),
        broken.display(),
        lasting.display()
    );
    let mut command = place.command(&["login"]);
    let login = command
        .env("BROWSER", browsers)
        .process_group(0)
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !place.at("lasting.page").exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no page was opened"
        );
        sleep(Duration::from_millis(10));
    }
    // As ^C at a terminal.
    let id = rustix::process::Pid::from_child(&login);
    rustix::process::kill_process_group(id, rustix::process::Signal::INT).unwrap();
    let ran = login.wait_with_output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(
        !ran.status.success() && !err.contains("no browser"),
        "{err}"
    );
    let page = fs::read_to_string(place.at("lasting.page")).unwrap();
    assert!(err.lines().any(|line| line == page), "{page}");
    let browser: i32 = fs::read_to_string(place.at("lasting.id"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let browser = rustix::process::Pid::from_raw(browser).unwrap();
    assert!(rustix::process::test_kill_process(browser).is_ok());
    rustix::process::kill_process(browser, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn whatever_keeps_a_browser_from_opening_is_told() {
    let place = Place::new();
    let broken = place.at("broken");
    fs::write(&broken, "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(&["login"]);
    // No other opener is found.
    command
        .env("BROWSER", &broken)
        .env("PATH", place.at("work"));
    let mut login = command.spawn().unwrap();
    let mut err = String::new();
    let mut stderr = std::io::BufReader::new(login.stderr.take().unwrap());
    while !err.contains("no browser was opened") {
        assert!(stderr.read_line(&mut err).unwrap() > 0, "{err}");
    }
    assert!(
        err.contains("/broken: exit status: 3; xdg-open: No such file"),
        "{err}"
    );
    login.kill().unwrap();
    login.wait().unwrap();
}

#[test]
fn a_lock_that_another_process_holds_is_told_as_such() {
    let place = Place::new();
    let lock = File::create(place.at("mc/auth.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let key = place.command(&["login", "anthropic", "--with-key"]).spawn();
    let mut key = key.unwrap();
    key.stdin
        .take()
        .unwrap()
        .write_all(b"canary-key\n")
        .unwrap();
    for ran in [place.run(&["logout", CODEX], ""), ended(key)] {
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let why = "auth.lock: another process of this home holds its lock; try it again";
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    drop(lock);
    assert_eq!(place.run(&["logout", CODEX], "").code, 0);
}

#[test]
fn a_stranger_s_file_is_no_matter_of_accounts() {
    let place = Place::new();
    let key = |place: &Place| place.run(&["login", "anthropic", "--with-key"], "canary-key");
    fs::create_dir(place.at("work/.magi-code")).unwrap();
    for broken in ["{bro", "[]", r#"{"provider": 7}"#] {
        fs::write(place.at("work/.magi-code/settings.json"), broken).unwrap();
        let ran = key(&place);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let ran = place.run(&["status"], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let why = "what answers here: nothing; `magi-code doctor` says why\n";
        assert!(ran.out.starts_with(why), "{}", ran.out);
        assert!(ran.out.contains("anthropic     ready "), "{}", ran.out);
        let ran = place.run(&["logout", "anthropic"], "");
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "logged out of anthropic\n")
        );
        let mut login = place.login(&["login"]);
        let back = place.issuer.agree(&login.page);
        login.paste(&back);
        assert_eq!(login.end().code, 0);
    }
    // A logout needs nothing of the person's own settings either.
    fs::write(place.at("mc/settings.json"), "{").unwrap();
    assert_eq!(
        place.run(&["logout", CODEX], "").out,
        "logged out of openai-codex\n"
    );
    for args in [&["status"][..], &["logout", "mine"]] {
        let ran = place.run(args, "");
        assert!(
            ran.code == 1 && ran.err.contains("mc/settings.json:"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn an_issuer_that_cannot_be_used_is_told_with_its_place() {
    let place = Place::new();
    for url in [
        "ftp://x",
        "http://u:p@h",
        "http://h#f",
        "notaurl",
        "http://",
        "http://h/?a=b",
    ] {
        place.settings(&json!({"providers": {CODEX: {"issuer_url": url}}}));
        let ran = place.run(&["login"], "");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{url}");
        let place_of_it = "mc/settings.json:1:";
        let why = "the URL of the provider's issuer is not usable";
        assert!(
            ran.err.contains(place_of_it) && ran.err.contains(why),
            "{}",
            ran.err
        );
        let ran = place.run(&["doctor"], "");
        let told = ran.out + &ran.err;
        assert!(told.contains(place_of_it) && told.contains(why), "{told}");
        assert!(told.contains("providers.openai-codex.issuer_url"), "{told}");
    }
    assert!(!place.at("browser.page").exists());
}

#[test]
fn a_key_is_one_line_of_the_input() {
    let place = Place::new();
    for (typed, key) in [
        ("canary-key-1", "canary-key-1"),
        ("canary-key-2\n", "canary-key-2"),
        ("  canary-key-3\r\nmore", "canary-key-3"),
    ] {
        let ran = place.run(&["login", "anthropic", "--with-key"], typed);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "the key of anthropic is stored\n"),
            "{}",
            ran.err
        );
        assert_eq!(ran.err, "");
        assert_eq!(place.stored()["providers"]["anthropic"]["api_key"], key);
    }
    let before = place.stored();
    for (typed, why) in [
        ("", "a blank line is no key"),
        ("  \n", "a blank line is no key"),
        ("canary key\n", "a key has no space inside"),
        ("canary\tkey\n", "a key has no space inside"),
        ("canary\u{1}key\n", "no request can carry this key"),
        (&"k".repeat(20_000), "the line is longer than 16384 bytes"),
    ] {
        let ran = place.run(&["login", "anthropic", "--with-key"], typed);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(
            ran.err.contains(why) && !ran.err.contains("canary"),
            "{}",
            ran.err
        );
        assert_eq!(place.stored(), before);
    }
    let mode = fs::metadata(place.at("mc/auth.json"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn whoever_cannot_be_logged_in_to_so_says_what_can() {
    let place = Place::new();
    place.settings(&json!({"providers": {
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "MINE_KEY"},
        "free": {"api": "ollama", "base_url": "http://127.0.0.1:9"},
    }}));
    for (args, why, help) in [
        (
            &["login", "anthropic"][..],
            "nobody logs in to `anthropic` in a browser",
            "magi-code login anthropic --with-key",
        ),
        (&["login", "openai-codx"], "did you mean", "there are"),
        (&["login", "mine"], "is in a variable", "set MINE_KEY"),
        (
            &["login", "mine", "--with-key"],
            "is in a variable",
            "set MINE_KEY",
        ),
        (
            &["login", "free", "--with-key"],
            "needs no key",
            "nothing to do",
        ),
        (
            &["login", CODEX, "--with-key"],
            "takes no key",
            "run `magi-code login`",
        ),
        (
            &["logout", "nobody"],
            "no provider is called `nobody`",
            "there are",
        ),
    ] {
        let ran = place.run(args, "canary-key\n");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{args:?}");
        assert!(
            ran.err.contains(why) && ran.err.contains(help),
            "{args:?}: {}",
            ran.err
        );
        assert_eq!(place.stored(), json!({}));
    }
    assert_eq!(place.run(&["logout"], "").code, 2);
    // With settings that can't be read nobody is sent to another issuer.
    fs::write(place.at("mc/settings.json"), "{").unwrap();
    let ran = place.run(&["login"], "");
    assert!(
        ran.code == 1 && ran.err.contains("settings.json"),
        "{}",
        ran.err
    );
    assert!(!place.at("browser.page").exists());
}

#[test]
fn status_says_who_is_logged_in_and_what_answers() {
    let place = Place::new();
    let ran = place.run(&["status"], "");
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(
        lines,
        [
            "what answers here: the offline demonstration",
            "",
            "openai-codex  missing      a login, stored on this machine",
            "anthropic     missing      a key, stored on this machine",
            "fixture       ready        needs none",
        ],
        "{}",
        ran.err
    );
    assert_eq!(
        place
            .run(&["login", "anthropic", "--with-key"], "canary-key")
            .code,
        0
    );
    place.settings(&json!({"provider": "anthropic", "model": "claude"}));
    let ran = place.run(&["status"], "");
    assert!(
        ran.out.starts_with("what answers here: anthropic/claude\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("anthropic     ready        a key, stored on this machine\n"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("canary"));
    // Gone again, and once more.
    for (text, readiness) in [
        ("logged out of anthropic\n", "missing"),
        ("nothing was stored of anthropic\n", "missing"),
    ] {
        let ran = place.run(&["logout", "anthropic"], "");
        assert_eq!((ran.code, ran.out.as_str()), (0, text), "{}", ran.err);
        let ran = place.run(&["status"], "");
        assert!(
            ran.out.contains(&format!("anthropic     {readiness} ")),
            "{}",
            ran.out
        );
        assert!(
            ran.out
                .starts_with("what answers here: nothing; `magi-code doctor` says why\n")
        );
    }
    fs::write(place.at("mc/auth.json"), "canary").unwrap();
    for args in [&["status"][..], &["logout", CODEX], &["login"]] {
        let ran = place.run(args, "");
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(
            ran.err.contains("auth.json") && !ran.err.contains("canary"),
            "{}",
            ran.err
        );
        assert_eq!(
            fs::read_to_string(place.at("mc/auth.json")).unwrap(),
            "canary"
        );
    }
}

/// A terminal: the person's end and the program's.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let program = File::from(rustix::fs::open(&*name, flags, Mode::empty()).unwrap());
    (File::from(person), program)
}

#[test]
fn a_key_that_is_typed_is_not_shown() {
    for (keys, code, stored) in [
        (&b"canary-kez\x7fy-12\x08\n"[..], 0, Some("canary-key-1")),
        (b"wrong\x15canary-key-2\r", 0, Some("canary-key-2")),
        (b"canary-key\x03", 1, None),
        (b"\x04", 1, None),
    ] {
        let place = Place::new();
        let (mut person, program) = terminal();
        let before = rustix::termios::tcgetattr(&program).unwrap();
        let mut child = place.command(&["login", "anthropic", "--with-key"]);
        child
            .stdin(program.try_clone().unwrap())
            .stderr(program.try_clone().unwrap());
        let running = child.spawn().unwrap();
        drop(child);
        let mut shown = Vec::new();
        while !String::from_utf8_lossy(&shown).contains("not shown): ") {
            let mut buffer = [0; 256];
            let read = person.read(&mut buffer).unwrap();
            shown.extend_from_slice(&buffer[..read]);
        }
        person.write_all(keys).unwrap();
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{keys:?}");
        let after = rustix::termios::tcgetattr(&program).unwrap();
        assert_eq!(before.local_modes, after.local_modes);
        drop(program);
        let _ = person.read_to_end(&mut shown);
        let shown = String::from_utf8(shown).unwrap();
        assert!(
            !shown.contains("canary") && !shown.contains("wrong"),
            "{shown}"
        );
        let key = place.stored()["providers"]["anthropic"]["api_key"].clone();
        assert_eq!(key.as_str(), stored);
    }
}

#[test]
fn logins_against_logouts_of_other_processes_leave_one_whole_record() {
    let place = Place::new();
    let (mut stored, mut changed) = (0, 0);
    for round in 0..12 {
        let mut login = place.login(&["login"]);
        let back = place.issuer.agree(&login.page);
        let logout = place.command(&["logout", CODEX]).spawn().unwrap();
        if round % 3 == 0 {
            sleep(Duration::from_millis(5 * round));
        }
        login.paste(&back);
        let (login, logout) = (login.end(), ended(logout));
        assert_eq!(logout.code, 0, "{}", logout.err);
        match login.code {
            0 => stored += 1,
            code => {
                changed += 1;
                assert_eq!(code, 1);
                let why = "another login, a logout or a refresh was stored meanwhile";
                assert!(login.err.contains(why), "{}", login.err);
            }
        }
        let record = place.stored()["providers"][CODEX].clone();
        // Each that was stored advanced it once, and so did each logout.
        assert_eq!(record["generation"], stored + round + 1);
        if login.code == 0 && record.get("oauth").is_none() {
            assert_eq!(logout.out, "logged out of openai-codex\n");
        }
        if login.code == 1 {
            assert!(record.get("oauth").is_none());
        }
    }
    assert_eq!(stored + changed, 12);
}
