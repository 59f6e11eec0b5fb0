//! The redaction of recorded bodies: JSON text by text, and the texts of a stream also across its events.
//! What is a secret is the seam's to say; nothing is written here.

use std::collections::HashMap;

use redact::Redactor;
use serde_json::Value;

/// Longest text of a body that is kept, in bytes: images are longer.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// A request's body: as JSON, or as text where masks leave none.
pub(super) fn request(body: &[u8], redactor: &Redactor) -> Value {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        let text = String::from_utf8_lossy(body);
        return Value::from(redactor.mask(&text).into_string());
    };
    shorten(&mut value);
    mask_texts(&mut value, redactor);
    let text = value.to_string();
    // Names beside values say more than each text by itself.
    let masked = redactor.mask(&text).into_string();
    match masked == text {
        true => value,
        false => serde_json::from_str(&masked).unwrap_or(Value::String(masked)),
    }
}

/// Leaves out texts that are too long to keep. Whether there was one.
fn shorten(value: &mut Value) -> bool {
    each_text(value, &mut String::new(), &mut |_, text| {
        let is_long = text.len() > MAX_TEXT_BYTES;
        if is_long {
            *text = format!("[{} bytes are left out]", text.len());
        }
        is_long
    })
}

/// Masks every text in a value, names of members among them. Whether there was one to mask.
fn mask_texts(value: &mut Value, redactor: &Redactor) -> bool {
    match value {
        Value::String(text) => {
            let masked = redactor.mask(text).into_string();
            let changed = masked != *text;
            *text = masked;
            changed
        }
        Value::Array(items) => {
            let mut changed = false;
            for item in items {
                changed |= mask_texts(item, redactor);
            }
            changed
        }
        Value::Object(members) => {
            let mut changed = false;
            let mut masked = serde_json::Map::new();
            for (name, mut value) in std::mem::take(members) {
                changed |= mask_texts(&mut value, redactor);
                let shown = redactor.mask(&name).into_string();
                changed |= shown != name;
                masked.insert(shown, value);
            }
            *members = masked;
            changed
        }
        _ => false,
    }
}

/// One line of an answer.
enum Line<'a> {
    Raw(&'a str),
    /// JSON, what stands before it, and what ends the line.
    Json {
        before: &'a str,
        value: Value,
        raw: &'a str,
        end: &'a str,
        changed: bool,
    },
}

/// An answer's body as text, and whether that is the body to the letter. Events of a stream stay events; where a secret
/// runs over several, its whole text stands in the first of them. `is_whole`: it ended where the server meant it to.
pub(super) fn answer(body: &[u8], is_whole: bool, redactor: &Redactor) -> (String, bool) {
    let text = String::from_utf8_lossy(body);
    let mut lines = match text.trim_start().starts_with(['{', '[']) {
        true => values(&text),
        false => text.split_inclusive('\n').map(line).collect(),
    };
    if !is_whole {
        leave_out_half(&mut lines);
    }
    for line in &mut lines {
        if let Line::Json { value, changed, .. } = line {
            *changed |= shorten(value);
        }
    }
    // First over all events: the rest of a secret whose beginning is masked already would be no more than a word.
    mask_across(&mut lines, is_whole, redactor);
    for line in &mut lines {
        if let Line::Json { value, changed, .. } = line {
            *changed |= mask_texts(value, redactor);
        }
    }
    let mut out = String::with_capacity(text.len());
    for line in &lines {
        match line {
            Line::Raw(raw) => out.push_str(raw),
            Line::Json {
                before,
                value,
                end,
                changed: true,
                ..
            } => {
                out.push_str(before);
                out.push_str(&value.to_string());
                out.push_str(end);
            }
            Line::Json { raw, .. } => out.push_str(raw),
        }
    }
    // What is no JSON, and what names beside values tell.
    let whole = redactor.mask(&out).into_string();
    let shown = match is_whole {
        true => whole,
        false => cut(&whole, redactor),
    };
    let exact = shown == text;
    (shown, exact)
}

/// The last line of what broke off may end within a secret.
fn cut(text: &str, redactor: &Redactor) -> String {
    let at = text
        .trim_end_matches('\n')
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let (before, last) = text.split_at(at);
    let shown = redactor.redact_cut("", last);
    let last = match shown.as_str() == last.trim_end() {
        true => last,
        false => shown.as_str(),
    };
    format!("{before}{last}")
}

/// What stands before the JSON of a line, that, and what ends the line.
fn event(raw: &str) -> (&str, &str, &str) {
    let content = raw.trim_end_matches(['\n', '\r']);
    let json = content.strip_prefix("data:").unwrap_or(content);
    let json = json.trim_start();
    let before = &content[..content.len() - json.len()];
    (before, json, &raw[content.len()..])
}

fn line(raw: &str) -> Line<'_> {
    let (before, json, end) = event(raw);
    if !json.starts_with(['{', '[']) {
        return Line::Raw(raw);
    }
    match serde_json::from_str(json) {
        Ok(value) => Line::Json {
            before,
            value,
            raw,
            end,
            changed: false,
        },
        Err(_) => Line::Raw(raw),
    }
}

/// The objects of a body that is JSON, alone, in a list or behind each other, which are its events; by lines from where it is
/// something else.
fn values(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| !c.is_whitespace() && !",[]".contains(c)) {
        let (before, from) = rest.split_at(at);
        lines.push(Line::Raw(before));
        rest = from;
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value @ Value::Object(_))) => value,
            Some(Err(error)) if error.is_eof() => break,
            _ => {
                lines.extend(rest.split_inclusive('\n').map(line));
                return lines;
            }
        };
        let (raw, behind) = from.split_at(values.byte_offset());
        lines.push(Line::Json {
            before: "",
            value,
            raw,
            end: "",
            changed: false,
        });
        rest = behind;
    }
    lines.push(Line::Raw(rest));
    lines
}

/// Where a text stands in an event: names and places, and the numbers that tell calls and blocks apart.
type TextPlace = String;

/// Members that are whole in each event: one behind the other they would look like secrets.
const REPEATED: [&str; 9] = [
    "/id",
    "/item_id",
    "/type",
    "/object",
    "/model",
    "/role",
    "/created",
    "/obfuscation",
    "/system_fingerprint",
];

/// Leaves its first mark of an event that was cut off behind others: what it says may be the end of a secret that began in
/// them, and no reading of half a JSON text is sure to find it.
fn leave_out_half(lines: &mut [Line<'_>]) {
    if let [before @ .., Line::Raw(last)] = lines
        && before.iter().any(|line| matches!(line, Line::Json { .. }))
    {
        let (head, json, _) = event(last);
        if json.starts_with(['{', '[']) {
            *last = &last[..head.len() + 1];
        }
    }
}

/// Masks secrets whose parts stand at one place of several events, and of a stream that broke off the halves that its texts
/// end with.
fn mask_across(lines: &mut [Line<'_>], is_whole: bool, redactor: &Redactor) {
    let mut joined: HashMap<TextPlace, (usize, String)> = HashMap::new();
    for line in lines.iter_mut() {
        if let Line::Json { value, .. } = line {
            each_text(value, &mut String::new(), &mut |path, text| {
                let repeats = REPEATED.iter().any(|name| path.ends_with(name));
                if !repeats {
                    let (count, all) = joined.entry(path.to_owned()).or_default();
                    *count += 1;
                    all.push_str(text);
                }
                false
            });
        }
    }
    let mut replaced: HashMap<TextPlace, String> = HashMap::new();
    for (path, (_, all)) in joined
        .into_iter()
        .filter(|(_, (count, _))| *count > 1 || !is_whole)
    {
        let whole = redactor.mask(&all).into_string();
        let masked = match is_whole {
            true => whole,
            false => cut(&whole, redactor),
        };
        if masked != all {
            replaced.insert(path, masked);
        }
    }
    if replaced.is_empty() {
        return;
    }
    for line in lines.iter_mut() {
        if let Line::Json { value, changed, .. } = line {
            *changed |= each_text(value, &mut String::new(), &mut |path, text| {
                let Some(all) = replaced.get_mut(path) else {
                    return false;
                };
                // The first takes all of it, the others nothing.
                *text = std::mem::take(all);
                true
            });
        }
    }
}

/// Calls `with` for every text of a value. Whether one of the calls said so.
fn each_text(
    value: &mut Value,
    path: &mut TextPlace,
    with: &mut dyn FnMut(&str, &mut String) -> bool,
) -> bool {
    match value {
        Value::String(text) => with(path, text),
        Value::Array(items) => {
            let mut said = false;
            for (at, item) in items.iter_mut().enumerate() {
                let length = path.len();
                path.push_str(&format!("/{at}"));
                said |= each_text(item, path, with);
                path.truncate(length);
            }
            said
        }
        Value::Object(members) => {
            let start = path.len();
            for name in ["index", "output_index", "content_index", "item_id"] {
                if let Some(number) = members.get(name) {
                    path.push_str(&format!("#{number}"));
                }
            }
            let mut said = false;
            for (name, value) in members.iter_mut() {
                let length = path.len();
                path.push('/');
                path.push_str(name);
                said |= each_text(value, path, with);
                path.truncate(length);
            }
            path.truncate(start);
            said
        }
        _ => false,
    }
}
