//! What the terminal at standard error can do, and the line that says what takes so long.
//! Decides nothing about content.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work shorter than this says nothing.
const QUIET: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    /// Whether there is one, so that a passing line can be shown.
    pub(super) shown: bool,
    #[cfg(feature = "check")]
    pub(super) color: bool,
    /// In columns.
    pub(super) width: usize,
}

impl Terminal {
    /// Of standard error. Colour wants a terminal that is not dumb and no `NO_COLOR`.
    pub(super) fn of_stderr() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let shown = std::io::stderr().is_terminal();
        let columns = set("COLUMNS").and_then(|c| c.to_str()?.parse().ok());
        Self {
            shown,
            #[cfg(feature = "check")]
            color: shown
                && set("TERM").is_some_and(|term| term != "dumb")
                && set("NO_COLOR").is_none(),
            width: columns.unwrap_or(120).clamp(40, 400),
        }
    }

    /// Shows a passing line while the value lives, once the work takes long.
    pub(super) fn progress(self) -> Progress {
        let (send, receive) = mpsc::channel();
        // Without a thread for it there is no passing line.
        let thread = self
            .shown
            .then(|| std::thread::Builder::new().spawn(move || show(&receive, self.width)));
        let thread = thread.and_then(Result::ok);
        Progress {
            send: Some(send),
            thread,
        }
    }
}

/// A line at the bottom of the terminal, gone when dropped.
pub(super) struct Progress {
    send: Option<mpsc::Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// What is being done now.
    pub(super) fn say(&self, what: String) {
        if let Some(send) = &self.send {
            let _ = send.send(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.send = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn show(words: &mpsc::Receiver<String>, width: usize) {
    let begun = Instant::now();
    let mut now = String::new();
    let mut drawn = false;
    loop {
        match words.recv_timeout(TICK) {
            // The latest counts; words come faster than anybody reads.
            Ok(word) => now = word,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Ok(word) = words.try_recv() {
            now = word;
        }
        if begun.elapsed() >= QUIET && !now.is_empty() {
            let line: String = format!("{now} ({:.1} s)", begun.elapsed().as_secs_f32())
                .chars()
                .filter(|c| !c.is_control())
                .take(width - 1)
                .collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
            drawn = true;
        }
    }
    if drawn {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
