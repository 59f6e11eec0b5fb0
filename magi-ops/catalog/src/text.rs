//! Which ids are shown and selected, and what a label may be. Both come from servers and files of others.
//! What a secret looks like is the redactor's matter.

use redact::{MASK, Redactor};

/// Most bytes of a provider's or a model's id.
pub const MAX_ID_BYTES: usize = 256;
/// Most bytes of a label.
pub const MAX_LABEL_BYTES: usize = 128;

/// Whether `id` follows the grammar of selection ids: 1 to 256 bytes of `[A-Za-z0-9._/:-]`.
#[must_use]
pub fn is_id(id: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'/' | b':');
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(fits)
}

/// Whether `id` is one that a client is told and may select: by the grammar, and it does not look like a secret.
#[must_use]
pub fn is_shown(id: &str, redactor: &Redactor) -> bool {
    is_id(id) && !redactor.is_secret_like(id)
}

/// What stands for the model `id` before people: what its server calls it, made fit to be shown, else the id. At most 128
/// bytes, on one line.
#[must_use]
pub fn label(said: Option<&str>, id: &str, redactor: &Redactor) -> String {
    let said = said.map(|said| redactor.redact(said));
    let said = said.filter(|said| !said.as_str().contains(MASK));
    let words = said.map(|said| {
        let words: Vec<_> = said.as_str().split_whitespace().collect();
        // Already without what must not be shown; cut by the same rule as everything that is.
        redactor
            .redact(&words.join(" "))
            .summary(MAX_LABEL_BYTES)
            .into_string()
    });
    let is_name = |words: &String| words.chars().any(char::is_alphanumeric);
    // An id is ASCII.
    words
        .filter(is_name)
        .unwrap_or_else(|| id[..id.len().min(MAX_LABEL_BYTES)].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_real_models_are_shown_and_secrets_are_not() {
        let redactor = Redactor::default();
        for id in [
            "claude-sonnet-4-5-20250929",
            "gpt-5.1-codex-max",
            "models/gemini-2.5-flash-preview-05-20",
            "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo",
            "accounts/fireworks/models/llama-v3p1-405b-instruct",
            "qwen3-coder:480b-cloud",
            "hf.co/unsloth/DeepSeek-R1-Distill-Qwen-32B-GGUF:Q4_K_M",
            "us.anthropic.claude-opus-4-6-v1:0",
            "ft:gpt-4o-mini-2024-07-18:acme::9abcDEF1",
            "text-embedding-3-small",
            "x",
            &"m".repeat(256),
        ] {
            assert!(is_shown(id, &redactor), "{id}");
        }
        for id in [
            "",
            "a b",
            "a\n",
            "mödel",
            "a\u{202e}b",
            "a@b",
            &"m".repeat(257),
            "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "AKIAIOSFODNN7EXAMPLE",
        ] {
            assert!(!is_shown(id, &redactor), "{id}");
        }
        redactor.learn(["hunter2-hunter2"]);
        assert!(!is_shown("a/hunter2-hunter2", &redactor));
    }

    #[test]
    fn labels_are_fit_to_be_shown_and_bounded() {
        let redactor = Redactor::default();
        let label = |said: &str| super::label(Some(said), "m-1", &redactor);
        for (said, shown) in [
            ("Claude Sonnet 4.5", "Claude Sonnet 4.5"),
            ("  two\n\n lines\t", "two lines"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{202e}b\u{200b}c", "abc"),
            ("Größe 7 – 大", "Größe 7 – 大"),
            ("", "m-1"),
            (" \u{200b} ", "m-1"),
            ("\u{1b}]0;title\u{7}", "m-1"),
            ("---", "m-1"),
            (
                "key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
                "m-1",
            ),
        ] {
            assert_eq!(label(said), shown, "{said:?}");
        }
        let long = label(&"ä".repeat(200));
        assert!(
            long.len() <= MAX_LABEL_BYTES && long.ends_with('…'),
            "{long}"
        );
        let id = "i".repeat(200);
        assert_eq!(super::label(None, &id, &redactor), id[..MAX_LABEL_BYTES]);
        assert_eq!(
            super::label(Some("\n"), &id, &redactor).len(),
            MAX_LABEL_BYTES
        );
    }
}
