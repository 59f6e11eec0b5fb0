//! What tokens cost, from `data/prices.json`: list prices with their date and source, of the models that a source names.
//! Of every other model nothing is said.

use std::sync::LazyLock;

use agent::{Answerer, Cost, Counts};
use serde::Deserialize;

/// The list as it was read at its source.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// The day, in ISO 8601.
    pub(crate) date: String,
    /// Where everybody can look.
    pub(crate) source: String,
    models: Vec<Price>,
}

/// In US dollars for a million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    provider: String,
    /// Whole names; what stands behind one and a `-` is a date.
    names: Vec<String>,
    input: f64,
    output: f64,
    cache_read: f64,
}

static DATA: &str = include_str!("../data/prices.json");

pub(crate) static PRICES: LazyLock<Prices> = LazyLock::new(|| {
    // A test reads it too, so that a build never lacks it.
    serde_json::from_str(DATA).unwrap_or_else(|error| {
        tracing::error!(%error, "the list of prices can't be read");
        Prices::default()
    })
});

impl Price {
    fn is_of(&self, model: &Answerer) -> bool {
        let name = model.model.as_str();
        let is_name = |own: &String| match name.strip_prefix(own.as_str()) {
            Some("") => true,
            Some(rest) => {
                let date = rest.strip_prefix('-').unwrap_or_default();
                date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())
            }
            None => false,
        };
        model.provider.as_str() == self.provider && self.names.iter().any(is_name)
    }
}

/// What requests to a model cost in US dollars; `None` where no price is known. What a provider takes for writing its
/// cache, for long conversations or for speed is not among it, nor what it leaves off.
pub(crate) fn dollars(model: Option<&Answerer>, cost: &Cost) -> Option<f64> {
    let model = model?;
    let price = PRICES.models.iter().find(|price| price.is_of(model))?;
    let cached = cost.cache_read.unwrap_or(0).min(cost.input);
    let fresh = cost.input - cached;
    let sum = fresh as f64 * price.input
        + cached as f64 * price.cache_read
        + cost.output as f64 * price.output;
    (cost.requests > 0).then_some(sum / 1e6)
}

/// What a whole session cost; `None` where the price of any of its requests is not known.
pub(crate) fn dollars_of(counts: &Counts) -> Option<f64> {
    let mut sum = None;
    for (model, cost) in &counts.costs {
        *sum.get_or_insert(0.0) += dollars(model.as_ref(), cost)?;
    }
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use agent::Redactor;

    use super::*;

    fn model(provider: &str, model: &str) -> Answerer {
        let shown = |text: &str| Redactor::default().redact(text);
        Answerer {
            provider: shown(provider),
            model: shown(model),
        }
    }

    #[test]
    fn every_price_is_right_and_can_be_met() {
        let prices: Prices = serde_json::from_str(DATA).unwrap();
        assert!(prices.source.starts_with("https://"));
        assert!(humantime::parse_rfc3339(&format!("{}T00:00:00Z", prices.date)).is_ok());
        for (at, price) in prices.models.iter().enumerate() {
            assert!(price.cache_read < price.input && price.input < price.output);
            for name in &price.names {
                let named = model(&price.provider, name);
                let first = prices.models.iter().position(|price| price.is_of(&named));
                assert_eq!(first, Some(at), "{name}");
            }
        }
    }

    #[test]
    fn costs_are_told_where_the_price_is_known() {
        let cost = Cost {
            requests: 3,
            input: 1_000_000,
            output: 100_000,
            cache_read: Some(800_000),
        };
        let of = |provider: &str, name: &str| dollars(Some(&model(provider, name)), &cost);
        let opus = of("anthropic", "claude-opus-4-5-20251101").unwrap();
        assert!((opus - (1.0 + 0.4 + 2.5)).abs() < 1e-9, "{opus}");
        assert_eq!(of("anthropic", "claude-opus-4-5"), Some(opus));
        for (provider, name) in [
            ("anthropic", "claude-opus-4-55"),
            ("anthropic", "claude-opus-4-5-mini"),
            ("gateway", "claude-opus-4-5"),
            ("openai-codex", "gpt-5"),
        ] {
            assert_eq!(of(provider, name), None, "{provider}/{name}");
        }
        assert_eq!(dollars(None, &cost), None);
    }
}
