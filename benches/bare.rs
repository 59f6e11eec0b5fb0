//! The floor of every comparison: reads a line, writes a line, does nothing else. Compiled by the benchmark.
use std::io::{BufRead, Write};

fn main() {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|n| n > 0) {
        if output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush())
            .is_err()
        {
            break;
        }
        line.clear();
    }
}
