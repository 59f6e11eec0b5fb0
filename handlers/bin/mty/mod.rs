//! The commands for people: what they share. Each command stands in a file of its own.
//! Nothing here serves a protocol.

#[cfg(feature = "check")]
pub(crate) mod check;
#[cfg(feature = "fix")]
pub(crate) mod fix;
#[cfg(feature = "fmt")]
pub(crate) mod fmt;
#[cfg(feature = "check")]
mod pretty;
#[cfg(any(feature = "check", feature = "fmt"))]
mod terminal;

use std::io::Write as _;
use std::os::fd::OwnedFd;

/// The real standard output, which descriptor 1 no longer is. What nobody reads any more is not written.
struct Out(std::io::BufWriter<std::fs::File>);

impl Out {
    fn new(fd: OwnedFd) -> Self {
        Self(std::io::BufWriter::new(std::fs::File::from(fd)))
    }

    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.text(&format!("{text}\n"))
    }

    fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if !text.is_empty() {
            crate::program::open_output()?;
        }
        self.0.write_all(text.as_bytes())?;
        Ok(())
    }

    fn flush(mut self) -> anyhow::Result<()> {
        self.0.flush()?;
        Ok(())
    }
}

/// Checks a file, or all that stands below a directory. What can't be read is told with its path; `begun` is told how far
/// it is.
#[cfg(feature = "check")]
fn check_path(
    path: &str,
    begun: impl FnMut(usize, usize),
) -> Vec<Result<mighty::tools::Checked, (String, mighty::tools::SourceError)>> {
    let real = std::path::Path::new(path);
    if real.is_dir() {
        mighty::tools::check_directory(path, real, begun)
    } else {
        vec![mighty::tools::check_file(path, real).map_err(|error| (path.to_owned(), error))]
    }
}

/// All of standard input as text, up to the size of a source file.
#[cfg(any(feature = "fix", feature = "fmt"))]
fn read_all(input: OwnedFd) -> Result<String, String> {
    use std::io::Read as _;
    let limit = mighty::tools::MAX_SOURCE_BYTES;
    let mut bytes = Vec::new();
    std::fs::File::from(input)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read standard input: {error}"))?;
    if bytes.len() as u64 == limit {
        return Err("standard input is too large, 64 MiB or more".into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("standard input is not UTF-8 at byte {at}")
    })
}
