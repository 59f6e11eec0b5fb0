//! What the turns of the kill tests do: plain ones, and ones that call servers, run snippets, give tasks and need
//! summaries. Who dies when, and what must hold then, stands in kills.rs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::Place;

/// One scripted turn and what it says, in order and without its tools: less than any dialect bounds.
pub(crate) struct Scripted {
    pub(crate) steps: Value,
    /// The whole text of each assistant message.
    pub(crate) says: Vec<String>,
    /// It says its text and then waits for longer than any test.
    pub(crate) waits: bool,
    /// It ends with a provider's failure.
    pub(crate) fails: bool,
}

/// The turns of a session.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// The n-th turn.
    pub(crate) turn: fn(usize) -> Scripted,
    /// Prepares a place whose offline provider plays a script with these turns.
    prepare: fn(&[Value]) -> Arc<Place>,
    /// What the records of its sessions hold if the turns did what they are about.
    pub(crate) leaves: &'static str,
}

impl Plan {
    /// A place for sessions of so many prompts.
    pub(crate) fn place(self, prompts: usize) -> Arc<Place> {
        let turns: Vec<_> = (0..prompts)
            .map(|turn| json!({"steps": (self.turn)(turn).steps}))
            .collect();
        let place = (self.prepare)(&turns);
        place.write_file("a.txt", "some content\nand more content\n");
        place
    }
}

fn said(steps: Value, says: Vec<String>) -> Scripted {
    Scripted {
        steps,
        says,
        waits: false,
        fails: false,
    }
}

/// A text, these calls, and another text; or without an end of the last call, the first text alone.
fn around(turn: usize, calls: &[Value], ends: bool) -> Scripted {
    let (before, after) = (sentence(turn, 6), sentence(turn + 1000, 6));
    let mut steps = vec![json!({"text": before, "chunks": 3, "delay_ms": 1})];
    steps.extend_from_slice(calls);
    if !ends {
        return Scripted {
            waits: true,
            ..said(steps.into(), vec![before])
        };
    }
    steps.push(json!({"text": after, "chunks": 3, "delay_ms": 1}));
    said(steps.into(), vec![before, after])
}

fn call(tool: &str, input: Value) -> Value {
    json!({"tool": tool, "input": input})
}

pub(crate) const PLAIN: Plan = Plan {
    turn: plain,
    prepare: |turns| Place::with_script(&json!({"turns": turns})),
    leaves: r#""user_input""#,
};

fn sentence(turn: usize, words: usize) -> String {
    (0..words)
        .map(|word| format!("turn{turn}word{word} "))
        .collect()
}

fn plain(turn: usize) -> Scripted {
    match turn % 6 {
        0 => {
            let text = sentence(turn, 40);
            said(
                json!([{"text": text, "chunks": 20, "delay_ms": 1}]),
                vec![text],
            )
        }
        1 => {
            let (before, after) = (sentence(turn, 10), sentence(turn + 1000, 10));
            said(
                json!([
                    {"text": before, "chunks": 5},
                    {"tool": "read", "input": {"path": "a.txt"}},
                    {"text": after, "chunks": 10, "delay_ms": 1}
                ]),
                vec![before, after],
            )
        }
        2 => {
            let text = sentence(turn, 12);
            said(
                json!([
                    {"reasoning": "A summary.", "provider_summary": true},
                    {"reasoning": "raw", "provider_summary": false},
                    {"text": text, "chunks": 6, "delay_ms": 2},
                    {"usage": {"input": 10, "output": 5}}
                ]),
                vec![text],
            )
        }
        3 => {
            let piece = sentence(turn, 3);
            said(
                json!([{"text": piece, "repeat": 400}]),
                vec![piece.repeat(400)],
            )
        }
        4 => {
            let text = sentence(turn, 8);
            Scripted {
                waits: true,
                ..said(
                    json!([{"text": text, "chunks": 4, "delay_ms": 1}, {"wait_ms": 60000}]),
                    vec![text],
                )
            }
        }
        _ => {
            let (before, after) = (sentence(turn, 6), sentence(turn + 1000, 6));
            Scripted {
                fails: true,
                ..said(
                    json!([
                        {"tool": "list", "input": {}},
                        {"text": before, "chunks": 3, "delay_ms": 1},
                        {"tool": "grep", "input": {"pattern": "content"}},
                        {"text": after, "chunks": 3},
                        {"error": "network"}
                    ]),
                    vec![before, after],
                )
            }
        }
    }
}

/// Calls of a server that leaves processes of its own behind and does not end by itself.
#[cfg(feature = "mcp")]
pub(crate) const SERVERS: Plan = Plan {
    turn: |turn| {
        let of =
            |name: &str, n: u64| call(&format!("mcp__s__{name}"), json!({"n": n, "text": "x"}));
        match turn % 4 {
            0 => around(turn, &[of("echo", 0), of("progress", 3)], true),
            1 => around(turn, &[of("wait", 15)], true),
            2 => around(turn, &[of("hang", 0)], false),
            _ => around(turn, &[of("crash", 1), of("echo", 0)], true),
        }
    },
    prepare: |turns| {
        use crate::setting::{misbehaving, place};
        let place = place(
            &json!({"s": misbehaving(&["--spawn", "--stay"])}),
            &json!([]),
        );
        let script = json!({"turns": turns}).to_string();
        std::fs::write(place.root().join("script.json"), script).expect("script.json");
        place
    },
    leaves: "mcp__s__echo",
};

/// Snippets that call, fail, and are busy for ever.
#[cfg(feature = "code-mode")]
pub(crate) const SNIPPETS: Plan = Plan {
    turn: |turn| {
        let run = |source: &str| call("code", json!({"source": source}));
        let reads = "await tools.read({path: 'a.txt'}); await Promise.all([1, 2, 3].map(() => tools.grep({pattern: 'content'})))";
        match turn % 4 {
            0 => around(turn, &[run(reads)], true),
            1 => around(
                turn,
                &[run("for (let n = 0; n < 1e6; n++);"), run(reads)],
                true,
            ),
            2 => around(turn, &[run("while (true);")], false),
            _ => around(
                turn,
                &[run("await tools.read({path: 'absent'})"), run("throw 1")],
                true,
            ),
        }
    },
    prepare: |turns| Place::with_script(&json!({"turns": turns})),
    leaves: r#""parent":""#,
};

/// Tasks side by side, beneath each other, and one that never ends.
pub(crate) const TASKS: Plan = Plan {
    turn: |turn| {
        let task = |prompt: &str| call("task", json!({"prompt": prompt}));
        let mut beside = task("Look");
        beside["together"] = true.into();
        match turn % 4 {
            0 => around(turn, &[beside, task("Look")], true),
            1 => around(turn, &[task("Ask")], true),
            2 => around(turn, &[task("Wait")], false),
            _ => around(
                turn,
                &[task("Look"), call("read", json!({"path": "a.txt"}))],
                true,
            ),
        }
    },
    prepare: |turns| {
        let words = json!({"text": "words of a subagent ", "chunks": 6, "delay_ms": 1});
        let tasks = json!([
            {"prompt": "Look", "turns": [{"steps": [words, call("read", json!({"path": "a.txt"})), words]}]},
            {"prompt": "Ask", "turns": [{"steps": [words, call("task", json!({"prompt": "Look"})), words]}]},
            {"prompt": "Wait", "turns": [{"steps": [words, {"wait_ms": 60_000}]}]},
        ]);
        Place::with_script(&json!({"turns": turns, "tasks": tasks}))
    },
    leaves: r#""type":"delegation""#,
};

/// Each turn that ended has filled the window, so that the next one begins with a summary.
pub(crate) const COMPACTIONS: Plan = Plan {
    turn: |turn| {
        let text = sentence(turn, 6);
        let says = json!({"text": text, "chunks": 3, "delay_ms": 1});
        let used = json!({"usage": {"input": 950, "output": 0}});
        match turn % 4 {
            0 | 1 => said(json!([says, used]), vec![text]),
            2 => {
                let mut scripted = around(turn, &[call("list", json!({}))], true);
                scripted.steps.as_array_mut().expect("steps").push(used);
                scripted
            }
            _ => Scripted {
                waits: true,
                ..said(json!([says, used, {"wait_ms": 60_000}]), vec![text])
            },
        }
    },
    prepare: |turns| {
        let summary = json!([{"text": "In short. ", "chunks": 4, "delay_ms": 2}]);
        let place = Place::with_script(&json!({"turns": turns, "compaction": {"steps": summary}}));
        let path = place.root().join("script.json");
        let fixture = json!({"script": path, "context_window": 1000});
        place.write_settings(&json!({"providers": {"fixture": fixture}}));
        place
    },
    leaves: r#""type":"checkpoint""#,
};
