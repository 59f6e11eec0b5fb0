//! The context identity: one digest over a working directory and the storage roots.
//! It compares contexts and discloses nothing; it is no permission and no security boundary.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// 64 lower-case hex digits of SHA-256 over the canonical `cwd` and the canonical `roots`.
///
/// The caller canonicalizes, so that aliases of one directory are equal (spec: local-agent,
/// "Frames, correlation and compatibility"). Every field is preceded by its length: no two
/// different lists of paths can run together into the same bytes. The order of the roots is
/// their role and counts.
pub(crate) fn context_id(cwd: &Path, roots: &[impl AsRef<Path>]) -> String {
    let mut hash = Sha256::new();
    hash.update(b"magi-code.context.v1\0");
    for path in std::iter::once(cwd).chain(roots.iter().map(AsRef::as_ref)) {
        let bytes = path.as_os_str().as_bytes();
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_64_lower_case_hex_digits_and_names_no_path() {
        let id = context_id(Path::new("/w/project"), &["/h/.magi-code"]);
        assert_eq!(id.len(), 64);
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
    }

    #[test]
    fn neighbouring_fields_never_run_together() {
        let id = |cwd: &str, roots: &[&str]| context_id(Path::new(cwd), roots);
        let all = [
            id("/ab", &["/c", "/d"]),
            id("/a", &["b/c", "/d"]),
            id("/ab", &["/c/d"]),
            id("/ab", &["/d", "/c"]),
            id("/ab", &["/c", "/d", ""]),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(a, b);
            }
        }
        assert_eq!(id("/ab", &["/c", "/d"]), all[0]);
    }
}
