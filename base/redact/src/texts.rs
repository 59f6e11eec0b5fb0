//! The texts of JSON, each by itself, and where its characters stand: what is a secret is told by what a text says, not by
//! how JSON writes it. Only JSON as this process writes it; what is masked of it stands in `masks`.

use std::ops::Range;
use std::str::Chars;

/// One text: a value or a name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// For each byte of it, where its character stands in the JSON.
    places: Vec<Range<usize>>,
}

impl Text {
    /// Where a part of the text stands in the JSON.
    pub(super) fn place(&self, part: &Range<usize>) -> Range<usize> {
        match self.places.get(part.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.clone(),
            _ => 0..0,
        }
    }
}

/// The texts of `json` without their characters that `keeps` leaves out.
pub(super) fn texts(json: &str, keeps: impl Fn(char) -> bool) -> impl Iterator<Item = Text> {
    let mut chars = json.chars();
    std::iter::from_fn(move || {
        chars.by_ref().find(|c| *c == '"')?;
        let mut found = Text::default();
        loop {
            let start = json.len() - chars.as_str().len();
            let c = match chars.next() {
                None | Some('"') => return Some(found),
                Some('\\') => escaped(&mut chars),
                Some(c) => Some(c),
            };
            let place = start..json.len() - chars.as_str().len();
            if let Some(c) = c.filter(|c| keeps(*c)) {
                found.text.push(c);
                found.places.resize(found.text.len(), place);
            }
        }
    })
}

/// The character that an escape stands for.
fn escaped(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'u' => {
            let digits: String = chars.by_ref().take(4).collect();
            u32::from_str_radix(&digits, 16)
                .ok()
                .and_then(char::from_u32)
        }
        itself => Some(itself),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_text_stands_where_it_says() {
        let json = json!({"a\"b": ["é\n", 1, ""]}).to_string();
        let found: Vec<Text> = texts(&json, |_| true).collect();
        let said: Vec<&str> = found.iter().map(|text| &*text.text).collect();
        assert_eq!(said, ["a\"b", "é\n", ""]);
        assert_eq!(&json[found[0].place(&(1..2))], "\\\"");
        assert_eq!(&json[found[0].place(&(1..3))], "\\\"b");
        assert_eq!(&json[found[1].place(&(0..3))], "é\\n");
    }

    proptest! {
        #[test]
        fn a_text_is_read_as_it_was_written(text in any::<String>(), name in any::<String>()) {
            let json = Value::from_iter([(name.clone(), text.clone())]).to_string();
            let found: Vec<String> = texts(&json, |_| true).map(|text| text.text).collect();
            prop_assert_eq!(found, [name, text.clone()]);
            for all in texts(&json, |_| true).filter(|found| found.text == text && !text.is_empty()) {
                let place = all.place(&(0..text.len()));
                let quoted = &json[place.start - 1..place.end + 1];
                prop_assert_eq!(serde_json::from_str::<String>(quoted).ok(), Some(all.text));
            }
        }
    }
}
