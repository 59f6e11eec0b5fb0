//! The one-pass scan against the slow measure and against serde_json.
//! No dialect lives here; its limits are given.

use host::scan::{ScanLimits, scan, scan_prefix};
use serde_json::Value;

use crate::naive::Found;

/// Holds the scan of `text` against what was `found` by the slow measure.
///
/// # Panics
/// When they differ.
pub fn check(text: &str, found: &Found, limits: &ScanLimits) {
    let whole = scan(text, limits);
    assert_eq!(whole.is_ok(), found.ok(), "grammar: {text:?}");
    let prefix = scan_prefix(text, limits);
    assert_eq!(prefix.is_ok(), found.whole, "grammar: {text:?}");
    let deep = found.depth > limits.depth;
    match &prefix {
        Ok((_, end)) => assert_eq!(*end, found.value.end, "end: {text:?}"),
        Err(fault) => {
            assert!(fault.offset <= text.len() && text.is_char_boundary(fault.offset));
            assert_eq!(fault.too_deep, deep, "depth: {text:?}");
        }
    }
    if let Ok(scanned) = &whole {
        assert_eq!(scanned.is_object, found.is_object);
        assert_eq!(scanned.too_deep, deep, "depth: {text:?}");
        let large = found.string > limits.string_bytes
            || found.items > limits.array_items
            || found.fields > limits.object_fields;
        assert_eq!(scanned.too_large, large, "sizes: {text:?}");
        assert_eq!(scanned.duplicate_top, found.duplicate_top, "{text:?}");
        assert_eq!(scanned.duplicate_nested, found.duplicate_nested, "{text:?}");
        let members: Vec<_> = scanned
            .members
            .iter()
            .map(|member| (member.key.as_ref(), member.value, member.compact_bytes))
            .collect();
        let expected: Vec<_> = found
            .members
            .iter()
            .map(|member| {
                (
                    member.key.as_str(),
                    &text[member.value.clone()],
                    member.compact,
                )
            })
            .collect();
        assert_eq!(members, expected, "members: {text:?}");
    }
    // serde_json refuses numbers beyond f64 and 128 containers, and keeps some keys for itself; all of
    // that is JSON all the same. In everything else it and the scan agree on what is JSON.
    let theirs = serde_json::from_str::<Value>(text);
    if !found.extreme_number && found.depth < 128 && !found.reserved_key {
        assert_eq!(whole.is_ok(), theirs.is_ok(), "serde_json: {text:?}");
    }
    if theirs.is_ok() {
        assert!(whole.is_ok(), "serde_json takes it: {text:?}");
    }
}
