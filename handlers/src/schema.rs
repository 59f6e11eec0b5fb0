//! What the linked operations look like, for people who write clients: JSON Schema and reference pages.
//! Derived from the registry alone.

use host::{Registry, Rules};

/// The rules of every dialect of which something is linked, by name. None where two registrations claim one
/// name: whoever serves says that, and does not start.
#[must_use]
pub fn dialects() -> Vec<&'static Rules> {
    crate::registry().map_or_else(|_| Vec::new(), |registry| registry.dialects())
}

/// The schema document of one dialect, or its reference page in Markdown, which says that `command` prints it.
#[must_use]
pub fn render(registry: &Registry, rules: &Rules, markdown: bool, command: &str) -> String {
    if markdown {
        host::schema::reference(registry, rules, command)
    } else {
        format!("{:#}\n", host::schema::document(registry, rules))
    }
}
