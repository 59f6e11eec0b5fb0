//! What is known of Anthropic's models by their names: output, context, how thinking is asked for.
//! Unknown names get what the API takes from most; nothing is sent from here.

use serde_json::{Value, json};

use crate::message::ThinkingLevel;
use crate::wires::wire::effort;

/// Least output that is left for the answer beside the thinking, in tokens.
const ANSWER_TOKENS: u64 = 8_192;
/// Least thinking that the API takes, in tokens.
const LEAST_BUDGET: u64 = 1_024;

/// Major and minor version of a Claude model; `None` for other names. Gateways put prefixes before the
/// name and write dots for dashes.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.split_once("claude-")?;
    let mut numbers = rest
        .split(['-', '.', '@', ':'])
        // Longer numbers are dates.
        .filter(|part| (1..=2).contains(&part.len()))
        .map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Tokens that a conversation may have without asking for more by a beta header.
pub(super) fn context_window(model: &str) -> Option<u64> {
    ((3, 0)..=(4, 5))
        .contains(&version(model)?)
        .then_some(200_000)
}

/// Whether the model takes images: all do since Claude 3.
pub(super) fn images(model: &str) -> bool {
    match version(model) {
        Some((major, _)) => major >= 3,
        None => model.contains("claude-"),
    }
}

/// Most output that may be asked for, in tokens, thinking included; `None` for models of others.
pub(super) fn max_tokens(model: &str) -> Option<u64> {
    Some(match version(model) {
        Some(version) if version < (3, 5) => 4_096,
        Some(version) if version < (3, 7) => 8_192,
        Some((4, 0..=1)) if model.contains("opus") => 32_000,
        Some(_) => 64_000,
        None if model.contains("claude-") => 64_000,
        None => return None,
    })
}

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

/// The nearest level that the model has: before 3.7 there was no thinking, and 4.6 alone lacks one
/// of the efforts.
pub(super) fn nearest_level(model: &str, level: ThinkingLevel) -> ThinkingLevel {
    match (level, version(model)) {
        (_, Some(version)) if version < (3, 7) => ThinkingLevel::Default,
        (ThinkingLevel::XHigh, Some((4, 6))) if model.contains("claude-") => ThinkingLevel::High,
        (level, _) => level,
    }
}

/// `level` is one that the model has, and `max_tokens` what the request asks for. `None` leaves it to the
/// API's own default.
pub(super) fn thinking(model: &str, level: ThinkingLevel, max_tokens: u64) -> Option<Thinking> {
    let version = version(model);
    let known = model.contains("claude-");
    let effort = effort(level)?;
    // From 4.6 on the model decides itself how much to think; from 4.7 on a budget is refused.
    if known && version.is_none_or(|version| version >= (4, 6)) {
        return Some(Thinking {
            thinking: json!({ "type": "adaptive", "display": "summarized" }),
            effort: Some(effort),
            summaries: true,
        });
    }
    let budget = match level {
        ThinkingLevel::Default => return None,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::XHigh => 32_768,
        ThinkingLevel::Max => 49_152,
    };
    // Half of a small output, where there is no room for a whole answer beside it.
    let room = max_tokens
        .saturating_sub(ANSWER_TOKENS)
        .max((max_tokens / 2).min(ANSWER_TOKENS));
    let budget = room.min(budget);
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

    fn thinking(model: &str, level: ThinkingLevel) -> Option<Thinking> {
        let most = max_tokens(model).unwrap_or(32_000);
        super::thinking(model, nearest_level(model, level), most)
    }

    #[test]
    fn names_have_versions() {
        for (model, expected) in [
            ("claude-3-haiku-20240307", Some((3, 0))),
            ("claude-3-5-sonnet-20241022", Some((3, 5))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("anthropic/claude-opus-4.1", Some((4, 1))),
            ("claude-haiku-4-5@20251001", Some((4, 5))),
            ("us.anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-sonnet-5", Some((5, 0))),
            ("claude-next", None),
            ("glm-4-6", None),
            ("", None),
        ] {
            // A family's name comes before or after the numbers.
            assert_eq!(version(model), expected, "{model}");
        }
    }

    #[test]
    fn windows_are_told_only_where_they_are_known() {
        assert_eq!(context_window("claude-3-5-haiku-20241022"), Some(200_000));
        assert_eq!(context_window("claude-opus-4-5"), Some(200_000));
        for unknown in ["claude-opus-4-6", "claude-2.1", "claude-next", "gpt-5"] {
            assert_eq!(context_window(unknown), None, "{unknown}");
        }
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
                assert!(budget + ANSWER_TOKENS <= max_tokens(model).unwrap_or(32_000));
                assert!(!thinking.summaries && thinking.effort.is_none());
                last = budget;
            }
        }
        assert_eq!(thinking("claude-3-5-sonnet", ThinkingLevel::Max), None);
        assert_eq!(
            nearest_level("claude-3-5-sonnet", ThinkingLevel::Max),
            ThinkingLevel::Default
        );
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
