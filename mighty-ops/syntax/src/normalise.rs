//! CRLF to LF, with the way back for offsets (language.md §1.1).
//! Must not touch a lone carriage return: it is an unknown byte.

use std::sync::Arc;

/// The text with LF line ends, and the offsets (in it) of line feeds that were CRLF.
pub(crate) fn line_ends(text: Arc<str>) -> (Arc<str>, Vec<u32>) {
    if memchr::memmem::find(text.as_bytes(), b"\r\n").is_none() {
        return (text, Vec::new());
    }
    let mut out = String::with_capacity(text.len());
    let mut crlf = Vec::new();
    let mut rest = &*text;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), b"\r\n") {
        out.push_str(&rest[..at]);
        crlf.push(u32::try_from(out.len()).unwrap_or(u32::MAX));
        out.push('\n');
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    (out.into(), crlf)
}
