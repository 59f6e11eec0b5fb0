//! What each capability family offers, as data (diagnostics.md, "Capability names").
//! Must not decide what a call means. To let programs use one more operation, add it here.

use crate::ty::Family;

/// Methods that give a narrower handle.
#[must_use]
pub(super) fn narrowing(family: Family) -> &'static [&'static str] {
    match family {
        Family::Fs => &["ro", "path"],
        Family::Net => &["host"],
        Family::Clock | Family::Dom | Family::Model | Family::Canvas | Family::Input => &[],
    }
}

/// Methods that reach the world. `None`: not checked.
#[must_use]
pub(super) fn operations(family: Family) -> Option<&'static [&'static str]> {
    Some(match family {
        Family::Fs => &[
            "read",
            "write",
            "list",
            "open",
            // The functions of `std.fs`.
            "read_file",
            "read_to_string",
            "write_file",
            "write_string",
            "append",
            "exists",
            "create_dir_all",
            "remove_file",
            "remove_dir_all",
            "list_dir",
            "metadata",
            "stat",
            "read_dir",
        ],
        Family::Net => &["get", "post", "connect", "listen"],
        Family::Clock => &["now", "sleep", "elapsed", "now_ms"],
        Family::Dom => &[
            "query",
            "render",
            "mount",
            "on",
            "on_click",
            "set_text",
            "get_text",
            "set_text_handle",
            "get_element_by_id",
        ],
        Family::Model => &["call", "stream", "embed", "ask", "complete"],
        Family::Canvas | Family::Input => return None,
    })
}

/// Offered by every family.
pub(super) const COMMON: &[&str] = &["to_str"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_listed_twice_and_only_two_families_narrow() {
        for family in [
            Family::Net,
            Family::Fs,
            Family::Clock,
            Family::Dom,
            Family::Model,
        ] {
            let mut all: Vec<&str> = narrowing(family).to_vec();
            all.extend(operations(family).unwrap_or_default());
            all.extend(COMMON);
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{}", family.name());
        }
        assert!(narrowing(Family::Clock).is_empty() && narrowing(Family::Model).is_empty());
    }
}
