//! Snippets in real processes, with a caller of the tests' own: what they can do, what bounds them, how they end.
//! How calls are decided and shown is the engine's matter, and tested there.
#![cfg(feature = "engine")]
#![allow(clippy::unwrap_used)]

mod attacks;
mod bounds;
mod calls;
mod values;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;
use tools::{Caller, Calling, Context, Success, ToolOutcome, ToolSet, ToolSpec};

/// Plays tools, and keeps what was asked of it.
#[derive(Default)]
struct Player {
    asked: Mutex<Vec<(String, Value)>>,
    running: Arc<AtomicUsize>,
    most: AtomicUsize,
}

/// Counts a call as running for as long as it lives.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

const TOOLS: [&str; 5] = ["echo", "fail", "hang", "nap", "mcp__a-b__c"];

impl Caller for Player {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        let spec = |name| Arc::new(ToolSpec::reading(name, "", json!({"type": "object"})));
        TOOLS.map(spec).into()
    }

    fn call(&self, name: String, input: Value) -> Calling {
        self.asked
            .lock()
            .unwrap()
            .push((name.clone(), input.clone()));
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let running = Running(Arc::clone(&self.running));
        Box::pin(async move {
            let _running = running;
            match name.as_str() {
                "hang" => std::future::pending().await,
                "nap" => tokio::time::sleep(Duration::from_millis(20)).await,
                _ => {}
            }
            if name == "fail" {
                return ToolOutcome::failed("no such file: x", "missing");
            }
            let content = match input.get("bytes").and_then(Value::as_u64) {
                Some(bytes) => "x".repeat(usize::try_from(bytes).unwrap()),
                None => input.to_string(),
            };
            Success::text(content, String::new()).into()
        })
    }
}

fn tools() -> ToolSet {
    use code as _;
    let mut context = Context::new(std::env::temp_dir(), Vec::new());
    context.guard = Guard::program(env!("CARGO_BIN_EXE_code-test-process"));
    ToolSet::registered(context).unwrap()
}

/// Runs a snippet for `player`.
async fn played(source: &str, player: Arc<Player>, cancel: CancellationToken) -> ToolOutcome {
    let (tools, input) = (tools(), json!({ "source": source }));
    let access = tools.access("code", &input).await;
    tools
        .run_admitted("code", &input, &access, Some(player), cancel)
        .await
}

async fn run(source: &str) -> ToolOutcome {
    played(source, Arc::default(), CancellationToken::new()).await
}

/// What a snippet that ends well says.
async fn said(source: &str) -> String {
    let outcome = run(source).await;
    assert!(!outcome.is_error, "{source}: {}", outcome.content);
    outcome.content
}

/// What one says that fails.
async fn failure(source: &str) -> String {
    let outcome = run(source).await;
    assert!(outcome.is_error, "{source}: {}", outcome.content);
    outcome.content
}

/// Each source with what it says.
async fn all_said(cases: &[(&str, &str)]) {
    let mut wrong = BTreeMap::new();
    for (source, expected) in cases {
        let outcome = run(source).await;
        if outcome.content != *expected {
            wrong.insert(*source, outcome.content);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
