//! A page that a person has to visit: shown whole, and opened where there is a browser.

use std::process::{Command, Stdio};

use crate::program::complain;

/// Shows an address whole, on a line of its own, and opens it by `$BROWSER` or `xdg-open`.
pub(crate) fn visit(address: &str) {
    complain(&format!("To log in, visit\n{address}"));
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let started = Command::new(browser.unwrap_or_else(|| "xdg-open".into()))
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        complain(&format!("(no browser was opened: {error})"));
    }
}
