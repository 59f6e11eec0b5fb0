//! What the linked operations look like, for people who write clients: JSON Schema and reference pages.
//! Derived from the registry alone.

use host::Registry;
use host::dialect::Rules;

/// The rules of every dialect that is linked.
#[must_use]
pub fn dialects() -> Vec<&'static Rules> {
    vec![
        #[cfg(feature = "local-agent")]
        &host::dialect::local_agent::RULES,
        #[cfg(feature = "application-service")]
        &host::dialect::application_service::RULES,
        #[cfg(feature = "mty-agent")]
        &host::dialect::mty_agent::RULES,
    ]
}

/// The schema document of one dialect, or its reference page in Markdown.
#[must_use]
pub fn render(registry: &Registry, rules: &Rules, markdown: bool) -> String {
    if markdown {
        host::schema::reference(registry, rules)
    } else {
        format!("{:#}\n", host::schema::document(registry, rules))
    }
}
