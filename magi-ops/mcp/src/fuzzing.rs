//! What reads a server's bytes, for the fuzz targets and for the tests that replay their seeds.
//! In no product: the feature `fuzzing` is in no default and in nobody else's dependencies.

use serde_json::Value;
use tools::ToolOutcome;

/// A line of a server's output, as a message if it is one.
pub fn message(line: &[u8]) -> Option<Value> {
    let message = crate::stdio::message(line)?;
    serde_json::to_value(message).ok()
}

/// The outcome of a call that was answered so.
#[must_use]
pub fn outcome(result: &Value) -> ToolOutcome {
    crate::result::outcome(result)
}

/// The names, descriptions and schemas that a list of tools offers.
#[must_use]
pub fn offers(result: &Value) -> Vec<(String, String, Value)> {
    let page = crate::offer::Page::read("server", result, 512);
    let offers = page.into_iter().flat_map(|page| page.offers);
    offers
        .map(|offer| (offer.name, offer.description, offer.schema))
        .collect()
}
