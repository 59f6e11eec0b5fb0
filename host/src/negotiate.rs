//! Required and requested capabilities against the registry.
//! Gives values; which word a dialect has for each is the caller's.

/// The first required name that is not linked.
pub fn missing<'r, S: AsRef<str>>(required: &'r [S], linked: &[&str]) -> Option<&'r str> {
    required
        .iter()
        .map(AsRef::as_ref)
        .find(|name| !linked.contains(name))
}

/// Whether a name fits the grammar that both magi dialects share: 1 to `max` bytes of `[A-Za-z0-9._-]`.
#[must_use]
pub fn is_name(name: &str, max: usize) -> bool {
    (1..=max).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_name_is_told() {
        assert_eq!(missing(&["a", "c", "d"], &["a", "b"]), Some("c"));
        assert_eq!(missing(&["a"], &["a", "b"]), None);
        assert_eq!(missing::<&str>(&[], &[]), None);
    }

    #[test]
    fn names_are_bounded_ascii() {
        assert!(is_name("session.create", 64));
        assert!(is_name(&"x".repeat(64), 64));
        assert!(!is_name(&"x".repeat(65), 64));
        assert!(!is_name("", 64));
        assert!(!is_name("a b", 64));
        assert!(!is_name("é", 64));
    }
}
