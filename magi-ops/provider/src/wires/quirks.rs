//! What a server turned out not to take, or to demand: learned from its refusals, kept for the process.
//! How a request then looks is the wire's.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::call_ids::IdForm;
use super::failure_kind::{ImageRefusal, image_refusal, says_any};
use super::images::{self, Taken};
use crate::error::{ErrorKind, ProviderError};
use crate::message::Message;

/// Most models of one provider that something is kept of.
const MAX_MODELS: usize = 256;
/// Most images of one model that are known to be refused; a model that refuses more gets none any more.
const MAX_REFUSED_IMAGES: usize = 256;
/// No limit is below this: where shorter images are refused, it is not their length that the server minds.
const LEAST_IMAGE_LIMIT: usize = 64 * 1024;

/// How a server's requests differ from the usual ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Quirks {
    pub(crate) left_out: BTreeSet<&'static str>,
    pub(crate) ids: IdForm,
    /// Every response of the conversation must have its `reasoning_content`, be it empty.
    pub(crate) fill_reasoning: bool,
    /// Every call must have a signature of thinking.
    pub(crate) fill_signatures: bool,
    /// The longest image that the server takes, in bytes; 0 if it takes none.
    pub(crate) max_image_bytes: Option<usize>,
    /// Of images that the server refused; by [`images::digest`].
    pub(crate) refused_images: BTreeSet<u64>,
}

impl Quirks {
    /// Whether the server takes no member of this name.
    pub(crate) fn leaves_out(&self, member: &str) -> bool {
        self.left_out.contains(member)
    }

    /// The schema of a tool's input without the keywords that the server does not take.
    pub(crate) fn schema(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        for keyword in SCHEMA_KEYWORDS {
            if self.leaves_out(keyword) {
                drop_keyword(&mut schema, keyword, false);
            }
        }
        schema
    }

    /// Learns from a refusal of what was sent. `false` if there is nothing new to learn: the same request would be
    /// refused again.
    fn learn(&mut self, refusal: &ProviderError, sent: &Sent<'_>) -> bool {
        let text = refusal.message().unwrap_or_default().to_ascii_lowercase();
        // A body that is too long may be so for its images.
        if *refusal == ErrorKind::ContextLength && refusal.status() != Some(413) {
            return false;
        }
        if self.learn_of_images(refusal.status(), &text, sent) {
            return true;
        }
        if !matches!(refusal.status(), Some(400 | 422)) {
            return false;
        }
        let says = |parts: &[&str]| says_any(&text, parts);
        let before = self.clone();
        if says(&["id"])
            && says(&["tool", "call"])
            && says(&["length of 9", "length 9", "9 characters", "nine characters"])
        {
            self.ids = IdForm::Short;
        }
        let missing = says(&[
            "missing",
            "must be",
            "required",
            "must have",
            "passed back",
            "expected",
        ]);
        if missing && says(&["thought_signature", "thought signature"]) {
            self.fill_signatures = true;
        } else if missing && says(&["reasoning_content"]) && !self.leaves_out("reasoning_content") {
            self.fill_reasoning = true;
        }
        if *self == before {
            let param = refusal
                .param
                .as_deref()
                .unwrap_or_default()
                .to_ascii_lowercase();
            let named = named(&param, &text, sent.body, sent.optional);
            self.left_out.extend(named);
        }
        *self != before
    }

    /// Learns from a refusal which images the server does not take. `false` if it is about something else.
    fn learn_of_images(&mut self, status: Option<u16>, text: &str, sent: &Sent<'_>) -> bool {
        let given = images::given(sent.messages, sent.images);
        let Some(longest) = given.iter().map(|image| image.bytes().len()).max() else {
            return false;
        };
        match image_refusal(status, text) {
            None => return false,
            Some(ImageRefusal::Every) => self.max_image_bytes = Some(0),
            // The encoded length counts with some: three quarters of that.
            Some(ImageRefusal::Longest) if longest / 4 * 3 > LEAST_IMAGE_LIMIT => {
                self.max_image_bytes = Some(longest / 4 * 3);
            }
            // Of a body that is too long the images are the least.
            Some(ImageRefusal::Longest) if status == Some(413) => return false,
            Some(ImageRefusal::Longest | ImageRefusal::One) => {
                let newest = images::newest(sent.messages, sent.images);
                let meant = images::meant(text, sent.body, newest);
                self.refused_images
                    .extend(meant.into_iter().map(images::digest));
                if self.refused_images.len() > MAX_REFUSED_IMAGES {
                    self.max_image_bytes = Some(0);
                }
            }
        }
        true
    }
}

/// A request that was refused.
pub(crate) struct Sent<'a> {
    pub(crate) body: &'a [u8],
    /// What was known of the server when it was made.
    pub(crate) quirks: &'a Quirks,
    /// Members that it can do without.
    pub(crate) optional: &'a [&'static str],
    pub(crate) messages: &'a [Message],
    /// Which images of them are in it.
    pub(crate) images: Taken<'a>,
}

/// Keywords of the tools' schemas that only narrow or describe: every wire's requests can do without them.
const SCHEMA_KEYWORDS: [&str; 22] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "default",
    "examples",
    "title",
    "$schema",
];

/// Drops a keyword where it is one. Members of `properties` are names of the tool's own.
fn drop_keyword(schema: &mut Value, keyword: &str, is_properties: bool) {
    match schema {
        Value::Array(items) => {
            for item in items {
                drop_keyword(item, keyword, false);
            }
        }
        Value::Object(members) => {
            if !is_properties {
                members.remove(keyword);
            }
            for (name, value) in members {
                drop_keyword(value, keyword, !is_properties && name == "properties");
            }
        }
        _ => {}
    }
}

/// Other names under which refusals mean an optional member.
const ALIASES: [(&str, &str); 10] = [
    ("include_usage", "stream_options"),
    ("effort", "reasoning.effort"),
    ("summary", "reasoning.summary"),
    ("reasoning.encrypted_content", "include"),
    ("encrypted content", "encrypted_content"),
    ("thinking level", "thinkingConfig.thinkingLevel"),
    ("thinking_level", "thinkingConfig.thinkingLevel"),
    ("thinking budget", "thinkingConfig.thinkingBudget"),
    ("thinking_budget", "thinkingConfig.thinkingBudget"),
    ("thinking", "thinkingConfig"),
];
/// What Google's servers take for the signature of a call that another model made.
pub(crate) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The members of `body` that a refusal means and that a request can do without, those of the tools' schemas among them:
/// the one in its `param`, else those that it puts in quotes, else those that it mentions. `param` and `text` are in lower
/// case.
fn named(param: &str, text: &str, body: &[u8], optional: &[&'static str]) -> Vec<&'static str> {
    let is_meant = |by: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        let named = |member: &&&str| {
            let mut others = ALIASES.iter().filter(|(_, meant)| meant == *member);
            by(&member.to_ascii_lowercase()) || others.any(|(name, _)| by(name))
        };
        let optional = optional.iter().chain(&SCHEMA_KEYWORDS);
        let named: Vec<_> = optional.filter(named).copied().collect();
        // Who names what is inside does not mean what is around it.
        let is_outer = |member: &str| {
            let mut inner = named.iter().filter_map(|inner| inner.strip_prefix(member));
            inner.any(|rest| rest.starts_with('.'))
        };
        let is_sent = |member: &str| has_member(body, member.rsplit('.').next().unwrap_or(member));
        let members = named.iter().copied();
        let members = members.filter(|member| !is_outer(member) && is_sent(member));
        members.collect()
    };
    let quoted = |name: &str| {
        ["'", "`", "\"", "\u{2018}", "\u{201c}"]
            .iter()
            .any(|quote| {
                text.match_indices(&format!("{quote}{name}"))
                    .any(|(at, found)| {
                        let rest = &text[at + found.len()..];
                        !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    })
            })
    };
    // Some keywords are plain words, which a refusal of something else may use.
    let plain = [
        "minimum", "maximum", "pattern", "format", "default", "examples", "title",
    ];
    let ways: [&dyn Fn(&str) -> bool; 3] = [&|name| names(param, name), &quoted, &|name| {
        names(text, name) && !plain.contains(&name)
    }];
    ways.into_iter()
        .map(is_meant)
        .find(|meant| !meant.is_empty())
        .unwrap_or_default()
}

/// Whether `word` stands in `text` as a word of its own.
fn names(text: &str, word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(inner) && !text[at + word.len()..].starts_with(inner))
}

/// Whether the JSON `body` has a member `name` anywhere. In a string its last quote would be escaped.
fn has_member(body: &[u8], name: &str) -> bool {
    memchr::memmem::find(body, format!("\"{name}\":").as_bytes()).is_some()
}

/// What is known of a provider's models.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    usual: Quirks,
    models: Mutex<HashMap<String, Quirks>>,
}

impl Learned {
    /// `usual` holds for every model that nothing else is known of.
    pub(crate) fn new(usual: Quirks) -> Self {
        Self {
            usual,
            models: Mutex::default(),
        }
    }

    pub(crate) fn of(&self, model: &str) -> Quirks {
        self.known(&self.lock(), model)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Quirks>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, models: &HashMap<String, Quirks>, model: &str) -> Quirks {
        let mut quirks = models.get(model).unwrap_or(&self.usual).clone();
        if says_mistral(model) {
            quirks.ids = IdForm::Short;
        }
        quirks
    }

    /// Learns from a refusal of what was sent. `false` if the same request would be refused again: the refusal tells
    /// nothing that the request was made without, or there is no room for another model.
    pub(crate) fn learn(&self, model: &str, refusal: &ProviderError, sent: &Sent<'_>) -> bool {
        let mut quirks = sent.quirks.clone();
        if !quirks.learn(refusal, sent) {
            return false;
        }
        let mut models = self.lock();
        if self.known(&models, model) != *sent.quirks {
            // Another request was refused meanwhile: what that taught is tried before more is learned.
            return true;
        }
        if models.len() >= MAX_MODELS && !models.contains_key(model) {
            return false;
        }
        let left_out: Vec<_> = quirks.left_out.iter().copied().collect();
        tracing::debug!(
            left_out = left_out.join(", "),
            short_ids = quirks.ids == IdForm::Short,
            max_image_bytes = quirks.max_image_bytes,
            refused_images = quirks.refused_images.len(),
            "the server wants other requests"
        );
        models.insert(model.to_owned(), quirks);
        true
    }
}

/// Whether a provider's or a model's name is one of Mistral's, whose servers and templates take ids of nine
/// letters and digits only.
pub(crate) fn says_mistral(name: &str) -> bool {
    let families = [
        "mistral",
        "ministral",
        "mixtral",
        "codestral",
        "devstral",
        "magistral",
        "pixtral",
    ];
    says_any(&name.to_ascii_lowercase(), &families)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, message: &str) -> ProviderError {
        ProviderError::new(ErrorKind::Refused)
            .with_status(status)
            .with_message(message)
    }

    fn sent<'a>(body: &'a [u8], quirks: &'a Quirks) -> Sent<'a> {
        Sent {
            body,
            quirks,
            optional: &OPTIONAL,
            messages: &[],
            images: Taken::NONE,
        }
    }

    const OPTIONAL: [&str; 4] = [
        "stream_options",
        "reasoning_effort",
        "max_tokens",
        "reasoning_content",
    ];

    #[test]
    fn a_member_that_a_refusal_names_is_left_out_once() {
        let learned = Learned::default();
        let body = br#"{"stream_options":{},"stream":true,"messages":["\"max_tokens\":1"]}"#;
        let named = refusal(400, "Unknown member 'stream_options'");
        let usual = Quirks::default();
        assert!(learned.learn("m", &named, &sent(body, &usual)));
        let known = learned.of("m");
        assert!(known.leaves_out("stream_options"));
        assert!(!known.leaves_out("stream"));
        assert!(!learned.of("other").leaves_out("stream_options"));
        assert!(!learned.learn("m", &named, &sent(body, &known)));
        // Sent before that was known, and refused for something else: what is known by now comes first.
        let late = refusal(400, "Tool call id must have a length of 9");
        assert!(learned.learn("m", &late, &sent(body, &usual)));
        assert_eq!(learned.of("m"), known);
        for other in [
            refusal(404, "stream"),
            refusal(400, "streams"),
            refusal(422, "max_tokens is too large"),
            refusal(400, ""),
        ] {
            assert!(
                !learned.learn("m", &other, &sent(body, &known)),
                "{other:?}"
            );
        }
    }

    #[test]
    fn without_room_for_another_model_nothing_is_worth_another_request() {
        let learned = Learned::default();
        let usual = Quirks::default();
        let named = refusal(400, "max_tokens");
        let learn = |model: &str| {
            let sent = sent(br#"{"max_tokens":1}"#, &usual);
            learned.learn(model, &named, &sent)
        };
        for model in 0..MAX_MODELS {
            assert!(learn(&model.to_string()));
        }
        assert!(!learn("one more"));
        assert!(learn("0"), "a model that is known");
    }

    #[test]
    fn the_member_that_is_meant_is_left_out_and_no_other() {
        let body =
            br#"{"stream_options":{"include_usage":true},"stream":true,"reasoning_effort":"low",
            "max_tokens":1,"tools":[{"additionalProperties":false,"minimum":1}]}"#;
        for (param, words, expected) in [
            (
                "reasoning_effort",
                "Unsupported parameter",
                &["reasoning_effort"][..],
            ),
            (
                "reasoning_effort",
                "not with max_tokens",
                &["reasoning_effort"],
            ),
            ("", "unknown field include_usage", &["stream_options"]),
            ("stream_options.include_usage", "no", &["stream_options"]),
            (
                "",
                "Unknown name \"additionalProperties\" at tools",
                &["additionalProperties"],
            ),
            (
                "",
                "Schema keyword 'minimum' is not supported",
                &["minimum"],
            ),
            ("tools.0.function.parameters.minimum", "no", &["minimum"]),
            ("", "max_tokens is below the minimum", &["max_tokens"]),
            (
                "",
                "`stream_options` is allowed only when `stream` is enabled",
                &["stream_options"],
            ),
            (
                "",
                "'max_tokens' goes not with reasoning_effort",
                &["max_tokens"],
            ),
        ] {
            let learned = Learned::default();
            let mut refusal = refusal(400, words);
            refusal.param = Some(param.into());
            assert!(
                learned.learn("m", &refusal, &sent(body, &Quirks::default())),
                "{words}"
            );
            let quirks = learned.of("m");
            let left_out: Vec<_> = quirks.left_out.iter().copied().collect();
            assert_eq!(left_out, expected, "{param} {words}");
        }
        let mut quirks = Quirks::default();
        quirks.left_out.insert("additionalProperties");
        let schema = serde_json::json!({"additionalProperties": false, "properties": {
            "additionalProperties": {"type": "object", "additionalProperties": true}}});
        let kept = serde_json::json!({"properties": {"additionalProperties": {"type": "object"}}});
        assert_eq!(quirks.schema(&schema), kept);
    }

    #[test]
    fn ids_and_reasoning_are_given_as_they_are_demanded() {
        let learned = Learned::default();
        for words in [
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            "Tool call IDs should be alphanumeric strings with length 9!",
        ] {
            let learned = Learned::default();
            assert!(learned.learn("m", &refusal(400, words), &sent(b"{}", &Quirks::default())));
            assert_eq!(learned.of("m").ids, IdForm::Short);
        }
        assert_eq!(learned.of("devstral-small").ids, IdForm::Short);
        assert_eq!(learned.of("gpt").ids, IdForm::Any);
        let missing = refusal(400, "Missing `reasoning_content` field in message 1");
        assert!(learned.learn("m", &missing, &sent(b"{}", &Quirks::default())));
        assert!(learned.of("m").fill_reasoning);
        let unwanted = refusal(400, "reasoning_content is not allowed");
        let body = br#"{"reasoning_content":"x"}"#;
        let learned = Learned::default();
        assert!(learned.learn("m", &unwanted, &sent(body, &Quirks::default())));
        assert!(learned.of("m").leaves_out("reasoning_content"));
    }
}
