//! Command lines as a shell reads them: their simple commands, however deep, and what of them is not plain.
//! Reads text and runs nothing; what may run is decided in `policy`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

mod line;
mod word;

pub(crate) use line::{Line, Redirection, Simple};
pub(crate) use word::Word;

/// Longest line that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 32 * 1024;
/// Most places at which something may begin within something else. The parser reads what stands in a
/// substitution once for each level above it.
const MAX_OPENINGS: usize = 16;
/// Most words and marks that begin a block.
const MAX_BLOCKS: usize = 256;
/// How long reading may take. It takes well below a millisecond.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Readings at the same time, those that are stuck included.
const MAX_READINGS: usize = 8;
/// Stack of one reading.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Why a line can't be judged by what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    /// The shell would not understand it either, or only part of it.
    #[error("the command line can't be parsed")]
    Syntax,
    /// Too long or too deep, or the parser did not come back with an answer.
    #[error("the command line is too complex to be judged")]
    Bounds,
}

/// Runs `read` on a thread of its own: a panic or a hang of the parser must be an answer too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    running: Arc<AtomicUsize>,
}

impl Reading {
    /// What `read` comes to, or [`Unread::Bounds`]. Blocks, for [`TIME_LIMIT`] at most.
    pub(crate) fn of<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Unread> + Send + 'static,
    ) -> Result<T, Unread> {
        self.within(TIME_LIMIT, read)
    }

    fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        read: impl FnOnce() -> Result<T, Unread> + Send + 'static,
    ) -> Result<T, Unread> {
        /// Counts down also when the reading panics.
        struct Running(Arc<AtomicUsize>);
        impl Drop for Running {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let others = self.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(Arc::clone(&self.running));
        if others >= MAX_READINGS {
            return Err(Unread::Bounds);
        }
        let (sender, answer) = mpsc::sync_channel(1);
        let started = thread::Builder::new()
            .name("shell-parser".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _running = running;
                let _ = sender.send(read());
            });
        if let Err(error) = started {
            tracing::warn!(%error, "a command line can't be read: no thread for it");
            return Err(Unread::Bounds);
        }
        answer.recv_timeout(limit).unwrap_or_else(|error| {
            tracing::warn!(%error, "a command line could not be read");
            Err(Unread::Bounds)
        })
    }
}

/// Whether reading the text is within its bounds. Looks at every character alike, quoted or not.
fn is_bounded(text: &str) -> bool {
    let opens = |pair: &[u8]| matches!(pair, b"$(" | b"<(" | b">(" | b"${" | b"$[" | b"((" | b"[[");
    let pairs = text
        .as_bytes()
        .windows(2)
        .filter(|pair| opens(pair))
        .count();
    let ticks = text.bytes().filter(|b| *b == b'`').count() / 2;
    let blocks = ["if", "while", "until", "for", "case", "select", "function"];
    let words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| blocks.contains(word))
        .count();
    let marks = text
        .bytes()
        .filter(|b| matches!(b, b'(' | b'{' | b'!'))
        .count();
    text.len() <= MAX_BYTES && pairs + ticks <= MAX_OPENINGS && words + marks <= MAX_BLOCKS
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_panic_and_a_hang_are_answers() {
        let reading = Reading::default();
        let panics: Result<(), _> = reading.of(|| panic!("the parser's"));
        assert_eq!(panics, Err(Unread::Bounds));
        let (hold, held) = mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let hangs = |limit| {
            let held = Arc::clone(&held);
            reading.within(limit, move || {
                let _ = held.lock().map(|held| held.recv());
                Ok(())
            })
        };
        for _ in 0..MAX_READINGS {
            assert_eq!(hangs(Duration::from_millis(1)), Err(Unread::Bounds));
        }
        // As many as may be stuck; no thread more is started.
        let begun = Instant::now();
        assert_eq!(hangs(Duration::from_secs(600)), Err(Unread::Bounds));
        assert!(begun.elapsed() < Duration::from_secs(500));
        drop(hold);
    }

    #[test]
    fn what_nests_deep_is_not_read() {
        for (open, close) in [
            ("$(", ")"),
            ("(", ")"),
            ("((", "))"),
            ("${a:-", "}"),
            ("{ ", ";}"),
            ("\"$(", ")\""),
            ("<(", ")"),
            ("if a; then ", "; fi"),
            ("while a; do ", "; done"),
            ("$((", "))"),
            ("[[ ( ", " ) ]]"),
            ("! ", ""),
            ("case a in a) ", ";; esac"),
            ("`", "`"),
        ] {
            for depth in [1, 8, 16, 17, 250, 257, 2000] {
                let text = format!("{}a{}", open.repeat(depth), close.repeat(depth));
                // It returns, whatever it says; beyond the bounds it is not even tried.
                let read = Reading::default().of(move || Line::read(&text, |_| false));
                if depth > MAX_BLOCKS {
                    assert_eq!(read.err(), Some(Unread::Bounds), "{open}");
                }
            }
        }
    }
}
