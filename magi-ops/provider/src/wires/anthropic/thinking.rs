//! How a model of the Messages API is asked for thinking, by what is known of it.
//! Nothing is sent from here.

use serde_json::{Value, json};

use crate::message::ThinkingLevel;
use crate::models::{self, known};
use crate::wires::wire::{budget, effort, thinking_room};

/// Least thinking that the API takes, in tokens.
const LEAST_BUDGET: u64 = 1_024;

/// How a request asks for thinking.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thinking {
    /// The request's `thinking`.
    pub(super) thinking: Value,
    /// The request's `output_config`.
    pub(super) effort: Option<&'static str>,
    /// The thinking that comes back is a summary made for display, because that was asked for.
    pub(super) summaries: bool,
}

/// `level` is one that the model has, and `max_tokens` what the request asks for. `None` leaves it to the
/// API's own default.
pub(super) fn thinking(model: &str, level: ThinkingLevel, max_tokens: u64) -> Option<Thinking> {
    let effort = effort(level)?;
    // Newer models decide themselves how much to think, and refuse a budget.
    if model.contains("claude-") && known(model).thinking == Some(models::Thinking::Effort) {
        return Some(Thinking {
            thinking: json!({ "type": "adaptive", "display": "summarized" }),
            effort: Some(effort),
            summaries: true,
        });
    }
    let budget = thinking_room(max_tokens).min(budget(level)?);
    (budget >= LEAST_BUDGET).then(|| Thinking {
        thinking: json!({ "type": "enabled", "budget_tokens": budget }),
        effort: None,
        summaries: false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::{Api, ModelLimits};
    use crate::models::{levels, nearest_level};
    use crate::wires::wire::ANSWER_TOKENS;

    fn most(model: &str) -> u64 {
        known(model).max_output_tokens.unwrap_or(32_000)
    }

    fn thinking(model: &str, level: ThinkingLevel) -> Option<Thinking> {
        let levels = levels(Api::Anthropic, &ModelLimits::default(), model);
        super::thinking(model, nearest_level(&levels, level), most(model))
    }

    #[test]
    fn budgets_leave_room_for_the_answer() {
        let levels = [
            ThinkingLevel::Low,
            ThinkingLevel::Medium,
            ThinkingLevel::High,
            ThinkingLevel::XHigh,
            ThinkingLevel::Max,
        ];
        for model in [
            "claude-3-7-sonnet",
            "claude-opus-4-1",
            "claude-haiku-4-5",
            "other",
        ] {
            let mut last = 0;
            for level in levels {
                let thinking = thinking(model, level).unwrap();
                let budget = thinking.thinking["budget_tokens"].as_u64().unwrap();
                assert!(budget >= last.max(LEAST_BUDGET), "{model} {level:?}");
                assert!(budget + ANSWER_TOKENS <= most(model));
                assert!(!thinking.summaries && thinking.effort.is_none());
                last = budget;
            }
        }
        assert_eq!(thinking("claude-3-5-sonnet", ThinkingLevel::Max), None);
        assert_eq!(thinking("claude-opus-4-5", ThinkingLevel::Default), None);
    }

    #[test]
    fn newer_models_are_asked_for_an_effort_and_a_summary() {
        let effort = |model, level| thinking(model, level).unwrap().effort;
        assert_eq!(
            effort("claude-opus-4-6", ThinkingLevel::XHigh),
            Some("high")
        );
        assert_eq!(
            effort("claude-opus-4-7", ThinkingLevel::XHigh),
            Some("xhigh")
        );
        assert_eq!(effort("claude-sonnet-5", ThinkingLevel::Max), Some("max"));
        let asked = thinking("claude-next", ThinkingLevel::Low).unwrap();
        assert!(asked.summaries);
        assert_eq!(
            asked.thinking,
            json!({ "type": "adaptive", "display": "summarized" })
        );
    }

    #[test]
    fn a_small_output_is_shared_between_thinking_and_answer() {
        for (most, expected) in [(8_192, Some(4_096)), (4_096, Some(2_048)), (1_500, None)] {
            let asked = super::thinking("local", ThinkingLevel::Max, most);
            let budget = asked.map(|asked| asked.thinking["budget_tokens"].as_u64().unwrap());
            assert_eq!(budget, expected, "{most}");
        }
    }
}
