//! What a server offers: its list of tools, read leniently, and what of it a model may be offered.
//! Bounds and names only; who may call a tool is decided above, and how it is called stands in `tool`.

use serde_json::{Map, Value};

/// Longest name that a model is offered, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Longest schema, in bytes of JSON.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Deepest schema, in containers.
const MAX_SCHEMA_DEPTH: usize = 32;
/// Longest description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 1024;

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    /// The server's own name for it.
    pub(crate) tool: String,
    /// `mcp__<server>__<tool>`.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// The server says that it changes nothing; only when its calls run depends on it.
    pub(crate) reads: bool,
}

/// One page of a list of tools: what can be offered, why the rest can't, and where the next page begins.
pub(crate) struct Page {
    pub(crate) offers: Vec<Offer>,
    pub(crate) left_out: Vec<String>,
    pub(crate) next: Option<String>,
}

impl Page {
    /// One tool more than `most` at most, and `most` reasons; `None` for what is no such page.
    pub(crate) fn read(server: &str, result: &Value, most: usize) -> Option<Self> {
        let (mut offers, mut left_out) = (Vec::new(), Vec::new());
        for tool in result.get("tools")?.as_array()? {
            match Offer::read(server, tool) {
                Ok(offer) => offers.push(offer),
                Err(why) if left_out.len() < most => left_out.push(why),
                Err(_) => {}
            }
            // One more than may be offered, which tells that there are too many.
            if offers.len() > most {
                break;
            }
        }
        let next = result.get("nextCursor").and_then(Value::as_str);
        Some(Self {
            offers,
            left_out,
            next: next.filter(|next| !next.is_empty()).map(str::to_owned),
        })
    }
}

impl Offer {
    /// Errs with why it is left out.
    fn read(server: &str, tool: &Value) -> Result<Self, String> {
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.ok_or("a tool without a name is left out")?;
        let left_out = |why: &str| format!("the tool `{}` is left out: {why}", store::shown(name));
        let offered = format!("mcp__{server}__{name}");
        if !is_offerable(&offered) || name.is_empty() {
            return Err(left_out(&format!(
                "`mcp__{}__{}` is not 1 to {MAX_NAME_BYTES} of letters, digits, `_` and `-`",
                store::shown(server),
                store::shown(name),
            )));
        }
        if !store::settings::is_server_name(server) {
            return Err(left_out(
                "two servers could have this name for a tool: the server's begins or ends with `_`, or holds `__`",
            ));
        }
        if tool
            .pointer("/execution/taskSupport")
            .and_then(Value::as_str)
            == Some("required")
        {
            return Err(left_out(
                "it can only be called as a task, which this program does not do",
            ));
        }
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        check_schema(&schema).map_err(|why| left_out(&why))?;
        let description = tool.get("description").and_then(Value::as_str);
        let hint = tool.pointer("/annotations/readOnlyHint");
        Ok(Self {
            tool: name.to_owned(),
            name: offered,
            description: plain(description.unwrap_or_default()),
            schema,
            reads: hint == Some(&Value::Bool(true)),
        })
    }
}

fn is_offerable(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// The schema of an input has to be that of an object, whose members have schemas.
fn check_schema(schema: &Value) -> Result<(), String> {
    let object = schema
        .as_object()
        .ok_or("its input has no schema, or one that is no object")?;
    if object.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its schema is not of an object".to_owned());
    }
    let is_schema = |value: &Value| value.is_object() || value.is_boolean();
    let members = |members: &Map<String, Value>| members.values().all(is_schema);
    let fits = |name: &str, fits: &dyn Fn(&Value) -> bool| object.get(name).is_none_or(fits);
    if !fits("properties", &|value| {
        value.as_object().is_some_and(members)
    }) {
        return Err("`properties` of its schema are none".to_owned());
    }
    let names = |value: &Value| {
        let names = value.as_array();
        names.is_some_and(|names| names.iter().all(Value::is_string))
    };
    if !fits("required", &names) {
        return Err("`required` of its schema is no list of names".to_owned());
    }
    if !fits("additionalProperties", &is_schema) {
        return Err("`additionalProperties` of its schema is none".to_owned());
    }
    if depth(schema) > MAX_SCHEMA_DEPTH {
        return Err(format!(
            "its schema is deeper than {MAX_SCHEMA_DEPTH} containers"
        ));
    }
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!(
            "its schema has {bytes} bytes, and {MAX_SCHEMA_BYTES} at most may be"
        ));
    }
    Ok(())
}

/// Containers within each other. What was parsed is at most 128 deep.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A description as it is offered: no character that a person would not see, and within its bound.
fn plain(description: &str) -> String {
    let shown: String = description
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !redact::is_unseen(*c))
        .collect();
    let mut shown = shown.trim().to_owned();
    if shown.len() > MAX_DESCRIPTION_BYTES {
        const CUT: char = '…';
        shown.truncate(shown.floor_char_boundary(MAX_DESCRIPTION_BYTES - CUT.len_utf8()));
        shown.push(CUT);
    }
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(tool: &Value) -> Result<Offer, String> {
        Offer::read("s", tool)
    }

    #[test]
    fn what_is_well_described_is_offered() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": true}, "required": ["a"]});
        let offer = read(&json!({
            "name": "t-1_x", "description": "one\ntwo\u{202e}\u{200b}", "inputSchema": schema,
            "annotations": {"readOnlyHint": true}, "icons": 3,
        }));
        let expected = Offer {
            tool: "t-1_x".to_owned(),
            name: "mcp__s__t-1_x".to_owned(),
            description: "one two".to_owned(),
            schema,
            reads: true,
        };
        assert_eq!(offer.unwrap(), expected);
        let bare =
            read(&json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": null}));
        let bare = bare.unwrap();
        assert!(!bare.reads && bare.description.is_empty());
    }

    #[test]
    fn a_bad_name_or_schema_costs_that_tool_alone_and_says_why() {
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "x": inner }));
        let tool = |schema: Value| json!({"name": "t", "inputSchema": schema});
        let wide = json!({"type": "object", "description": "x".repeat(MAX_SCHEMA_BYTES)});
        for (tool, why) in [
            (json!(3), "without a name"),
            (json!({"name": 3}), "without a name"),
            (json!({"name": ""}), "is not 1 to 64"),
            (json!({"name": "a b"}), "is not 1 to 64"),
            (json!({"name": "é"}), "is not 1 to 64"),
            (json!({"name": "x".repeat(60)}), "is not 1 to 64"),
            (json!({"name": "t"}), "has no schema"),
            (
                json!({"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}),
                "only be called as a task",
            ),
            (tool(json!(true)), "has no schema"),
            (tool(json!({})), "not of an object"),
            (tool(json!({"type": "string"})), "not of an object"),
            (
                tool(json!({"type": "object", "properties": []})),
                "`properties`",
            ),
            (
                tool(json!({"type": "object", "properties": {"a": 1}})),
                "`properties`",
            ),
            (
                tool(json!({"type": "object", "required": [1]})),
                "`required`",
            ),
            (
                tool(json!({"type": "object", "additionalProperties": 1})),
                "`additionalProperties`",
            ),
            (
                tool(json!({"type": "object", "properties": {"a": deep}})),
                "deeper than",
            ),
            (tool(wide), "and 16384 at most"),
        ] {
            let error = read(&tool).unwrap_err();
            assert!(error.contains(why) && error.contains("left out"), "{error}");
        }
        let list =
            json!({"tools": [tool(json!({})), tool(json!({"type": "object"}))], "nextCursor": "2"});
        let page = Page::read("s", &list, 9).unwrap();
        assert_eq!((page.offers.len(), page.left_out.len()), (1, 1));
        assert_eq!(page.next.as_deref(), Some("2"));
        for none in [json!({}), json!({"tools": {}}), json!(null)] {
            assert!(Page::read("s", &none, 9).is_none());
        }
        assert_eq!(
            Page::read("s", &json!({"tools": [], "nextCursor": ""}), 9)
                .unwrap()
                .next,
            None
        );
    }

    #[test]
    fn however_many_are_listed_so_many_are_kept() {
        let good = json!({"name": "t", "inputSchema": {"type": "object"}});
        for (tool, kept) in [(json!({}), (0, 9)), (good, (10, 0))] {
            let page = Page::read("s", &json!({ "tools": vec![tool; 1000] }), 9).unwrap();
            assert_eq!((page.offers.len(), page.left_out.len()), kept);
        }
    }

    proptest! {
        #[test]
        fn descriptions_are_bounded_and_plain(text: String, times in 1_usize..200) {
            let shown = plain(&text.repeat(times));
            prop_assert!(shown.len() <= MAX_DESCRIPTION_BYTES);
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
