//! Speed of the lossless parse on one core, and the memory of its tree, for two sizes of ordinary code.
//! Prints best and median of several rounds; `cargo bench -p syntax --bench parse`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    for (lines, rounds) in [(10_000, 60), (200_000, 9)] {
        let text: Arc<str> = corpus::program(lines, 1).into();
        let first = syntax::parse(Arc::clone(&text));
        assert!(first.errors.is_empty(), "{:?}", first.errors.first());
        assert_eq!(first.tree.text(), &*text);
        let mut times: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                black_box(syntax::parse(Arc::clone(&text)));
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let mb = text.len() as f64 / 1e6;
        println!(
            "parse {lines:>7} lines  {mb:6.2} MB  best {:6.1} MB/s  median {:6.1} MB/s  tree {:4.1} bytes per byte",
            mb / times[0],
            mb / times[times.len() / 2],
            first.tree.heap_bytes() as f64 / text.len() as f64,
        );
    }
}
