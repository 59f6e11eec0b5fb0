//! What `magi-code try` shows: the answer on stdout, everything about it on stderr.
//! Every text from the child is made plain here, once; no protocol lives here.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use consumer::display::{one_line, plain};
use consumer::local_agent::{ActivityState, Segment};
use consumer::stream::{Direction, Tap};

/// Characters of a status line.
const WIDTH: usize = 100;

/// Where the remarks go; shared with the tap that shows frames.
pub(super) type Remarks = Arc<Mutex<dyn Write + Send>>;

/// What takes a status line away.
const ERASE: &[u8] = b"\r\x1b[K";

fn locked(remarks: &Remarks) -> MutexGuard<'_, dyn Write + Send + 'static> {
    remarks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a text so that it is seen at once.
fn write(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// What is known of the two outputs.
#[derive(Clone, Copy)]
pub(super) struct Terminals {
    /// They are one: a remark would cut into a line of words.
    pub(super) joined: bool,
    /// The remarks go to a terminal.
    pub(super) remarks: bool,
}

pub(super) struct Screen<'a> {
    words: &'a mut dyn Write,
    remarks: Remarks,
    terminals: Terminals,
    /// Status lines are rewritten in place; not while frames run through them.
    live: bool,
    /// A status line stands that the next text must erase.
    standing: bool,
    /// The words have not ended their line. The tap must know it too.
    mid_line: Arc<AtomicBool>,
    /// Bytes of each segment's streamed text that were shown.
    shown: HashMap<String, usize>,
    last: Option<String>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        words: &'a mut dyn Write,
        remarks: Remarks,
        terminals: Terminals,
        frames: bool,
    ) -> Self {
        Self {
            words,
            remarks,
            terminals,
            live: terminals.remarks && !frames,
            standing: false,
            mid_line: Arc::new(AtomicBool::new(false)),
            shown: HashMap::new(),
            last: None,
        }
    }

    /// Shows every frame, both ways, among the remarks.
    pub(super) fn tap(&self) -> Tap {
        let remarks = Arc::clone(&self.remarks);
        let mid_line = Arc::clone(&self.mid_line);
        let shared = self.terminals.joined;
        Box::new(move |direction, line| {
            let arrow = match direction {
                Direction::Sent => '→',
                Direction::Received => '←',
            };
            let text = String::from_utf8_lossy(line);
            let mut remarks = locked(&remarks);
            let broken = shared && mid_line.swap(false, Ordering::Relaxed);
            let lead = if broken { "\n" } else { "" };
            // A remark that cannot be shown must not stop the turn.
            let text = plain(&text).replace(['\n', '\t'], " ");
            let _ = write(&mut *remarks, &format!("{lead}{arrow} {text}\n"));
        })
    }

    /// A remark that stays.
    pub(super) fn remark(&mut self, text: &str) {
        self.put(&format!("{}\n", plain(text)));
    }

    /// A question, which the person's own line feed will end.
    pub(super) fn question(&mut self, text: &str) {
        self.put(&plain(text));
    }

    pub(super) fn activity(&mut self, state: ActivityState, name: &str, summary: &str) {
        // Summaries of tools mostly begin with the tool's name.
        let named = summary
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']));
        let about = match summary {
            _ if named => one_line(summary, WIDTH),
            // As a rule all that is known then.
            "started" => one_line(name, WIDTH),
            _ => one_line(&format!("{name}  {summary}"), WIDTH),
        };
        if !self.live {
            let state = state.word();
            return self.put(&format!("[{state}] {about}\n"));
        }
        match state {
            ActivityState::Started => {
                self.put(&format!("\r\x1b[K  … {about}"));
                self.standing = true;
            }
            ActivityState::Completed => self.put(&format!("  ✓ {about}\n")),
            ActivityState::Failed => self.put(&format!("  ✗ {about}\n")),
        }
    }

    fn put(&mut self, text: &str) {
        if self.terminals.joined && self.mid_line.swap(false, Ordering::Relaxed) {
            let _ = write(self.words, "\n");
        }
        let mut remarks = locked(&self.remarks);
        if std::mem::take(&mut self.standing) {
            let _ = remarks.write_all(ERASE);
        }
        let _ = write(&mut *remarks, text);
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.standing) {
            let mut remarks = locked(&self.remarks);
            let _ = remarks.write_all(ERASE).and_then(|()| remarks.flush());
        }
        let text = plain(text);
        write(self.words, &text)?;
        if !text.is_empty() {
            self.mid_line
                .store(!text.ends_with('\n'), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends the line of the words, if one stands open.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if self.mid_line.swap(false, Ordering::Relaxed) {
            write(self.words, "\n")?;
        }
        Ok(())
    }

    /// Shows what is new in a segment: its streamed words up to the first hole, and the rest once the
    /// authoritative copy is here. What was shown is so a beginning of the true text; where it is not
    /// (a redaction that only the whole could see), the whole is shown again.
    pub(super) fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let shown = self.shown.get(segment.message_id()).copied().unwrap_or(0);
        let (text, from) = if segment.is_settled() {
            let said = &segment.streamed()[..shown];
            match segment.text().strip_prefix(said) {
                Some(rest) => (rest, None),
                None => (
                    segment.text(),
                    Some("The text above is replaced by its authoritative copy:"),
                ),
            }
        } else {
            (&segment.prefix()[shown..], None)
        };
        if let Some(remark) = from {
            self.end_line()?;
            self.remark(remark);
        } else if text.is_empty() {
            return Ok(());
        }
        if self.last.as_deref() != Some(segment.message_id()) {
            self.end_line()?;
            self.last = Some(segment.message_id().to_owned());
        }
        self.say(text)?;
        let seen = if segment.is_settled() {
            shown
        } else {
            segment.prefix().len()
        };
        self.shown.insert(segment.message_id().to_owned(), seen);
        Ok(())
    }
}
