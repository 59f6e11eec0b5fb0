//! The guard alone as a program, for this crate's tests: here is no product that could be its own guard.
//! Nothing else lives here.

use std::io;
use std::os::fd::AsFd;

fn main() {
    let control = io::stdin().as_fd().try_clone_to_owned();
    let output = io::stdout().as_fd().try_clone_to_owned();
    let asked = std::env::args().nth(1).as_deref() == Some(tools::guard::SUBCOMMAND);
    std::process::exit(match (control, output) {
        (Ok(control), Ok(output)) if asked => tools::guard::run(control, output),
        _ => 2,
    });
}
