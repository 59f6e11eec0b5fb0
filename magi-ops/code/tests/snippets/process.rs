//! The process of the tests' snippets: what a product's `main` does when it is started for one.

use std::os::fd::AsFd;

fn main() {
    let asked = std::env::args().nth(1).as_deref() == Some(code::SUBCOMMAND);
    let status = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(control) if asked => code::run(control),
        _ => 64,
    };
    std::process::exit(status);
}
