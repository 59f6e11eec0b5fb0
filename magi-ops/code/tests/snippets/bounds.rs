//! What a snippet may use, and that it ends when it is told to.

use std::time::Instant;

use super::*;

#[tokio::test]
async fn output_is_bounded_and_said_to_be_cut() {
    for source in [
        "for (let i = 0; i < 100000; i++) console.log('0123456789')",
        "console.log('x'.repeat(1e6))",
        "return 'x'.repeat(1e6)",
        "console.log('y'.repeat(2e5)); return 'x'.repeat(2e5)",
        "console.log('é'.repeat(2e5)); throw new Error('x'.repeat(2e5))",
    ] {
        let outcome = run(source).await;
        let length = outcome.content.len();
        assert!(
            (200_000..=256 * 1024).contains(&length),
            "{source}: {length}"
        );
        assert!(
            outcome
                .content
                .contains("[cut: the output of a snippet has at most 256 KiB]"),
            "{source}"
        );
    }
    let said = said("console.log('y'.repeat(3e5)); return 'the end'").await;
    assert!(
        said.contains("the end"),
        "a value has its place beside much output"
    );
}

#[tokio::test]
async fn memory_is_bounded() {
    for source in [
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "let s = 'x'; for (;;) s += s + 'y'",
        "new Uint8Array(1e9)",
        "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, {i})",
    ] {
        let said = failure(source).await;
        assert!(
            said.contains("memory")
                || said.contains("too long")
                || said.contains("ended unexpectedly"),
            "{source}: {said}"
        );
    }
    let said = said_ok(
        "try { const a = []; for (;;) a.push(new Uint8Array(1e6)) } catch { return 'caught' }",
    )
    .await;
    assert_eq!(said, "caught");
}

async fn said_ok(source: &str) -> String {
    super::said(source).await
}

#[tokio::test]
async fn the_stack_is_bounded() {
    for source in [
        "(function f() { f() })()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "JSON.parse('['.repeat(1e6))",
        "new RegExp('('.repeat(1e6))",
        "const p = new Proxy({}, {get(t, k, r) { return r[k] }}); p.x",
    ] {
        let said = failure(source).await;
        assert!(
            said.contains("RangeError") || said.contains("stack") || said.contains("SyntaxError"),
            "{source}: {said}"
        );
    }
}

async fn cancelled_after(source: &str, wait: Duration) -> Duration {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let begun = Arc::new(Mutex::new(None));
    let at = Arc::clone(&begun);
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        *at.lock().unwrap() = Some(Instant::now());
        stop.cancel();
    });
    let outcome = played(source, Arc::default(), cancel).await;
    assert_eq!(
        outcome.summary, "cancelled",
        "{source}: {}",
        outcome.content
    );
    let at = begun.lock().unwrap().unwrap();
    at.elapsed()
}

/// 100 ms in a busy loop and a second in one operation are what the texts ask for; both are killed alike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_ends_a_snippet_wherever_it_is() {
    for source in [
        "for (;;);",
        "(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})",
        "/(a+)+$/.test('a'.repeat(60) + 'b')",
        // One operation of the engine that nothing but a signal can stop.
        "'a'.repeat(3e7).indexOf('a'.repeat(15e6) + 'b')",
        "await tools.hang({})",
        "for (;;) { try { for (;;); } catch {} finally { for (;;); } }",
    ] {
        let took = cancelled_after(source, Duration::from_millis(400)).await;
        // A busy machine schedules late; what hangs takes for ever.
        assert!(took < Duration::from_secs(3), "{source}: {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_loop_ends_within_100_ms_of_its_cancellation() {
    // A busy machine schedules late, but not every time.
    let mut tries = Vec::new();
    while tries.len() < 20 {
        let took = cancelled_after("for (;;);", Duration::from_millis(50)).await;
        if took <= Duration::from_millis(100) {
            return;
        }
        tries.push(took);
    }
    panic!("{tries:?}");
}

#[tokio::test]
async fn dropping_a_snippet_ends_its_calls() {
    let player = Arc::new(Player::default());
    let running = Arc::clone(&player.running);
    let work = played("await tools.hang({})", player, CancellationToken::new());
    let task = tokio::spawn(work);
    while running.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    task.abort();
    let _ = task.await;
    tokio::time::timeout(Duration::from_secs(10), async {
        while running.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}
