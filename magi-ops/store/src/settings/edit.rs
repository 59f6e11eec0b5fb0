//! Changes in the text of a settings file: a changed value changes its own bytes only, an inserted member or element is
//! written as its siblings are, and comments stay where they are. Files and their locks are no matter of this one.

use std::ops::Range;

use super::fault::Finding;
use super::tree::{self, Node, Value};

/// What a level is indented by in a file that does not show it.
const INDENT: &str = "  ";
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// One change, under the names that lead to a member; objects that are missing on the way are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) path: Vec<String>,
    pub(super) what: What,
}

/// The values are JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The member has this value.
    Set(String),
    /// The list has this element too, behind the others; one that is missing is made.
    Push(String),
}

impl Edit {
    pub(super) fn set(path: &[&str], value: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            what: What::Set(value.into()),
        }
    }

    pub(super) fn push(path: &[&str], value: impl Into<String>) -> Self {
        Self {
            what: What::Push(value.into()),
            ..Self::set(path, "")
        }
    }

    /// The text with this change; `text` is a settings file's, perhaps behind a byte order mark. Errs with the name of what
    /// on the way is no object, or no list.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        let (mark, json) = text.split_at(start);
        let said = |finding: Finding| finding.fault.reason;
        let root = tree::parse(json).map_err(said)?;
        let code = tree::without_comments(json).map_err(said)?;
        let document = Document { json, code: &code };
        let changed = document.changed(self, &root)?;
        Ok(mark.to_owned() + &changed)
    }
}

pub(super) fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// A text, and the same with blanks for comments.
#[derive(Clone, Copy)]
struct Document<'a> {
    json: &'a str,
    code: &'a str,
}

impl Document<'_> {
    fn changed(self, edit: &Edit, root: &Node) -> Result<String, String> {
        let Self { json, code } = self;
        let mut node = root;
        for (depth, name) in edit.path.iter().enumerate() {
            let Value::Object(members) = &node.value else {
                return Err(edit.path[..depth].join("."));
            };
            if let Some(member) = members.iter().find(|member| member.name == *name) {
                node = &member.value;
                continue;
            }
            // What is missing below is written in one line.
            let value = match &edit.what {
                What::Set(value) => value.clone(),
                What::Push(value) => format!("[{value}]"),
            };
            let below = edit.path[depth + 1..].iter().rev();
            let value = below.fold(value, |value, name| {
                format!("{{{}: {value}}}", quoted(name))
            });
            let name = quoted(name);
            return Ok(match members.last() {
                None => self.first(node, &format!("{name}: {value}")),
                Some(last) => {
                    let colon = last.name_span.end..last.value.span.start;
                    let colon = match code[colon.clone()] == json[colon.clone()] {
                        true => &json[colon],
                        // A comment in it is about that member.
                        false => ": ",
                    };
                    let last = last.name_span.start..last.value.span.end;
                    let is_apart = members.len() > 1 || !colon.ends_with(' ');
                    self.behind(node, last, &format!("{name}{colon}{value}"), is_apart)
                }
            });
        }
        match (&edit.what, &node.value) {
            (What::Set(value), _) => {
                Ok([&json[..node.span.start], value, &json[node.span.end..]].concat())
            }
            (What::Push(value), Value::List(list)) => Ok(match list.last() {
                None => self.first(node, value),
                Some(last) => self.behind(node, last.span.clone(), value, list.len() > 1),
            }),
            (What::Push(_), _) => Err(edit.path.join(".")),
        }
    }

    /// With `own` behind the last of what stands in `around`. Unless `is_apart`, nothing shows what stands between two of
    /// them.
    fn behind(self, around: &Node, last: Range<usize>, own: &str, is_apart: bool) -> String {
        let Self { json, code } = self;
        let inner = around.span.end - 1;
        // Blanks, comments, perhaps a comma.
        let end = last.end + json[last.end..inner].trim_end_matches(BLANKS).len();
        let behind_comment = end > last.end + code[last.end..inner].trim_end_matches(BLANKS).len();
        let before = json[..last.start].trim_end_matches(BLANKS).len();
        let mut lead = json[before..last.start].to_owned();
        if behind_comment && !lead.contains('\n') {
            // It may go on to the end of its line.
            lead = line_end(json).to_owned() + indent(json, last.start);
        } else if lead.is_empty() && !is_apart {
            lead.push(' ');
        }
        let (comma, close) = match code[last.end..inner].contains(',') {
            true => ("", ","),
            false => (",", ""),
        };
        let (value, tail) = (&json[..last.end], &json[last.end..end]);
        [value, comma, tail, &lead, own, close, &json[end..]].concat()
    }

    /// With `own` in `around`, where nothing stands but blanks and comments.
    fn first(self, around: &Node, own: &str) -> String {
        let Self { json, .. } = self;
        let inner = around.span.start + 1..around.span.end - 1;
        let end = inner.start + json[inner.clone()].trim_end_matches(BLANKS).len();
        let (line_end, indent) = (line_end(json), indent(json, around.span.start));
        let blanks = &json[end..inner.end];
        let close = match blanks.contains('\n') {
            true => String::new(),
            false => format!("{line_end}{indent}"),
        };
        let unit = unit(json);
        let (head, tail) = json.split_at(end);
        [head, line_end, indent, unit, own, &close, tail].concat()
    }
}

fn line_end(json: &str) -> &'static str {
    if json.contains("\r\n") { "\r\n" } else { "\n" }
}

/// What the line is indented by in which a byte stands.
fn indent(json: &str, at: usize) -> &str {
    let line = &json[json[..at].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// What the file indents its first level by.
fn unit(json: &str) -> &str {
    let first = json.lines().skip(1).find_map(|line| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        (blank > 0 && blank < line.len()).then(|| &line[..blank])
    });
    first.unwrap_or(INDENT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn set(text: &str, path: &[&str], value: &str) -> Result<String, String> {
        Edit::set(path, value).apply(text)
    }

    #[test]
    fn a_changed_value_changes_its_own_bytes_and_an_inserted_one_is_like_its_siblings() {
        let path = ["projects", "/w", "trusted"];
        for (text, expected) in [
            (
                "{}\n",
                "{\n  \"projects\": {\"/w\": {\"trusted\": true}}\n}\n",
            ),
            (
                "{\"a\":1}",
                "{\"a\":1,\"projects\":{\"/w\": {\"trusted\": true}}}",
            ),
            (
                "{\r\n\t\"a\" : 1,\r\n\t\"b\":[]\r\n}\r\n",
                "{\r\n\t\"a\" : 1,\r\n\t\"b\":[],\r\n\t\"projects\":{\"/w\": {\"trusted\": true}}\r\n}\r\n",
            ),
            (
                "{\n    \"projects\": {},\n    \"z\": 1e2\n}",
                "{\n    \"projects\": {\n        \"/w\": {\"trusted\": true}\n    },\n    \"z\": 1e2\n}",
            ),
            (
                "\u{feff}{ \"projects\": { \"/w\": { \"trusted\" :  false , \"x\": 1 } } }",
                "\u{feff}{ \"projects\": { \"/w\": { \"trusted\" :  true , \"x\": 1 } } }",
            ),
            (
                "{\n  \"projects\": {\n    \"/v\": {}\n  }\n}\n",
                "{\n  \"projects\": {\n    \"/v\": {},\n    \"/w\": {\"trusted\": true}\n  }\n}\n",
            ),
            (
                "{\n  \"projects\": {\n    \"/w\": {\"permissions\": {}}\n  }\n}\n",
                "{\n  \"projects\": {\n    \"/w\": {\"permissions\": {}, \"trusted\": true}\n  }\n}\n",
            ),
        ] {
            assert_eq!(set(text, &path, "true").unwrap(), expected);
        }
        assert_eq!(
            set("{\"projects\": 1}", &path, "true"),
            Err("projects".to_owned())
        );
    }

    #[test]
    fn comments_and_commas_behind_the_last_member_stay() {
        let allow = ["permissions", "bash", "allow"];
        for (text, edit, expected) in [
            (
                "// mine\n{\n  \"fast\": true // for now\n}\n",
                Edit::set(&["model"], "\"m\""),
                "// mine\n{\n  \"fast\": true, // for now\n  \"model\": \"m\"\n}\n",
            ),
            (
                "{\n  \"fast\": true,\n  // \"model\": \"old\"\n}\n",
                Edit::set(&["model"], "\"m\""),
                "{\n  \"fast\": true,\n  // \"model\": \"old\"\n  \"model\": \"m\",\n}\n",
            ),
            (
                "{ \"fast\": true /* yes, */ }",
                Edit::set(&["model"], "\"m\""),
                "{ \"fast\": true, /* yes, */\n\"model\": \"m\" }",
            ),
            (
                "{\n\t// nothing yet\n}\n",
                Edit::set(&["fast"], "true"),
                "{\n\t// nothing yet\n\t\"fast\": true\n}\n",
            ),
            (
                "{\"permissions\": {\"bash\": {\"allow\": [\"ls\"]}}}",
                Edit::push(&allow, "\"cat\""),
                "{\"permissions\": {\"bash\": {\"allow\": [\"ls\", \"cat\"]}}}",
            ),
            (
                "{\"permissions\": {\"bash\": {}}}",
                Edit::push(&allow, "\"cat\""),
                "{\"permissions\": {\"bash\": {\n  \"allow\": [\"cat\"]\n}}}",
            ),
            (
                "{\"a\" /* b: */ : 1,\r\n\"c\" /* d */: 2}",
                Edit::set(&["e"], "3"),
                "{\"a\" /* b: */ : 1,\r\n\"c\" /* d */: 2,\r\n\"e\": 3}",
            ),
        ] {
            assert_eq!(edit.apply(text).as_deref(), Ok(expected), "{text}");
        }
    }

    /// A text with its value, in as many forms as people write: blanks, line ends, comments, commas.
    fn written() -> impl Strategy<Value = (String, serde_json::Value)> {
        fn join(
            open: &str,
            close: &str,
            items: Vec<(String, [String; 3])>,
            comma: bool,
            end: &str,
        ) -> String {
            let mut text = open.to_owned();
            let count = items.len();
            for (at, (item, [before, behind, _])) in items.into_iter().enumerate() {
                let is_last = at + 1 == count;
                let comma = if is_last && !comma { "" } else { "," };
                text += &format!("{before}{item}{behind}{comma}");
            }
            text + end + close
        }
        let gap = || {
            let piece = prop_oneof![
                4 => "[ \t]{0,2}",
                2 => prop_oneof![Just("\n  ".to_owned()), Just("\r\n\t".to_owned())],
                1 => "//[a-z\",{}*/]{0,6}\n",
                1 => "/\\*[a-z\",{}/]{0,6}\\*/",
            ];
            prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
        };
        let gaps = move || [gap(), gap(), gap()];
        let leaf = prop_oneof![
            any::<bool>().prop_map(|it| (it.to_string(), it.into())),
            Just(("1.50e1".to_owned(), serde_json::json!(15.0))),
            "[a-z\"\\\\é/,]{0,4}".prop_map(|it| (quoted(&it), it.into())),
        ];
        let value = leaf.prop_recursive(3, 24, 4, move |inner| {
            let item = (inner.clone(), gaps());
            let member = ("[a-d]", inner, gaps());
            prop_oneof![
                (prop::collection::vec(item, 0..3), any::<bool>(), gap()).prop_map(
                    |(items, comma, end)| {
                        let (texts, values): (Vec<_>, Vec<_>) = items
                            .into_iter()
                            .map(|((text, value), gaps)| ((text, gaps), value))
                            .unzip();
                        (join("[", "]", texts, comma, &end), values.into())
                    }
                ),
                (prop::collection::vec(member, 0..4), any::<bool>(), gap()).prop_map(
                    |(mut members, comma, end)| {
                        let mut seen = std::collections::HashSet::new();
                        members.retain(|(name, ..)| seen.insert(name.clone()));
                        let (texts, values): (Vec<_>, Vec<_>) = members
                            .into_iter()
                            .map(|(name, (text, value), gaps)| {
                                let text = format!("\"{name}\"{}:{text}", gaps[2]);
                                ((text, gaps), (name, value))
                            })
                            .unzip();
                        let map: serde_json::Map<_, _> = values.into_iter().collect();
                        (join("{", "}", texts, comma, &end), map.into())
                    }
                ),
            ]
        });
        (value, gap(), gap(), any::<bool>()).prop_map(|((text, value), before, behind, mark)| {
            let mark = if mark { "\u{feff}" } else { "" };
            (format!("{mark}{before}{text}{behind}"), value)
        })
    }

    fn value_of(text: &str) -> serde_json::Value {
        let text = text.trim_start_matches('\u{feff}');
        let plain = tree::plain(text).expect("JSON but for comments and commas");
        serde_json::from_str(&plain).unwrap()
    }

    /// The bytes of `text` stand in `changed` in their order.
    fn keeps(text: &str, changed: &str) -> bool {
        let mut bytes = changed.bytes();
        text.bytes().all(|byte| bytes.any(|other| other == byte))
    }

    proptest! {
        #[test]
        fn nothing_else_changes(
            (text, value) in written(),
            path in prop::collection::vec("[a-d]", 1..4),
            push in any::<bool>(),
        ) {
            prop_assume!(value.is_object());
            prop_assert_eq!(&value_of(&text), &value);
            let names: Vec<_> = path.iter().map(String::as_str).collect();
            let edit = if push { Edit::push(&names, "7") } else { Edit::set(&names, "7") };
            let mut expected = value.clone();
            let mut slot = Some(&mut expected);
            let mut is_there = true;
            for name in &names {
                slot = slot.filter(|at| at.is_object()).map(|at| {
                    is_there &= at.get(name).is_some();
                    if at.get(name).is_none() {
                        at[*name] = serde_json::json!({});
                    }
                    &mut at[*name]
                });
            }
            let slot = slot.filter(|at| !push || !is_there || at.is_array());
            match (edit.apply(&text), slot) {
                (Ok(changed), Some(slot)) => {
                    match slot {
                        serde_json::Value::Array(list) if push => list.push(7.into()),
                        slot if push => *slot = serde_json::json!([7]),
                        slot => *slot = 7.into(),
                    }
                    prop_assert_eq!(value_of(&changed), expected);
                    // A value that is there is replaced, whatever stood in it.
                    prop_assert!(is_there && !push || keeps(&text, &changed), "{}", changed);
                }
                (Err(_), None) => {}
                (changed, _) => prop_assert!(false, "{:?}", changed),
            }
        }
    }
}
