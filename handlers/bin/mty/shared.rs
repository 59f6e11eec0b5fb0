//! What the commands about programs share: reading sources, writing answers.
//! Nothing of one command stands here.

use std::io::Write as _;
use std::os::fd::OwnedFd;

/// The real standard output, which descriptor 1 no longer is. What nobody reads any more is not written.
pub(super) struct Out(std::io::BufWriter<std::fs::File>);

impl Out {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self(std::io::BufWriter::new(std::fs::File::from(fd)))
    }

    pub(super) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.text(&format!("{text}\n"))
    }

    pub(super) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if !text.is_empty() {
            crate::program::open_output()?;
        }
        self.0.write_all(text.as_bytes())?;
        Ok(())
    }

    pub(super) fn flush(mut self) -> anyhow::Result<()> {
        self.0.flush()?;
        Ok(())
    }
}

/// Checks a file, or all that stands below a directory. What can't be read is told with its path; `begun` is told how far
/// it is.
#[cfg(feature = "check")]
pub(super) fn check_path(
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
pub(super) fn read_all(input: OwnedFd) -> Result<String, String> {
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
