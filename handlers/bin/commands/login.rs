//! `magi-code login`: logs in to a provider in a browser, or stores its key.
//! How a login goes is no matter of this file; it shows, opens, and passes on what is pasted.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _};
use std::os::fd::OwnedFd;

use handlers::configuration::{Reason, lines, log_in_to, shown, store_key};
use host::transport::Stdio;
use tokio::sync::mpsc;

use super::{browser, hidden};
use crate::program::{Run, complain, print};

/// Longest line that is read of what is pasted, in bytes.
const MAX_PASTED_BYTES: u64 = 16 * 1024;

/// Log in to a provider in a browser, or store its key
#[derive(clap::Args)]
#[command(after_help = "\
The page opens in the browser of this machine, by $BROWSER or xdg-open, and the command ends by itself once the browser comes \
back. Where it can't, as over ssh, paste the address that the browser ended at, or the code in it.

Examples:
  magi-code login
  magi-code login anthropic --with-key
  pass show anthropic | magi-code login anthropic --with-key

Exit status: 0 the login or the key is stored, 1 it is not, for reasons that stand on stderr, 2 the command line is wrong.")]
pub(crate) struct Login {
    /// Whom to log in to
    #[arg(default_value = "openai-codex")]
    provider: String,
    /// Store a key: typed without echo, or one line of standard input
    #[arg(long)]
    with_key: bool,
}

impl Run for Login {
    const NAME: &'static str = "login";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let provider = shown(&self.provider);
        let (done, text) = match self.with_key {
            true => {
                let prompt = format!("Key of {provider} (it is not shown): ");
                let Some(key) = hidden::line(&stdio.input, &prompt)? else {
                    complain("nothing is stored");
                    return Ok(1);
                };
                let done = store_key(&self.provider, &key);
                (done, format!("the key of {provider} is stored\n"))
            }
            false => {
                let is_typed = stdio.input.is_terminal();
                let mut pasted = pasted(stdio.input.try_clone()?);
                let show = |page: &str, listens: bool| invite(page, listens, is_typed);
                let done = log_in_to(&self.provider, show, &mut pasted);
                (done, format!("logged in to {provider}\n"))
            }
        };
        answer(stdio, done.map(|()| text))
    }
}

/// Prints what was done, or complains of what kept it from being done. The exit status.
pub(super) fn answer(stdio: Stdio, done: Result<String, Vec<Reason>>) -> anyhow::Result<i32> {
    match done {
        Ok(text) => print(stdio, &text),
        Err(reasons) => {
            reasons.iter().for_each(|reason| complain(&lines(reason)));
            Ok(1)
        }
    }
}

fn invite(page: &str, listens: bool, is_typed: bool) {
    browser::visit(page);
    if !listens {
        complain(
            "Nothing on this machine can be listened to, so the browser can't come back by itself.",
        );
    }
    if is_typed || !listens {
        complain("Or paste the address that the browser ends at, or the code in it:");
    }
    complain("This waits five minutes at most.");
}

/// The lines of `input` that are not blank, as they come. Nobody waits for the thread: it may read for ever.
fn pasted(input: OwnedFd) -> mpsc::Receiver<String> {
    let (tell, pasted) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = BufReader::new(File::from(input));
        loop {
            let mut line = String::new();
            let read = input.by_ref().take(MAX_PASTED_BYTES).read_line(&mut line);
            if !matches!(read, Ok(1..)) {
                break;
            }
            let line = line.trim();
            if !line.is_empty() && tell.blocking_send(line.to_owned()).is_err() {
                break;
            }
        }
    });
    pasted
}
