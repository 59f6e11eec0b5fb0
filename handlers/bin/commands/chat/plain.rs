//! What `chat` shows without a terminal: the answers as they come on standard output, everything about them on stderr.
//! Every text from the child is made plain here, once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};

use consumer::display::plain;
use consumer::local_agent::{ActivityState, Segment};

use super::view::{About, View, about_call, new_text};
use crate::program::complain;

pub(super) struct Plain {
    output: File,
    shown: HashMap<String, usize>,
    last: Option<String>,
    /// The output has not ended its line.
    is_open: bool,
}

impl Plain {
    pub(super) fn new(output: File) -> Self {
        Self {
            output,
            shown: HashMap::new(),
            last: None,
            is_open: false,
        }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let text = plain(text);
        if text.is_empty() {
            return Ok(());
        }
        self.is_open = !text.ends_with('\n');
        self.output.write_all(text.as_bytes())
    }
}

impl View for Plain {
    fn begin(&mut self) -> io::Result<()> {
        self.shown.clear();
        Ok(())
    }

    fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let (text, seen, replaces) = new_text(segment, &self.shown);
        if self.last.as_deref() != Some(segment.message_id()) || replaces {
            self.rest()?;
            self.last = Some(segment.message_id().to_owned());
        }
        self.put(text)?;
        self.shown.insert(segment.message_id().to_owned(), seen);
        Ok(())
    }

    fn activity(&mut self, state: ActivityState, name: &str, summary: &str) -> io::Result<()> {
        if state == ActivityState::Failed {
            self.remark(&format!("failed: {}", about_call(name, summary)))?;
        }
        Ok(())
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        complain(&plain(text));
        Ok(())
    }

    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.rest()?;
        self.put(&format!("{text}\n"))
    }

    fn question(&mut self, text: &str) -> io::Result<()> {
        self.remark(text)
    }

    fn status(&mut self, _: &About<'_>) -> io::Result<()> {
        Ok(())
    }

    fn rest(&mut self) -> io::Result<()> {
        self.last = None;
        match std::mem::take(&mut self.is_open) {
            true => self.output.write_all(b"\n"),
            false => Ok(()),
        }
    }
}
