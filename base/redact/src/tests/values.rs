//! Secrets known by their value: the process's own variables, however they are written and split.

use super::*;

#[test]
fn values_of_credential_variables_are_known() {
    let redactor = Redactor::new([
        ("MY_API_KEY", "plain words here"),
        ("db_password", "short"),
        ("HOME", "/home/someone"),
        ("SOME_TOKEN", "ünïcödé"),
    ]);
    let text = "it says plain words here and ünïcödé, in /home/someone, short";
    let want = format!("it says {MASK} and {MASK}, in /home/someone, short");
    assert_eq!(redactor.redact(text).as_str(), want);
    for cut in 1..text.len() {
        assert_eq!(pieces(&redactor, text, &[cut]), want, "cut at {cut}");
    }
    let each: Vec<usize> = (1..text.len()).collect();
    assert_eq!(pieces(&redactor, text, &each), want);
}

fn each_cut(redactor: &Redactor, text: &str, want: &str) {
    assert_eq!(redactor.redact(text).as_str(), want);
    for cut in 1..text.len() {
        assert_eq!(pieces(redactor, text, &[cut]), want, "cut at {cut}");
    }
    let each: Vec<usize> = (1..text.len()).collect();
    assert_eq!(pieces(redactor, text, &each), want);
}

#[test]
fn short_values_would_mask_ordinary_words() {
    let redactor = Redactor::new([("A_KEY", "1"), ("B_TOKEN", ""), ("C_SECRET", "  on  ")]);
    let text = "1 is on, 1234567 is off";
    assert_eq!(redactor.redact(text).as_str(), text);
    assert_eq!(learned(["1234567"]).redact(text).as_str(), text);
}

#[test]
fn values_within_and_across_each_other_are_masked_whole() {
    let redactor = Redactor::new([
        ("A_KEY", "inner words"),
        ("B_KEY", "outer inner words outer"),
        ("C_KEY", "words outer rim"),
        ("D_KEY", "ababababab"),
    ]);
    each_cut(
        &redactor,
        "x outer inner words outer y inner words z",
        &format!("x {MASK} y {MASK} z"),
    );
    each_cut(
        &redactor,
        "x inner words outer rim y",
        &format!("x {MASK} y"),
    );
    each_cut(&redactor, "x abababababab y", &format!("x {MASK} y"));
    // A beginning that comes to nothing, with another within it.
    each_cut(
        &redactor,
        "x outer inner words y",
        &format!("x outer {MASK} y"),
    );
}

#[test]
fn values_named_by_settings_are_known_beside_the_others() {
    let redactor = Redactor::new([("A_KEY", "first value")]);
    redactor.learn(["second value"]);
    each_cut(
        &redactor,
        "first value, second value",
        &format!("{MASK}, {MASK}"),
    );
}

#[test]
fn passwords_of_urls_in_other_variables_are_known() {
    let redactor = Redactor::new([("DATABASE_URL", "postgres://app:quiet-words@db/app")]);
    each_cut(
        &redactor,
        "it was quiet-words then",
        &format!("it was {MASK} then"),
    );
}

#[test]
fn values_are_known_in_json_and_in_json_within_json() {
    let secret = "a \"quoted\\ path\u{1}\twith\nlines";
    let redactor = learned([secret]);
    let once = serde_json::json!({"command": format!("echo {secret};")}).to_string();
    let twice = serde_json::json!({"command": format!("post {once}")}).to_string();
    for (text, quotes) in [(secret.to_owned(), ""), (once, "\";"), (twice, "\\\";")] {
        let shown = redactor.redact(&text).into_string();
        assert!(shown.contains(MASK), "{shown}");
        for part in ["quoted", "path", "lines"] {
            assert!(!shown.contains(part), "{shown} {quotes}");
        }
    }
}

#[test]
fn values_are_known_however_they_are_escaped() {
    let secret = "a/b+c=d'e\"f&g<h é";
    let redactor = learned([secret]);
    for written in [
        "a\\/b+c=d'e\\\"f&g<h é",
        "a/b\\u002bc\\u003dd\\u0027e\\\"f\\u0026g\\u003ch \\u00e9"
            .replace("a/", "a\\u002f")
            .as_str(),
        "a\\u002Fb\\u002Bc\\u003Dd\\u0027e\\\"f\\u0026g\\u003Ch \\u00E9",
        "a%2Fb%2Bc%3Dd%27e%22f%26g%3Ch%20%C3%A9",
        "a%2fb%2bc%3dd%27e%22f%26g%3ch%20%c3%a9",
        "a%2Fb%2Bc%3Dd'e%22f%26g%3Ch%20%C3%A9",
        "a%2Fb%2Bc%3Dd%27e%22f%26g%3Ch+%C3%A9",
        "a/b+c=d\\'e\"f&g<h é",
        "a/b+c=d'\\''e\"f&g<h é",
        "a/b+c=d'e&quot;f&amp;g&lt;h é"
            .replace('\'', "&#39;")
            .as_str(),
    ] {
        each_cut(
            &redactor,
            &format!("it is {written} so"),
            "it is [redacted] so",
        );
    }
}

#[test]
fn values_are_known_in_base64_wherever_they_begin() {
    // Encoded by another program: the value by itself, behind `a` and behind `ab`, and the same for addresses.
    let redactor = learned(["blue?~fish>>swims_off"]);
    for (code, shown) in [
        ("Ymx1ZT9+ZmlzaD4+c3dpbXNfb2Zm", MASK.to_owned()),
        ("YWJsdWU/fmZpc2g+PnN3aW1zX29mZg==", format!("YW{MASK}g==")),
        ("YWJibHVlP35maXNoPj5zd2ltc19vZmY=", format!("YWJ{MASK}Y=")),
        ("Ymx1ZT9-ZmlzaD4-c3dpbXNfb2Zm", MASK.to_owned()),
        ("YWJsdWU_fmZpc2g-PnN3aW1zX29mZg==", format!("YW{MASK}g==")),
    ] {
        each_cut(
            &redactor,
            &format!("so {code} it"),
            &format!("so {shown} it"),
        );
    }
    // What is short could be a word's code.
    let short = learned(["fifteen bytes.."]);
    let code = "ZmlmdGVlbiBieXRlcy4u";
    assert_eq!(short.redact(code).as_str(), code);
}

#[test]
fn lines_of_a_long_value_are_known_by_themselves() {
    let (first, second) = (noise(64), noise(63));
    let value = format!("-- begin --\n{first}\n  {second}x\n-- end --");
    let redactor = learned([value.as_str()]);
    assert_eq!(
        redactor
            .redact(&format!("12: {first}\n13: {second}x\n-- end --"))
            .as_str(),
        format!("12: {MASK}\n13: {MASK}\n-- end --")
    );
    each_cut(&redactor, &format!("a {value} b"), &format!("a {MASK} b"));
}

#[test]
fn long_values_are_swallowed_not_held() {
    let value: String = (0..2000).map(|i| format!("w{i} é ")).collect();
    let other = format!("{}and then otherwise", &value[..400]);
    let redactor = learned([value.as_str(), other.as_str()]);
    for (text, want) in [
        (
            format!("see {} end", value.trim()),
            format!("see {MASK} end"),
        ),
        (format!("see {other} end"), format!("see {MASK} end")),
        // Left half-way: what matched is masked.
        (
            format!("see {}XYZ end", &value[..value.floor_char_boundary(1000)]),
            format!("see {MASK}XYZ end"),
        ),
    ] {
        assert_eq!(redactor.redact(&text).as_str(), want);
        for size in [1, 7, 100, 300, 5000] {
            let mut stream = redactor.stream();
            let mut shown = String::new();
            for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                let piece: String = piece.iter().collect();
                shown.extend(stream.push(&piece).map(Redacted::into_string));
                let (context, held) = stream.kept();
                assert!(held <= MAX_HELD_BYTES && context <= MAX_HELD_BYTES + piece.len());
            }
            shown += stream.finish().as_str();
            assert_eq!(shown, want, "pieces of {size}");
        }
    }
}

/// Two messages of one breath, live and as they are kept.
fn told(redactor: &Redactor, first: &str, second: &str) -> [String; 2] {
    let mut stream = redactor.stream();
    let live = [first, second].map(|text| {
        let mut shown = String::new();
        shown.extend(stream.push(text).map(Redacted::into_string));
        shown + stream.pause().as_str()
    });
    let kept = redactor.redact_message("", first).into_string()
        + redactor.redact_message(first, second).as_str();
    [live.concat(), kept]
}

#[test]
fn a_secret_that_is_told_in_two_messages_is_masked_in_both() {
    for secret in [
        "supersecretkeyvalue0123456789",
        "Zq7-Xw3/Kp9+Lm2=",
        "zürich-größe-äöü-00",
    ] {
        let redactor = learned([secret]);
        for (at, _) in secret.char_indices().skip(1) {
            let (head, tail) = secret.split_at(at);
            let (first, second) = (format!("key {head}"), format!("{tail} end"));
            let [live, kept] = told(&redactor, &first, &second);
            for shown in [&live, &kept] {
                assert!(!shown.contains(tail) || tail.len() < 4, "{shown}");
                assert!(
                    shown.starts_with("key ") && shown.ends_with(" end"),
                    "{shown}"
                );
                // Less than half of one is none.
                if 2 * head.len() < secret.len() {
                    assert!(shown.contains(head), "{shown}");
                } else if head.len() >= 12 {
                    assert!(!shown.contains(head), "{shown}");
                }
            }
            // What is told as one text.
            let joined = redactor.redact_message("", &format!("{first}{second}"));
            assert_eq!(joined.as_str(), format!("key {MASK} end"));
        }
        let mut long = learned([secret]).stream();
        let _ = long.push(&"words ".repeat(2000));
        let _ = long.push(&secret[..secret.floor_char_boundary(secret.len() * 3 / 4)]);
        assert!(long.pause().as_str().ends_with(MASK));
        let rest = long.push(&secret[secret.floor_char_boundary(secret.len() * 3 / 4)..]);
        assert!(rest.is_none_or(|rest| rest.is_empty()));
    }
}

#[test]
fn messages_are_shown_whole_where_no_secret_goes_on() {
    let redactor = learned([
        "supersecretkeyvalue0123456789",
        "Postgres2024",
        "/home/bob/private/key",
    ]);
    for (first, second) in [
        ("It runs Postgres", " and more"),
        ("in /home/bob", "/work"),
        ("key supers", "\n\nonic"),
        ("Let me look.", "It is there: src/main.rs"),
        ("see 4f2a91", "c0 and on"),
    ] {
        let whole = format!("{first}{second}");
        assert_eq!(told(&redactor, first, second), [whole.clone(), whole]);
    }
    // The half of a known secret at the end is masked, and only there.
    let half = "supersecretkeyvalu";
    let shown = redactor.redact_message("", &format!("{half} key {half}"));
    assert_eq!(shown.as_str(), format!("{half} key {MASK}"));
}

proptest! {
    /// Against the plain definition: every place where a value stands is masked, nothing else.
    #[test]
    fn every_place_of_every_value_and_no_other(
        values in prop::collection::vec("[xy]{8,14}", 1..4),
        text in "[xy ]{0,200}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let redactor = learned(values.iter().map(String::as_str));
        let mut hidden = vec![false; text.len()];
        for value in &values {
            for at in 0..text.len() {
                if text[at..].starts_with(value.as_str()) {
                    hidden[at..at + value.len()].fill(true);
                }
            }
        }
        let plain = |shown: &str| shown.replace(MASK, "");
        let want: String = text.char_indices().filter(|&(i, _)| !hidden[i]).map(|(_, c)| c).collect();
        let whole = redactor.redact(&text).into_string();
        prop_assert_eq!(plain(&whole), want.clone());
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(plain(&pieces(&redactor, &text, &cuts)), want);
    }
}

#[test]
fn control_characters_are_left_out_and_hide_nothing() {
    let secret = "correct-horse-\u{1b}battery-9";
    let redactor = learned([secret]);
    for (text, shown) in [
        (
            "a\u{0}b\u{1b}[31mred\u{7f} \u{9b}1m\tc\r\nd",
            "abred \tc\r\nd",
        ),
        ("Zürich \u{a0}µ", "Zürich \u{a0}µ"),
        ("pass\u{0}word: hunter2-really", "password: [redacted]"),
        ("correct-\u{8}horse-battery-9", "[redacted]"),
    ] {
        assert_eq!(redactor.redact(text).as_str(), shown);
        let each: Vec<usize> = (1..text.len()).collect();
        assert_eq!(pieces(&redactor, text, &each), shown);
    }
}

#[test]
fn nearly_every_string_drawn_by_lot_is_masked_beside_its_word() {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let redactor = Redactor::default();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut missed = 0;
    const DRAWN: usize = 2000;
    for _ in 0..DRAWN {
        let drawn: String = (0..24)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                char::from(alphabet[(state >> 33) as usize % alphabet.len()])
            })
            .collect();
        let text = format!("the token is {drawn} today");
        missed += usize::from(redactor.redact(&text).as_str().contains(&drawn));
    }
    // One or two in a hundred have no digit, and as many look like a name in code.
    assert!(missed * 25 <= DRAWN, "{missed} of {DRAWN}");
}

fn learned<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
    let redactor = Redactor::default();
    redactor.learn(secrets);
    redactor
}

#[test]
fn what_is_learned_holds_for_clones_and_open_streams() {
    let redactor = Redactor::new([("A_KEY", "of the start")]);
    let clone = redactor.clone();
    let mut stream = redactor.stream();
    // Its beginning came before it was known: what has not been shown is looked at again.
    let before = stream.push("see https://quiet");
    assert_eq!(clone.redact("quiet-words").as_str(), "quiet-words");
    let generation = redactor.generation();
    clone.learn(["quiet-words"]);
    assert_ne!(redactor.generation(), generation);
    assert_eq!(redactor.redact("of quiet-words").as_str(), "of [redacted]");
    let mut shown = before.map(Redacted::into_string).unwrap_or_default();
    shown.extend(
        stream
            .push("-words, then quiet-")
            .map(Redacted::into_string),
    );
    shown.extend(
        stream
            .push("words and of the start")
            .map(Redacted::into_string),
    );
    shown += stream.finish().as_str();
    assert_eq!(shown, format!("see https://{MASK}, then {MASK} and {MASK}"));
    // Nothing new: whoever keeps redacted text may go on doing so.
    let generation = redactor.generation();
    clone.learn(["quiet-words", "short"]);
    assert_eq!(redactor.generation(), generation);
}

#[test]
fn the_bound_of_values_forgets_what_was_learned_first_and_never_the_environment() {
    let redactor = Redactor::new([("A_KEY", "of the start")]);
    for n in 0..1500 {
        redactor.learn([format!("learned value {n}").as_str()]);
    }
    assert!(redactor.values().len() <= MAX_VALUES);
    let text = "of the start, learned value 1499, learned value 0";
    assert_eq!(
        redactor.redact(text).as_str(),
        format!("{MASK}, {MASK}, learned value 0")
    );
}
