//! A line that nobody may read over a person's shoulder: without echo on a terminal.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use crate::program::complain;

/// Longest line, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The terminal as it was, again.
struct Restore<'t>(&'t OwnedFd, Termios);

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(self.0, OptionalActions::Flush, &self.1);
    }
}

/// Reads one line of `input`, behind `prompt` and without echo where that is a terminal. `None` where the person thought better of
/// it.
///
/// # Errors
/// When it can't be read, is longer than [`MAX_BYTES`], or is no UTF-8.
pub(crate) fn line(input: &OwnedFd, prompt: &str) -> io::Result<Option<String>> {
    let mut file = std::fs::File::from(input.try_clone()?);
    let mut line = Vec::new();
    if !isatty(input) {
        let mut byte = [0];
        while line.last() != Some(&b'\n') && file.read(&mut byte)? == 1 {
            push(&mut line, byte[0])?;
        }
        return text(line).map(Some);
    }
    let before = tcgetattr(input)?;
    let mut hidden = before.clone();
    // Its keys come one by one, so that an interrupt leaves no terminal behind that shows nothing.
    hidden
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
    let restore = Restore(input, before);
    tcsetattr(input, OptionalActions::Flush, &hidden)?;
    let _ = write!(io::stderr(), "{prompt}");
    let mut byte = [0];
    let given = loop {
        let read = file.read(&mut byte)?;
        match byte[0] {
            // Ctrl-C, Ctrl-\, and Ctrl-D where nothing is typed.
            3 | 28 => break None,
            4 if line.is_empty() => break None,
            _ if read == 0 => break None,
            b'\r' | b'\n' | 4 => break Some(text(line)?),
            8 | 127 => {
                // A whole character.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            21 => line.clear(),
            byte => push(&mut line, byte)?,
        }
    };
    drop(restore);
    complain("");
    Ok(given)
}

fn push(line: &mut Vec<u8>, byte: u8) -> io::Result<()> {
    if line.len() == MAX_BYTES {
        let why = format!("the line is longer than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    line.push(byte);
    Ok(())
}

fn text(line: Vec<u8>) -> io::Result<String> {
    String::from_utf8(line).map_err(|error| {
        // The error holds the line.
        io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())
    })
}
