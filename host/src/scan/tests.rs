//! Tests of the scanner: its verdicts beside those of `serde_json`, sizes, spans, bounds.
//! Properties over generated documents stand here too.
#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;
use serde_json::Value;

const LIMITS: ScanLimits = ScanLimits {
    depth: 3,
    string_bytes: 5,
    array_items: 3,
    object_fields: 3,
};

fn ok(text: &str) -> Scan<'_> {
    scan(text, &LIMITS).unwrap()
}

#[test]
fn members_are_spans_of_the_text() {
    let found = ok(r#" { "a" : [1, 2] , "\u0062":"x" } "#);
    assert!(found.is_object);
    let members: Vec<_> = found
        .members
        .iter()
        .map(|m| (m.key.as_ref(), m.value))
        .collect();
    assert_eq!(members, vec![("a", "[1, 2]"), ("b", "\"x\"")]);
    assert_eq!(found.members[0].compact_bytes, 5);
}

#[test]
fn bounds_are_exact() {
    assert!(!ok("[[[1]]]").too_deep);
    assert!(ok("[[[[1]]]]").too_deep);
    assert!(!ok("[1,2,3]").too_large);
    assert!(ok("[1,2,3,4]").too_large);
    assert!(!ok(r#""12345""#).too_large);
    assert!(ok(r#""123456""#).too_large);
    assert!(!ok(r#""\u0041\u0041\u0041\u0041\u0041""#).too_large);
    assert!(ok(r#"{"123456":1}"#).too_large);
    assert!(ok(r#"{"a":1,"b":2,"c":3,"d":4}"#).too_large);
}

#[test]
fn duplicates_are_found_through_escapes_and_in_depth() {
    assert!(ok(r#"{"id":1,"\u0069d":2}"#).duplicate_top);
    let nested = ok(r#"{"p":{"a":1,"a":2}}"#);
    assert_eq!(nested.duplicate_key.as_deref(), Some("a"));
    assert!(nested.duplicate_nested && !nested.duplicate_top);
    assert!(!ok(r#"{"a":{"a":1},"b":{"a":1}}"#).duplicate_nested);
    let many: Vec<_> = (0..40).map(|i| format!("\"k{i}\":0")).collect();
    assert!(
        !scan(&format!("{{{}}}", many.join(",")), &ScanLimits::UNBOUNDED)
            .unwrap()
            .duplicate_top
    );
    assert!(
        scan(
            &format!("{{{},\"k7\":1}}", many.join(",")),
            &ScanLimits::UNBOUNDED
        )
        .unwrap()
        .duplicate_top
    );
}

#[test]
fn faults_say_where_and_what() {
    let fault = scan(r#"{"op" "check"}"#, &LIMITS).unwrap_err();
    assert_eq!((fault.offset, fault.expected), (6, "`:`"));
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        "1e",
        "-",
        "tru",
        "\"\u{1}\"",
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\x""#,
        "1 2",
        "\u{feff}1",
        "nullx",
    ] {
        assert!(scan(bad, &LIMITS).is_err(), "{bad:?}");
    }
}

#[test]
fn a_very_deep_value_costs_no_stack() {
    let deep = "[".repeat(60_000) + &"]".repeat(60_000);
    assert!(scan(&deep, &LIMITS).unwrap().too_deep);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(".{0,6}", inner, 0..5)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn accepts_what_serde_writes_and_counts_its_compact_length(value in json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let found = scan(&text, &ScanLimits::UNBOUNDED).unwrap();
        if let Value::Object(map) = &value {
            prop_assert_eq!(found.members.len(), map.len());
            for member in &found.members {
                let expected = &map[member.key.as_ref()];
                prop_assert_eq!(&serde_json::from_str::<Value>(member.value).unwrap(), expected);
                prop_assert_eq!(member.compact_bytes, serde_json::to_string(expected).unwrap().len());
            }
        }
    }

    #[test]
    fn agrees_with_serde_on_what_is_json(text in "[\\[\\]{}\",:0-9eE.\\-+\\\\utrfalsn ]{0,24}") {
        let ours = scan(&text, &ScanLimits::UNBOUNDED).is_ok();
        let theirs = serde_json::from_str::<Value>(&text);
        // serde also refuses numbers beyond f64, which are JSON all the same.
        let out_of_range = theirs.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
        prop_assert!(ours == theirs.is_ok() || out_of_range, "{:?}", text);
    }

    #[test]
    fn never_panics(text in any::<String>()) {
        let _ = scan(&text, &LIMITS);
        let _ = scan_prefix(&text, &LIMITS);
    }
}
