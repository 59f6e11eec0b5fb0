//! Session files as a person's home holds them, written record by record.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::Place;

pub(crate) const ID: &str = "2b6f0c1e-66d1-4c1a-9a0e-0c0c2f8a3c11";
pub(crate) const TASK: &str = "9c0f2a54-1111-4a6b-8b62-a9d2b6a0d001";
/// 29 Nov 2025, 14:02:11 UTC.
const BEGAN: u64 = 1_764_424_931_000;
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64
}

pub(crate) fn dir(place: &Place) -> PathBuf {
    let dir = place.mc_home().join("sessions");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&dir)
        .unwrap();
    dir
}

/// A session under way: its records, and the moment.
pub(crate) struct Written {
    id: String,
    lines: Vec<String>,
    at: u64,
}

impl Written {
    pub(crate) fn new(id: &str, at: u64) -> Self {
        Self {
            id: id.to_owned(),
            lines: Vec::new(),
            at,
        }
    }

    /// A record, so many milliseconds later.
    pub(crate) fn then(&mut self, later: u64, body: Value) -> &mut Self {
        self.at += later;
        let n = self.lines.len() + 1;
        let record =
            json!({"v": 1, "n": n, "session": self.id, "at": self.at, "turn": "t", "body": body});
        self.lines.push(record.to_string());
        self
    }

    pub(crate) fn begin(&mut self, cwd: &str, model: &str) -> &mut Self {
        self.then(0, json!({"type": "session", "created_at": self.at, "cwd": cwd}))
            .then(0, json!({"type": "selection", "provider": "anthropic", "model": model, "thinking": "default"}))
    }

    pub(crate) fn input(&mut self, later: u64, text: &str) -> &mut Self {
        let id = format!("u{}", self.lines.len());
        self.then(
            later,
            json!({"type": "user_input", "message_id": id, "text": text}),
        )
    }

    pub(crate) fn answer(&mut self, later: u64, text: &str) -> &mut Self {
        let id = format!("m{}", self.lines.len());
        self.then(
            later,
            json!({"type": "assistant_message", "message_id": id, "response": 0, "text": text}),
        )
    }

    pub(crate) fn usage(&mut self, later: u64, input: u64, output: u64, cached: u64) -> &mut Self {
        self.then(
            later,
            json!({"type": "usage", "input": input, "output": output, "cache_read": cached}),
        )
    }

    pub(crate) fn started(&mut self, later: u64, id: &str, name: &str, input: &Value) -> &mut Self {
        self.then(later, json!({"type": "tool_started", "activity_id": id, "call_id": id, "response": 0, "name": name,
            "input": input, "subject": format!("{name} {id}")}))
    }

    pub(crate) fn finished(
        &mut self,
        later: u64,
        id: &str,
        name: &str,
        is_error: bool,
        content: &str,
    ) -> &mut Self {
        self.then(
            later,
            json!({"type": "tool_finished", "activity_id": id, "call_id": id, "name": name,
            "is_error": is_error, "summary": format!("{name} {id}: over"), "content": content}),
        )
    }

    pub(crate) fn ended(&mut self, later: u64, outcome: &str) -> &mut Self {
        self.then(later, json!({"type": "turn_finished", "outcome": outcome}))
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(crate) fn put(&self, place: &Place) {
        fs::write(dir(place).join(format!("{}.jsonl", self.id)), self.text()).unwrap();
    }
}

/// A session of one turn, whose last record was made at `at`.
pub(crate) fn short(place: &Place, id: &str, cwd: &str, text: &str, at: u64) {
    let mut written = Written::new(id, at);
    written
        .begin(cwd, "claude-opus-4-5")
        .input(0, text)
        .answer(0, "Done.")
        .ended(0, "completed");
    written.put(place);
}

/// A session with everything that there is, hostile words in all of it.
pub(crate) fn rich(place: &Place) {
    const HOSTILE: &str = "</script></pre></main><script>document.title='owned'</script><img src=https://spy.test/x.png onerror=alert(1)>";
    let mut all = Written::new(ID, BEGAN);
    all.begin("/home/me/src/shop", "claude-opus-4-5")
        .input(10, "The login test is flaky. Find out why.\nThen fix it.")
        .then(2000, json!({"type": "reasoning", "item_id": "r", "text": "I look at the *test* first.", "provider_summary": true}))
        .answer(900, "I'll look at the test.")
        .usage(0, 12_400, 310, 8000)
        .started(5, "read-it", "read", &json!({"path": "tests/login.rs"}))
        .finished(12, "read-it", "read", false, "fn login() {}")
        .usage(4000, 14_100, 220, 12_400)
        .started(5, "run-it", "bash", &json!({"command": "cargo test\ncargo test"}))
        .started(3000, "ask-it", "task", &json!({"profile": "explore", "prompt": "Where else?"}))
        .then(33_100, json!({"type": "task", "activity_id": "ask-it", "task": TASK, "profile": "explore", "outcome": "completed"}))
        .finished(5, "ask-it", "task", false, "Two places.")
        .finished(8700, "run-it", "bash", true, &format!("{HOSTILE}\n\u{1b}[2Jfailed"))
        .answer(9000, "## What happens\n\nThe server **binds to port 0**:\n\n```rust\nlet port = a_very_long_line_of_code_that_can_not_be_broken_anywhere_and_has_to_scroll_within_its_own_box_instead_of_widening_the_page();\n```\n\n| case | before | after | and some more |\n|---|---|---|---|\n| loaded machine | 17 failures | none | none of them |\n\n[docs](https://example.test/?a=1&b=2) ![picture](https://spy.test/p.png) [bad](javascript:alert(1))")
        .usage(0, 15_800, 610, 14_100)
        .ended(1, "completed")
        .input(600_000, &format!("Again, {HOSTILE} \u{202e}evil\u{202c}"))
        .then(1500, json!({"type": "diagnostic", "code": "provider_retry", "summary": HOSTILE}));
    for n in 0..9 {
        all.started(
            2,
            &format!("stress{n}"),
            "bash",
            &json!({"command": HOSTILE}),
        );
    }
    for n in 0..9 {
        all.finished(1500, &format!("stress{n}"), "bash", n == 4, "ok");
    }
    all.then(8000, json!({"type": "checkpoint", "activity_id": "k", "cutoff": 20, "inputs": 1, "responses": 2,
            "summary": format!("The **port race**. {HOSTILE}"), "tokens_before": 182_000, "tokens_after": 24_100}))
        .answer(4000, &format!("{HOSTILE}\n\n{}", "x".repeat(5000)))
        .then(1, json!({"type": "turn_finished", "outcome": "failed", "error_code": "provider_failed"}))
        .input(40_000, "שלום, commit it 👨‍👩‍👧")
        .started(2500, "commit", "bash", &json!({"command": "git commit"}));
    all.put(place);
    let mut task = Written::new(TASK, BEGAN + 12_000);
    task.begin("/home/me/src/shop", "claude-haiku-4-5")
        .input(0, "Where else?")
        .started(3000, "grep-it", "grep", &json!({"pattern": "PORT"}))
        .finished(80, "grep-it", "grep", false, "9 matches")
        .answer(28_000, "Two places, says the subagent.")
        .usage(0, 5200, 300, 0)
        .ended(1, "completed");
    let folder = dir(place).join(format!("{ID}.tasks"));
    fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    fs::write(folder.join(format!("{TASK}.jsonl")), task.text()).unwrap();
}
