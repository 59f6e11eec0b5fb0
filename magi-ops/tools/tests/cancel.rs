//! Cancellation and dropping: a call ends promptly and its worker with it.
//! Measures wall time, since the work itself is real.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

/// A sparse file whose reading takes far longer than any test allows, and whose beginning
/// does not look binary.
fn endless(directory: &Path) {
    let file = fs::File::create(directory.join("endless")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&[b'a'; 16 * 1024], 0).unwrap();
}

#[tokio::test]
async fn a_cancelled_call_ends_within_fifty_milliseconds() {
    let home = tempfile::tempdir().unwrap();
    let text = "some text that is never looked for\n".repeat(400_000);
    for name in ["a", "b", "c", "d"] {
        fs::write(home.path().join(name), &text).unwrap();
    }
    endless(home.path());
    let tools = ToolSet::registered(Context::new(home.path().to_owned(), Vec::new())).unwrap();
    for (tool, input) in [
        ("read", json!({ "path": "endless", "offset": 2 })),
        ("grep", json!({ "pattern": "(?i)[a-z ]+[0-9]" })),
    ] {
        // The quickest of three counts: a busy machine delays the test itself, too.
        let mut took = Vec::new();
        for _ in 0..3 {
            let cancel = CancellationToken::new();
            let at = Cell::new(Instant::now());
            let canceller = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                at.set(Instant::now());
                cancel.cancel();
            };
            let (outcome, ()) = tokio::join!(tools.run(tool, &input, cancel.clone()), canceller);
            assert_eq!(outcome.summary, "cancelled");
            took.push(at.get().elapsed());
        }
        let quickest = took.iter().min().unwrap();
        assert!(*quickest < Duration::from_millis(50), "{tool}: {took:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_already_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let tools = ToolSet::registered(Context::new(home.path().to_owned(), Vec::new())).unwrap();
    let outcome = tools.run("list", &json!({}), cancel).await;
    assert_eq!(outcome.content, "the call was cancelled");
    assert!(outcome.is_error);
}

#[test]
fn dropping_a_call_stops_its_worker() {
    let home = tempfile::tempdir().unwrap();
    endless(home.path());
    let tools = ToolSet::registered(Context::new(home.path().to_owned(), Vec::new())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let input = json!({ "path": "endless", "offset": 2 });
    runtime.block_on(async {
        let call = tools.run("read", &input, CancellationToken::new());
        let early = tokio::time::timeout(Duration::from_millis(100), call).await;
        assert!(early.is_err(), "{early:?}");
    });
    // Dropping a runtime waits for its blocking threads: it returns only if the worker stopped.
    let start = Instant::now();
    drop(runtime);
    assert!(start.elapsed() < Duration::from_secs(2));
}
