//! Reading small files whole, many one after another, into one buffer.
//! No format and no policy.

use std::fs::File;
use std::io::{self, Read};

/// A buffer for whole small files, used again for each.
#[derive(Debug)]
pub struct SmallFiles {
    buffer: Vec<u8>,
}

impl SmallFiles {
    /// For files of up to `limit` bytes.
    pub fn up_to(limit: usize) -> Self {
        Self {
            buffer: vec![0; limit],
        }
    }

    /// The bytes of a regular file of `length` bytes, with one call of the system as a rule; `None` if it is
    /// longer than the buffer.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn read(&mut self, mut file: &File, length: u64) -> io::Result<Option<&[u8]>> {
        let Some(room) = usize::try_from(length)
            .ok()
            .and_then(|length| self.buffer.get_mut(..length))
        else {
            return Ok(None);
        };
        let mut read = 0;
        while read < room.len() {
            match file.read(&mut room[read..]) {
                // It became shorter.
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(&room[..read]))
    }
}
