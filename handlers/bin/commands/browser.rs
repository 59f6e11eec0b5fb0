//! A page that a person has to visit: shown whole, and opened where there is a browser.
//! Which one that is, `$BROWSER` says as other programs read it.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::complain;

/// What opens a page where `$BROWSER` names nothing that does.
const OPENER: &str = "xdg-open";
/// Who fails within so long has opened nothing; later on a person has closed it.
const OPENING: Duration = Duration::from_secs(10);

/// Shows an address whole, on a line of its own, and opens it by `$BROWSER` or `xdg-open`. Nobody waits for the browser.
pub(crate) fn visit(address: &str) {
    complain(&format!("To log in, visit\n{address}"));
    let named = std::env::var("BROWSER").unwrap_or_default();
    let commands = commands(&named, address);
    // Whether a browser opens shows when it ends, which may be much later than this process.
    thread::spawn(move || {
        let failures: Vec<_> = commands
            .iter()
            .map_while(|command| open(command).err())
            .collect();
        if failures.len() == commands.len() {
            complain(&format!("(no browser was opened: {})", failures.join("; ")));
        }
    });
}

/// The command lines to try, in order: those of `$BROWSER`, which colons divide, then the machine's own opener. The address
/// stands for `%s`, or else behind the others.
fn commands(named: &str, address: &str) -> Vec<Vec<String>> {
    let own = match Path::new(named).is_file() {
        // A path with a space or a colon in it.
        true => vec![vec![named.to_owned()]],
        false => named
            .split(':')
            .map(|command| command.split_whitespace().map(str::to_owned).collect())
            .collect(),
    };
    own.into_iter()
        .chain([vec![OPENER.to_owned()]])
        .filter(|words: &Vec<String>| !words.is_empty())
        .map(|mut words| {
            match words.iter().any(|word| word.contains("%s")) {
                true => words
                    .iter_mut()
                    .for_each(|word| *word = word.replace("%s", address)),
                false => words.push(address.to_owned()),
            }
            words
        })
        .collect()
}

/// Runs one of them until it has opened the page. In a process group of its own: what ends this program at a terminal ends no
/// browser with all its windows.
fn open(words: &[String]) -> Result<(), String> {
    let Some((program, args)) = words.split_first() else {
        return Err("no program is named".to_owned());
    };
    let began = Instant::now();
    let ended = Command::new(program)
        .args(args)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match ended {
        Ok(status) if !status.success() && began.elapsed() < OPENING => {
            Err(format!("{program}: {status}"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named_as_everywhere() {
        let of = |named| {
            let mut all: Vec<_> = commands(named, "URL")
                .iter()
                .map(|words| words.join(" "))
                .collect();
            assert_eq!(all.pop().as_deref(), Some("xdg-open URL"), "{named}");
            all.join("|")
        };
        for (named, lines) in [
            ("", ""),
            ("  ", ""),
            ("firefox", "firefox URL"),
            ("firefox --new-window", "firefox --new-window URL"),
            ("x -u %s -q", "x -u URL -q"),
            ("x --url=%s", "x --url=URL"),
            ("a:b c::", "a URL|b c URL"),
        ] {
            assert_eq!(of(named), lines, "{named}");
        }
    }
}
