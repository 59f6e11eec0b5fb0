//! Speed of the formatter on one core, parse included, for two sizes of ordinary code, in canonical form
//! and with its line ends and indents gone astray. Prints best and median of several rounds;
//! `cargo bench -p syntax --bench format`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use syntax::format::format;

fn measure(name: &str, lines: usize, rounds: usize, text: &str) {
    let text: Arc<str> = text.into();
    let mut times: Vec<(f64, f64)> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            let parse = syntax::parse(Arc::clone(&text));
            let parsed = start.elapsed().as_secs_f64();
            let out = format(&parse);
            assert!(out.is_ok(), "{out:?}");
            black_box(out).ok();
            (start.elapsed().as_secs_f64(), parsed)
        })
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mb = text.len() as f64 / 1e6;
    println!(
        "fmt {name:>9} {lines:>7} lines  {mb:6.2} MB  best {:6.1} MB/s  median {:6.1} MB/s  (the parse alone {:6.1} MB/s)",
        mb / times[0].0,
        mb / times[times.len() / 2].0,
        mb / times[0].1,
    );
}

fn main() {
    for (lines, rounds) in [(10_000, 40), (200_000, 7)] {
        let text = corpus::program(lines, 1);
        let canonical = format(&syntax::parse(text.as_str())).unwrap_or_default();
        assert!(!canonical.is_empty());
        measure("canonical", lines, rounds, &canonical);
        let astray = canonical.replace("\n  ", "\n       ").replace(", ", " , ");
        measure("astray", lines, rounds, &astray);
    }
}
