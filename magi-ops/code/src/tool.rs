//! `code`: the tool's name and registration.
//! What it does stands in `snippets`, which a build without an engine lacks.

#[cfg(feature = "engine")]
mod snippets;

/// Also where this build has no engine: a profile may name it, and nothing else may take it.
const NAME: &str = "code";

#[cfg(not(feature = "engine"))]
tools::register! { name: NAME, position: 100, make: |_| None }
#[cfg(feature = "engine")]
tools::register! { name: NAME, position: 100, make: |_| Some(std::sync::Arc::new(snippets::Code)) }
