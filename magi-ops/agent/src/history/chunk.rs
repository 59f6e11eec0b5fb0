//! Cutting redacted text into parts that fit their bounds raw and as JSON.
//! Knows how JSON escapes strings, and nothing of frames.

use store::Redacted;

/// Bytes of `c` inside a JSON string.
pub(crate) fn json_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

/// Cuts `text` at characters' ends into parts of at most `bytes` UTF-8 bytes and `json_bytes`
/// bytes inside a JSON string, each with its bytes as JSON. Empty text is one empty part. Both
/// bounds must hold any single character.
pub(crate) fn split(text: &Redacted, bytes: usize, json_bytes: usize) -> Vec<(Redacted, usize)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut json = 0;
    for (at, c) in text.as_str().char_indices() {
        if at + c.len_utf8() - start > bytes || json + json_len(c) > json_bytes {
            parts.push((text.part(start..at), json));
            start = at;
            json = 0;
        }
        json += json_len(c);
    }
    parts.push((text.part(start..text.len()), json));
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use store::Redactor;

    use super::*;

    proptest! {
        #[test]
        fn parts_fit_and_concatenate(text in "(?s)[\\x00-\\x40a-c\u{80}-\u{90}日🔑]{0,300}", bytes in 4usize..40, json in 8usize..60) {
            let redacted = Redactor::default().redact(&text);
            let parts = split(&redacted, bytes, json);
            let mut whole = String::new();
            for (part, json_bytes) in &parts {
                whole.push_str(part.as_str());
                prop_assert!(part.len() <= bytes);
                let encoded = serde_json::to_string(part.as_str()).unwrap().len() - 2;
                prop_assert_eq!(encoded, *json_bytes);
                prop_assert!(encoded <= json);
            }
            prop_assert_eq!(whole, redacted.as_str());
            prop_assert!(parts.len() == 1 || parts.iter().all(|(part, _)| !part.is_empty()));
        }
    }
}
