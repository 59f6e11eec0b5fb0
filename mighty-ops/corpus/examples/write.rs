//! Writes a generated program: `cargo run -p corpus --example write -- LINES > file.mty`.
#![allow(clippy::print_stdout)]

fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok());
    print!("{}", corpus::program(lines.unwrap_or(10_000), 1));
}
