//! `cargo bench --bench sessions`: the person's commands on a home of 20,000 stored sessions, and the export of a long one.
//! Prints times and memory; asserts nothing of them. `MAGI_CODE_BIN` names another build.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const SESSIONS: u64 = 20_000;
/// Of the long session, which is about as long as a part may be: each has 20 KiB of text and four calls.
const TURNS: u64 = 1_500;
const RUNS: usize = 5;

struct Written {
    id: String,
    text: String,
    n: u64,
    at: u64,
}

impl Written {
    fn new(id: &str, at: u64) -> Self {
        let mut this = Self {
            id: id.to_owned(),
            text: String::new(),
            n: 0,
            at,
        };
        this.then(&json!({"type": "session", "created_at": at, "cwd": "/home/me/src/shop"}));
        this.then(&json!({"type": "selection", "provider": "anthropic", "model": "claude-opus-4-5", "thinking": "default"}));
        this
    }

    fn then(&mut self, body: &Value) {
        self.n += 1;
        self.at += 20;
        let record = json!({"v": 1, "n": self.n, "session": self.id, "at": self.at, "turn": "t", "body": body});
        writeln!(self.text, "{record}").unwrap();
    }

    fn turn(&mut self, question: &str, answer: &str, calls: u64) {
        let n = self.n;
        self.then(&json!({"type": "user_input", "message_id": format!("u{n}"), "text": question}));
        for call in 0..calls {
            let id = format!("a{n}-{call}");
            self.then(&json!({"type": "tool_started", "activity_id": id, "call_id": id, "response": 0, "name": "read",
                "input": {"path": "src/lib.rs"}, "subject": "read src/lib.rs"}));
            self.then(&json!({"type": "tool_finished", "activity_id": id, "call_id": id, "name": "read", "is_error": false,
                "summary": "read src/lib.rs: 80 lines", "content": "fn a() {}\n".repeat(300)}));
        }
        self.then(&json!({"type": "assistant_message", "message_id": format!("m{n}"), "response": 1, "text": answer}));
        self.then(&json!({"type": "usage", "input": 9000, "output": 400, "cache_read": 8000}));
        self.then(&json!({"type": "turn_finished", "outcome": "completed"}));
    }
}

/// How long a command took, what it wrote, and the most memory that it was seen with.
fn run(home: &Path, args: &[&str]) -> (Duration, usize, u64) {
    let program =
        std::env::var_os("MAGI_CODE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_magi-code").into());
    let begun = Instant::now();
    let mut child = Command::new(program)
        .arg("sessions")
        .args(args)
        .env("MC_HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, mut written) = (0, 0);
    let mut out = child.stdout.take().unwrap();
    let mut bytes = vec![0; 1 << 20];
    loop {
        let read = out.read(&mut bytes).unwrap();
        if let Ok(status) = fs::read_to_string(&status) {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            peak = kib.unwrap_or(0).max(peak);
        }
        if read == 0 {
            break;
        }
        written += read;
    }
    assert!(child.wait().unwrap().success(), "{args:?}");
    (begun.elapsed(), written, peak)
}

fn measure(home: &Path, args: &[&str]) {
    let mut runs: Vec<_> = (0..RUNS).map(|_| run(home, args)).collect();
    runs.sort();
    let (time, bytes, peak) = runs[RUNS / 2];
    println!(
        "sessions {:<28} {:>8.1} ms {:>8} KiB written {:>6} MiB resident",
        args.join(" "),
        time.as_secs_f64() * 1e3,
        bytes / 1024,
        peak / 1024
    );
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join("sessions");
    fs::DirBuilder::new().mode(0o700).create(&sessions).unwrap();
    let put = |session: &Written| {
        let path = sessions.join(format!("{}.jsonl", session.id));
        fs::write(path, &session.text).unwrap();
    };
    // In this very year, so that nothing is old.
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let mut long = Written::new("long", now);
    let answer =
        "Some **words** of an answer with `code` in it, and a [link](https://example.test/).\n\n"
            .repeat(230);
    for turn in 0..TURNS {
        long.turn(&format!("Question {turn}"), &answer, 4);
    }
    put(&long);
    println!("the long session has {} MiB", long.text.len() >> 20);
    measure(home.path(), &["list"]);
    for form in ["--markdown", "--json", "--html"] {
        measure(home.path(), &["export", "long", form]);
    }
    for n in 1..SESSIONS {
        let mut session = Written::new(&uuid::Uuid::new_v4().to_string(), now - n * 60_000);
        for turn in 0..3 {
            session.turn(&format!("Question {turn} of {n}"), &answer[..900], 1);
        }
        put(&session);
    }
    measure(home.path(), &["list"]);
    measure(home.path(), &["list", "--all", "--json"]);
    measure(home.path(), &["prune", "--dry-run"]);
    measure(home.path(), &["show", "long"]);
}
