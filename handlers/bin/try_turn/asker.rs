//! The person at the terminal, for `magi-code try`: one line at a time, and only when asked.
//! What is asked, and what an answer means, is the caller's.

use std::io::BufRead;

use tokio::sync::mpsc;

/// The person at the terminal, asked for a line only when there is a question.
pub(super) struct Asker {
    pub(super) open: fn() -> Option<mpsc::Receiver<String>>,
    pub(super) lines: Option<mpsc::Receiver<String>>,
}

impl Asker {
    /// Whether there is somebody; forgets what was typed before the question.
    pub(super) fn ready(&mut self) -> bool {
        if self.lines.is_none() {
            self.lines = (self.open)();
        }
        let Some(lines) = &mut self.lines else {
            return false;
        };
        while lines.try_recv().is_ok() {}
        !lines.is_closed()
    }

    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => None,
        }
    }
}

/// Lines from the controlling terminal itself: descriptor 0 belongs to the protocols.
pub(super) fn read_terminal() -> Option<mpsc::Receiver<String>> {
    let terminal = std::fs::File::open("/dev/tty").ok()?;
    let (sender, lines) = mpsc::channel(1);
    // A thread of its own, because a read of a terminal cannot be taken back; it ends with the process.
    std::thread::Builder::new()
        .name("terminal".into())
        .spawn(move || {
            for line in std::io::BufReader::new(terminal).lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })
        .ok()?;
    Some(lines)
}
