//! Speed of the lossless parse on one core, and the memory of its tree, for two sizes of ordinary code.
//! Prints best and median of several rounds by the thread's processor time, so that other work on the machine
//! hardly counts, and the best by the clock; `cargo bench -p syntax --bench parse`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Seconds of processor time this thread has used, the kernel's share included.
fn used() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn main() {
    for (lines, rounds) in [(10_000, 60), (200_000, 9)] {
        let text: Arc<str> = corpus::program(lines, 1).into();
        let first = syntax::parse(Arc::clone(&text));
        assert!(first.errors.is_empty(), "{:?}", first.errors.first());
        assert_eq!(first.tree.text(), &*text);
        let mut cpu = Vec::with_capacity(rounds);
        let mut wall = f64::MAX;
        for _ in 0..rounds {
            let (clock, start) = (Instant::now(), used());
            black_box(syntax::parse(Arc::clone(&text)));
            cpu.push(used() - start);
            wall = wall.min(clock.elapsed().as_secs_f64());
        }
        cpu.sort_by(f64::total_cmp);
        let mb = text.len() as f64 / 1e6;
        println!(
            "parse {lines:>7} lines {mb:5.2} MB  best {:5.1} MB/s  median {:5.1} MB/s  by the clock {:5.1} MB/s  tree {:4.1} bytes per byte",
            mb / cpu[0],
            mb / cpu[cpu.len() / 2],
            mb / wall,
            first.tree.heap_bytes() as f64 / text.len() as f64,
        );
    }
}
