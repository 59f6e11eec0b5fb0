//! The small language inside a scenario's values: names that are bound, patterns, generated values.
//! It is written down in the kits' READMEs; no wire and no process live here.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What the names of one case stand for.
pub(crate) type Names = BTreeMap<String, Value>;

/// The only member of an object that is an operator, and its operand.
fn operator(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    let (name, operand) = map.iter().next()?;
    name.strip_prefix('$').map(|name| (name, operand))
}

fn count(operand: &Value) -> Result<usize, String> {
    operand
        .as_u64()
        .and_then(|count| usize::try_from(count).ok())
        .ok_or_else(|| format!("not a count: {operand}"))
}

fn pair(operand: &Value) -> Result<(&Value, usize), String> {
    match operand.as_array().map(Vec::as_slice) {
        Some([value, times]) => Ok((value, count(times)?)),
        _ => Err(format!("not [value, count]: {operand}")),
    }
}

/// A template with its names replaced and its generators played.
pub(crate) fn fill(template: &Value, names: &Names) -> Result<Value, String> {
    if let Some((name, operand)) = operator(template) {
        return match name {
            "repeat" => {
                let (text, times) = pair(operand)?;
                let text = text.as_str().ok_or("$repeat takes a string")?;
                Ok(text.repeat(times).into())
            }
            "array" => {
                let (item, times) = pair(operand)?;
                Ok(vec![fill(item, names)?; times].into())
            }
            "fields" => Ok((0..count(operand)?)
                .map(|n| (format!("f{n}"), Value::from(n)))
                .collect::<Map<_, _>>()
                .into()),
            "nest" => Ok((0..count(operand)?).fold(Value::from(0), |inner, _| vec![inner].into())),
            "join" => {
                let parts = operand.as_array().ok_or("$join takes an array")?;
                let mut joined = String::new();
                for part in parts {
                    match fill(part, names)? {
                        Value::String(text) => joined += &text,
                        other => joined += &other.to_string(),
                    }
                }
                Ok(joined.into())
            }
            _ => Err(format!("${name} generates nothing")),
        };
    }
    Ok(match template {
        Value::String(text) => match text.strip_prefix('$') {
            None => template.clone(),
            Some(literal) if literal.starts_with('$') => literal.into(),
            Some(name) => names
                .get(name)
                .cloned()
                .ok_or_else(|| format!("nothing is bound to ${name}"))?,
        },
        Value::Array(items) => items
            .iter()
            .map(|item| fill(item, names))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Object(map) => {
            let mut filled = Map::new();
            for (key, value) in map {
                filled.insert(key.clone(), fill(value, names)?);
            }
            filled.into()
        }
        _ => template.clone(),
    })
}

/// Whether a value fits a pattern. Names are bound only if all of it fits.
pub(crate) fn fits(pattern: &Value, value: &Value, names: &mut Names) -> Result<(), String> {
    let mut bound = names.clone();
    at("", pattern, Some(value), &mut bound)?;
    *names = bound;
    Ok(())
}

fn at(path: &str, pattern: &Value, value: Option<&Value>, names: &mut Names) -> Result<(), String> {
    if pattern.as_str() == Some("$absent") {
        return match value {
            None => Ok(()),
            Some(value) => Err(format!("{path}: should be absent, is {value}")),
        };
    }
    // These three are about patterns, one of which may be about absence.
    match operator(pattern) {
        Some(("not", unwanted)) => {
            return match at(path, unwanted, value, &mut names.clone()) {
                Err(_) => Ok(()),
                Ok(()) => Err(format!("{path}: must not fit {unwanted}")),
            };
        }
        Some(("all", Value::Array(all))) => {
            return all.iter().try_for_each(|each| at(path, each, value, names));
        }
        Some(("one_of", Value::Array(choices))) => {
            for choice in choices {
                let mut bound = names.clone();
                if at(path, choice, value, &mut bound).is_ok() {
                    *names = bound;
                    return Ok(());
                }
            }
            let got = value.map_or_else(|| "nothing".to_owned(), short);
            return Err(format!("{path}: expected {pattern}, got {got}"));
        }
        _ => {}
    }
    let value = value.ok_or_else(|| format!("{path}: missing"))?;
    if let Some((name, operand)) = operator(pattern) {
        return operate(path, name, operand, value, names);
    }
    let expected = |fits: bool| {
        if fits {
            Ok(())
        } else {
            Err(format!("{path}: expected {pattern}, got {value}"))
        }
    };
    match pattern {
        Value::String(text) if text.starts_with('$') && !text.starts_with("$$") => {
            word(path, &text[1..], value, names)
        }
        Value::String(text) => {
            let text = text.strip_prefix('$').unwrap_or(text);
            expected(value == text)
        }
        Value::Object(members) => {
            expected(value.is_object())?;
            members.iter().try_for_each(|(key, member)| {
                at(&format!("{path}/{key}"), member, value.get(key), names)
            })
        }
        Value::Array(items) => {
            let got = value.as_array().map(Vec::as_slice).unwrap_or_default();
            expected(value.is_array() && got.len() == items.len())?;
            (items.iter().zip(got).enumerate())
                .try_for_each(|(n, (item, got))| at(&format!("{path}/{n}"), item, Some(got), names))
        }
        _ => expected(pattern == value),
    }
}

fn hex64(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// `YYYY-MM-DDThh:mm:ss`, a fraction or none, then `Z` or an offset (RFC 3339).
fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let shape = date.bytes().enumerate().all(|(n, b)| match n {
        4 | 7 => b == b'-',
        10 => b == b'T',
        13 | 16 => b == b':',
        _ => b.is_ascii_digit(),
    });
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
    };
    shape && (zone == "Z" || (zone.len() == 6 && zone.starts_with(['+', '-'])))
}

fn word(path: &str, word: &str, value: &Value, names: &mut Names) -> Result<(), String> {
    let text = value.as_str();
    let fits = match word {
        "any" => true,
        "string" => text.is_some_and(|text| !text.is_empty()),
        "id" => text.is_some_and(|text| {
            (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
        }),
        "uuid" => text.is_some_and(|text| uuid::Uuid::try_parse(text).is_ok() && text.len() == 36),
        "digest" => text.is_some_and(hex64),
        "hashed" => text.is_some_and(|text| {
            text.split_at_checked(text.len().saturating_sub(64))
                .is_some_and(|(prefix, digest)| !prefix.is_empty() && hex64(digest))
        }),
        "time" => text.is_some_and(is_time),
        "count" => value.is_u64(),
        "boolean" => value.is_boolean(),
        _ => {
            if let Some(name) = word.strip_prefix("bind:") {
                if value.is_null() {
                    return Err(format!("{path}: null cannot be bound to {name}"));
                }
                names.insert(name.to_owned(), value.clone());
                return Ok(());
            }
            let known = names
                .get(word)
                .ok_or_else(|| format!("{path}: nothing is bound to ${word}"))?;
            if known == value {
                return Ok(());
            }
            return Err(format!("{path}: expected ${word} = {known}, got {value}"));
        }
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{path}: expected ${word}, got {value}"))
    }
}

fn operate(
    path: &str,
    name: &str,
    operand: &Value,
    value: &Value,
    names: &mut Names,
) -> Result<(), String> {
    let many = || {
        operand
            .as_array()
            .ok_or_else(|| format!("{path}: ${name} takes an array"))
    };
    let expected = |fits: bool| {
        if fits {
            Ok(())
        } else {
            Err(format!(
                "{path}: expected ${name} {operand}, got {}",
                short(value)
            ))
        }
    };
    match name {
        "exact" => {
            at(path, operand, Some(value), names)?;
            let extra = (value.as_object().into_iter().flat_map(Map::keys))
                .find(|key| operand.get(key.as_str()).is_none());
            match extra {
                None => Ok(()),
                Some(key) => Err(format!("{path}: unexpected member {key}")),
            }
        }
        "contains" => {
            let got = value.as_array().map(Vec::as_slice).unwrap_or_default();
            expected(value.is_array())?;
            for wanted in many()? {
                let mut found = false;
                for item in got {
                    let mut bound = names.clone();
                    if at(path, wanted, Some(item), &mut bound).is_ok() {
                        *names = bound;
                        found = true;
                        break;
                    }
                }
                if !found {
                    return Err(format!("{path}: no item fits {wanted} in {}", short(value)));
                }
            }
            Ok(())
        }
        "each" => {
            expected(value.is_array())?;
            let got = value.as_array().map(Vec::as_slice).unwrap_or_default();
            (got.iter().enumerate())
                .try_for_each(|(n, item)| at(&format!("{path}/{n}"), operand, Some(item), names))
        }
        "length" => {
            let least = operand
                .as_array()
                .map(|pair| (count(&pair[0]), count(&pair[1])));
            let (least, most) = match least {
                Some((least, most)) => (least?, most?),
                None => (count(operand)?, count(operand)?),
            };
            let length = match value {
                Value::Array(items) => items.len(),
                Value::String(text) => text.len(),
                _ => return expected(false),
            };
            expected((least..=most).contains(&length))
        }
        "text" => {
            let wanted = fill(operand, names)?;
            let wanted = wanted.as_str().ok_or("$text takes a string")?.to_owned();
            expected(value.as_str().is_some_and(|text| text.contains(&wanted)))
        }
        "repeat" | "array" | "fields" | "nest" | "join" => {
            let mut made = Map::new();
            made.insert(format!("${name}"), operand.clone());
            expected(fill(&Value::Object(made), names)? == *value)
        }
        _ => Err(format!("{path}: no pattern ${name}")),
    }
}

/// A value for a message: whole if it is short.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(600) {
        None => text,
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

/// RFC 6902 with `add`, `replace` and `remove`. Templates stay templates: the patched whole is filled.
pub(crate) fn patch(target: &mut Value, operations: &Value) -> Result<(), String> {
    for operation in operations.as_array().ok_or("a patch is an array")? {
        let (op, path) = (operation["op"].as_str(), operation["path"].as_str());
        let path = path.ok_or("a patch operation has a path")?;
        let (parent, key) = path.rsplit_once('/').ok_or("a path starts with /")?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let value = match op {
            Some("remove") => None,
            Some("add" | "replace") => Some(operation["value"].clone()),
            _ => return Err(format!("no such patch operation: {operation}")),
        };
        let found = target
            .pointer_mut(parent)
            .ok_or_else(|| format!("nothing at {parent}"))?;
        let there = match &*found {
            Value::Array(items) => key.parse().is_ok_and(|at: usize| at < items.len()),
            other => other.get(&key).is_some(),
        };
        match (found, value) {
            (Value::Object(map), Some(value)) if op == Some("add") || there => {
                map.insert(key, value);
            }
            (Value::Object(map), None) if there => {
                map.remove(&key);
            }
            (Value::Array(items), Some(value)) if key == "-" && op == Some("add") => {
                items.push(value);
            }
            (Value::Array(items), value) if there => {
                let at: usize = key.parse().map_err(|_| format!("no index: {key}"))?;
                match value {
                    None => {
                        items.remove(at);
                    }
                    Some(value) if op == Some("add") => items.insert(at, value),
                    Some(value) => items[at] = value,
                }
            }
            _ => return Err(format!("cannot {op:?} at {path}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(pattern: Value, value: Value) -> bool {
        fits(&pattern, &value, &mut Names::new()).is_ok()
    }

    #[test]
    fn patterns_accept_and_refuse() {
        for (pattern, good, bad) in [
            (json!(1), json!(1), json!("1")),
            (json!(null), json!(null), json!(0)),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"b": 1})),
            (json!({"a": "$absent"}), json!({}), json!({"a": null})),
            (json!({"a": "$any"}), json!({"a": null}), json!({})),
            (
                json!({"$exact": {"a": 1}}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
            ),
            (json!([1, "$count"]), json!([1, 2]), json!([1, 2, 3])),
            (json!({"$contains": [2]}), json!([1, 2]), json!([1])),
            (json!({"$each": "$count"}), json!([1, 2]), json!([1, -2])),
            (json!({"$not": 1}), json!(2), json!(1)),
            (json!({"$one_of": [1, 2]}), json!(2), json!(3)),
            (
                json!({"$all": ["$string", {"$length": 2}]}),
                json!("ab"),
                json!("abc"),
            ),
            (json!({"$length": [1, 2]}), json!([0, 0]), json!([])),
            (
                json!({"a": {"$one_of": ["$absent", 1]}}),
                json!({}),
                json!({"a": 2}),
            ),
            (
                json!({"a": {"$all": ["$any", "$count"]}}),
                json!({"a": 2}),
                json!({}),
            ),
            (json!({"$text": "b"}), json!("abc"), json!("ac")),
            (json!({"$repeat": ["ab", 2]}), json!("abab"), json!("ab")),
            (json!("$$x"), json!("$x"), json!("$$x")),
            (json!("$boolean"), json!(false), json!(0)),
            (
                json!("$uuid"),
                json!("6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11"),
                json!("x"),
            ),
            (
                json!("$time"),
                json!("2026-01-02T03:04:05.678Z"),
                json!("2026-01-02"),
            ),
            (
                json!("$hashed"),
                json!(format!("tool-{}", "0".repeat(64))),
                json!("0".repeat(64)),
            ),
        ] {
            assert!(check(pattern.clone(), good.clone()), "{pattern} {good}");
            assert!(!check(pattern.clone(), bad.clone()), "{pattern} {bad}");
        }
    }

    #[test]
    fn names_are_bound_by_a_pattern_that_fits_and_by_no_other() {
        let mut names = Names::new();
        let pattern = json!({"a": "$bind:x", "b": 1});
        assert!(fits(&pattern, &json!({"a": "one", "b": 2}), &mut names).is_err());
        assert!(names.is_empty());
        fits(&pattern, &json!({"a": "one", "b": 1}), &mut names).unwrap();
        fits(&json!("$x"), &json!("one"), &mut names).unwrap();
        assert!(fits(&json!("$x"), &json!("two"), &mut names).is_err());
        assert!(fits(&json!("$y"), &json!("two"), &mut names).is_err());
        let filled = fill(&json!({"k": ["$x", {"$join": ["r", "$x", 1]}]}), &names).unwrap();
        assert_eq!(filled, json!({"k": ["one", "rone1"]}));
        assert!(fill(&json!("$y"), &names).is_err());
        assert!(fits(&json!({"a": "$bind:z"}), &json!({"a": null}), &mut names).is_err());
    }

    #[test]
    fn patches_change_what_is_there_and_nothing_else() {
        let mut value = json!({"a": {"b": [1, 2]}, "c": null});
        let operations = json!([
            {"op": "replace", "path": "/c", "value": [[0]]},
            {"op": "add", "path": "/a/b/-", "value": 3},
            {"op": "remove", "path": "/a/b/0"},
            {"op": "add", "path": "/d", "value": {"f0": 0}},
        ]);
        patch(&mut value, &operations).unwrap();
        assert_eq!(
            value,
            json!({"a": {"b": [2, 3]}, "c": [[0]], "d": {"f0": 0}})
        );
        for wrong in [
            json!([{"op": "replace", "path": "/e", "value": 1}]),
            json!([{"op": "remove", "path": "/e"}]),
            json!([{"op": "add", "path": "/e/f", "value": 1}]),
            json!([{"op": "move", "path": "/a"}]),
        ] {
            assert!(patch(&mut value, &wrong).is_err(), "{wrong}");
        }
    }
}
