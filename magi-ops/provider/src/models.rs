//! What is known of models by their names, from `data/models.json`: bounds, images, thinking; and which thinking levels a
//! model has, which settings and servers may say better.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::config::{Api, ModelLimits, ProviderConfig};
use crate::message::ThinkingLevel;

/// The file of data.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// The day on which the facts were looked up, and where: for who brings them up to date.
    #[serde(rename = "as_of")]
    _as_of: String,
    #[serde(rename = "sources")]
    _sources: Vec<String>,
    models: Vec<KnownModel>,
}

/// What is known of the models of one name. Absent is unknown.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownModel {
    /// In lower case, with `-` for other marks; a `*` at the end stands for any rest.
    names: Vec<String>,
    /// Tokens that a conversation may have.
    pub(crate) context_window: Option<u64>,
    /// Most tokens of one response, thinking included.
    pub(crate) max_output_tokens: Option<u64>,
    /// Whether images are taken.
    #[serde(default)]
    pub(crate) images: bool,
    pub(crate) thinking: Option<Thinking>,
    /// The levels that the model has, beside the default.
    thinking_levels: Option<Vec<ThinkingLevel>>,
}

/// How a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thinking {
    /// Not at all.
    None,
    /// By a number of tokens.
    Budget,
    /// By a word.
    Effort,
}

impl KnownModel {
    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| match own.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == own,
        })
    }

    /// The levels that the model has; all where that is not known.
    fn levels(&self) -> &[ThinkingLevel] {
        match (&self.thinking_levels, self.thinking) {
            (_, Some(Thinking::None)) => &[],
            (Some(levels), _) => levels,
            (None, _) => &ALL_LEVELS,
        }
    }
}

/// Every level, the lowest first.
pub(crate) const ALL_LEVELS: [ThinkingLevel; 6] = [
    ThinkingLevel::Default,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
    ThinkingLevel::XHigh,
    ThinkingLevel::Max,
];

/// The thinking levels of `model` at a provider: by the settings, else by what its server said, else by what is known of
/// its name and of the wire. The default, which every model has, comes first; the lowest of the others behind it.
pub fn thinking_levels(config: &ProviderConfig, model: &str) -> Vec<ThinkingLevel> {
    levels(config.api, &config.models, model)
}

/// Tokens that a conversation with `model` may have, and most tokens of one of its responses: by the settings, else by what
/// its server said, else by what is known of its name. `None` is unknown.
pub fn known_limits(config: &ProviderConfig, model: &str) -> (Option<u64>, Option<u64>) {
    let known = match config.api {
        Api::Fixture => &UNKNOWN,
        _ => known(model),
    };
    let limits = &config.models;
    (
        limits.context_window(model).or(known.context_window),
        limits
            .max_output_tokens(model)
            .or_else(|| limits.discovered_output(model))
            .or(known.max_output_tokens),
    )
}

/// What a model is asked for when `level` is chosen: the level itself, or the nearest of `levels`, the lower one of two.
pub fn nearest_level(levels: &[ThinkingLevel], level: ThinkingLevel) -> ThinkingLevel {
    if level == ThinkingLevel::Default {
        return level;
    }
    let near = |own: &ThinkingLevel| ((*own as u8).abs_diff(level as u8), *own as u8);
    let own = levels.iter().copied();
    let own = own.filter(|own| *own != ThinkingLevel::Default);
    own.min_by_key(near).unwrap_or_default()
}

pub(crate) fn levels(api: Api, limits: &ModelLimits, model: &str) -> Vec<ThinkingLevel> {
    let said = limits.levels(model);
    let own = said.unwrap_or_else(|| levels_by_name(api, model));
    let has = |level: &ThinkingLevel| *level == ThinkingLevel::Default || own.contains(level);
    // A person may mean more than every server with such a choice has.
    let most = if said.is_some() {
        ThinkingLevel::Max
    } else {
        highest(api, model)
    };
    let fits = |level: &ThinkingLevel| has(level) && *level as u8 <= most as u8;
    ALL_LEVELS.into_iter().filter(fits).collect()
}

fn levels_by_name(api: Api, model: &str) -> &'static [ThinkingLevel] {
    match api {
        Api::Fixture => &ALL_LEVELS,
        _ => known(model).levels(),
    }
}

/// The highest level that the wire has a word for.
fn highest(api: Api, model: &str) -> ThinkingLevel {
    match api {
        // The levels that every server with such a choice has.
        Api::OpenaiChat | Api::Ollama => ThinkingLevel::High,
        // Words go up to `high`, numbers as far as the model's.
        Api::Gemini if known(model).thinking != Some(Thinking::Budget) => ThinkingLevel::High,
        _ => ThinkingLevel::Max,
    }
}

static DATA: &str = include_str!("../data/models.json");

static MODELS: LazyLock<Vec<KnownModel>> = LazyLock::new(|| {
    // A test reads it too, so that a build never lacks it.
    let data = serde_json::from_str::<Data>(DATA);
    let models = data.map(|data| data.models);
    models.unwrap_or_else(|error| {
        tracing::error!(%error, "the data of models can't be read");
        Vec::new()
    })
});

static UNKNOWN: LazyLock<KnownModel> = LazyLock::new(KnownModel::default);

/// What is known of `model`, which may have a gateway's or a region's name in front of its own.
pub(crate) fn known(model: &str) -> &'static KnownModel {
    let name: String = model
        .chars()
        .map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        })
        .collect();
    let starts = name.match_indices('-').map(|(at, _)| &name[at + 1..]);
    std::iter::once(name.as_str())
        .chain(starts)
        .find_map(|name| MODELS.iter().find(|model| model.has_name(name)))
        .unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::ModelSettings;

    #[test]
    fn every_entry_is_right_and_can_be_met() {
        let data: Data = serde_json::from_str(DATA).unwrap();
        assert_eq!(data._as_of.len(), "2026-12-01".len());
        assert!(
            data._sources
                .iter()
                .all(|source| source.starts_with("https://"))
        );
        let models = data.models;
        for (at, model) in models.iter().enumerate() {
            for name in &model.names {
                let name = name.trim_end_matches('*');
                let passes = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(!name.is_empty() && name.chars().all(passes), "{name}");
                let before = models[..at].iter().find(|before| before.has_name(name));
                assert!(before.is_none(), "{name} stands behind {before:?}");
            }
            let name = &model.names;
            let has_levels = model.thinking_levels.is_some();
            assert!(
                !has_levels || model.thinking != Some(Thinking::None),
                "{name:?}"
            );
            assert!(model.max_output_tokens <= model.context_window.or(Some(u64::MAX)));
        }
    }

    #[test]
    fn names_are_found_whatever_stands_around_them() {
        for (model, output) in [
            ("claude-3-haiku-20240307", Some(4_096)),
            ("claude-3-5-sonnet-20241022", Some(8_192)),
            ("claude-3-7-sonnet-latest", Some(64_000)),
            ("claude-opus-4-20250514", Some(32_000)),
            ("anthropic/claude-opus-4.1", Some(32_000)),
            ("claude-haiku-4-5@20251001", Some(64_000)),
            ("us.anthropic.claude-opus-4-6-v1:0", Some(64_000)),
            ("claude-next", Some(64_000)),
            ("OpenAI/GPT-5.2-codex", Some(128_000)),
            ("gpt-4.1-mini", Some(32_768)),
            ("gpt-4", Some(8_192)),
            ("o3", Some(100_000)),
            ("models/gemini-2.5-flash", Some(65_536)),
            ("glm-4-6", None),
            ("demo3", None),
            ("", None),
        ] {
            assert_eq!(known(model).max_output_tokens, output, "{model}");
        }
    }

    #[test]
    fn windows_are_told_only_where_they_are_known() {
        for (model, window) in [
            ("claude-3-5-haiku-20241022", Some(200_000)),
            ("claude-opus-4-5", Some(200_000)),
            ("gpt-5-mini", Some(400_000)),
            ("gemini-3-flash-preview", Some(1_048_576)),
            ("claude-opus-4-6", None),
            ("claude-2.1", None),
            ("claude-next", None),
            ("gpt-oss:20b", None),
            ("qwen3:8b", None),
        ] {
            assert_eq!(known(model).context_window, window, "{model}");
        }
        for (model, images) in [("gpt-4o", true), ("gpt-4", false), ("llama", false)] {
            assert_eq!(known(model).images, images, "{model}");
        }
    }

    #[test]
    fn levels_are_the_nearest_ones() {
        use ThinkingLevel::{Default, High, Low, Max, Medium, XHigh};
        for (model, level, nearest) in [
            ("claude-3-5-sonnet", Max, Default),
            ("claude-opus-4-6", XHigh, High),
            ("claude-opus-4-7", XHigh, XHigh),
            ("gpt-5", Max, High),
            ("gpt-5.2", Max, XHigh),
            ("gemini-3-pro-preview", Medium, Low),
            ("gpt-4o", High, Default),
            ("unknown", Max, Max),
            ("unknown", Low, Low),
            ("gpt-5", Default, Default),
        ] {
            let levels = levels(Api::OpenaiResponses, &ModelLimits::default(), model);
            assert_eq!(nearest_level(&levels, level), nearest, "{model} {level:?}");
        }
    }

    #[test]
    fn levels_are_those_of_the_settings_the_server_the_name_and_the_wire() {
        use ThinkingLevel::{Default, High, Low, Max, Medium, XHigh};
        let nothing = ModelLimits::default();
        for (api, model, expected) in [
            (Api::Anthropic, "claude-sonnet-4-5", &ALL_LEVELS[..]),
            (Api::Anthropic, "claude-3-5-haiku", &[Default]),
            (
                Api::OpenaiResponses,
                "gpt-5.2",
                &[Default, Low, Medium, High, XHigh],
            ),
            (Api::OpenaiChat, "gpt-5.2", &[Default, Low, Medium, High]),
            (Api::OpenaiChat, "gpt-4o", &[Default]),
            (Api::Ollama, "qwen3:8b", &[Default, Low, Medium, High]),
            (
                Api::Gemini,
                "gemini-2.5-pro",
                &[Default, Low, Medium, High, XHigh],
            ),
            (Api::Gemini, "gemini-3-pro-preview", &[Default, Low, High]),
            (Api::Gemini, "unknown", &[Default, Low, Medium, High]),
            (Api::Fixture, "fixture-model", &ALL_LEVELS),
        ] {
            assert_eq!(levels(api, &nothing, model), expected, "{model}");
        }
        let said = |levels: &[ThinkingLevel]| ModelSettings {
            thinking_levels: Some(levels.to_vec()),
            ..ModelSettings::from("gpt-4o")
        };
        let mut limits = ModelLimits {
            discovered: vec![said(&[Max, Low, Low])],
            ..nothing
        };
        let chat = |limits: &ModelLimits| levels(Api::OpenaiChat, limits, "gpt-4o");
        assert_eq!(chat(&limits), [Default, Low, Max]);
        limits.models = vec![said(&[])];
        assert_eq!(chat(&limits), [Default]);
        for (level, nearest) in [
            (Default, Default),
            (Low, Low),
            (Medium, Low),
            (High, XHigh),
            (Max, XHigh),
        ] {
            assert_eq!(nearest_level(&[Low, XHigh], level), nearest, "{level:?}");
        }
    }
}
