//! Lines of a file's bytes: their ends and their number, for what is written.
//! What is shown of lines is the reading tools' matter.

use crate::bounds::counted;

/// Whether every line of the file ends with CRLF.
pub(crate) fn only_crlf(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).all(|at| at > 0 && bytes[at - 1] == b'\r')
}

/// The text with CRLF for each line end that is not one already.
pub(crate) fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\n' && (at == 0 || text[at - 1] != b'\r') {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

/// `12 lines, 340 bytes`; a last line without an end counts.
pub(crate) fn size(parts: &[&[u8]]) -> String {
    let ends: usize = parts
        .iter()
        .map(|part| memchr::memchr_iter(b'\n', part).count())
        .sum();
    let last = parts.iter().rev().find_map(|part| part.last());
    let open = last.is_some_and(|last| *last != b'\n');
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    format!(
        "{}, {}",
        counted(ends as u64 + u64::from(open), "line", "lines"),
        counted(bytes as u64, "byte", "bytes")
    )
}
