//! Time and memory of a whole check (parse, names, types, effects, taint, borrows) by size of the program.
//! Prints; `cargo bench -p analysis --bench check`. By the thread's processor time, with the clock beside it.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use analysis::{Options, Package, check};

/// Seconds of processor time this thread has used, the kernel's share included.
fn used() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// The most memory that the process ever held, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn main() {
    let options = Options::default();
    for (lines, rounds) in [
        (1_000, 40),
        (5_000, 20),
        (10_000, 15),
        (20_000, 9),
        (50_000, 5),
        (100_000, 3),
        (200_000, 3),
    ] {
        let text = corpus::program(lines, 1);
        let before = peak();
        let (mut cpu, mut wall, mut reports) = (f64::MAX, f64::MAX, 0);
        for _ in 0..rounds {
            let (clock, start) = (Instant::now(), used());
            let package = Package::single("corpus.mty", &text);
            let done = black_box(check(&package, &options).expect("the check ends"));
            cpu = cpu.min(used() - start);
            wall = wall.min(clock.elapsed().as_secs_f64());
            reports = done.diagnostics.len();
        }
        println!(
            "check {lines:>7} lines {:5.2} MB  best {:7.1} ms, {:5.2} ms a thousand lines, by the clock {:7.1} ms; \
             {reports} reports; memory +{:.1} bytes per byte",
            text.len() as f64 / 1e6,
            cpu * 1e3,
            cpu * 1e6 / lines as f64,
            wall * 1e3,
            (peak() - before) as f64 / text.len() as f64,
        );
    }
}
