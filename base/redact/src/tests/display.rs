//! What leaves every text that is shown, and what stays in it.

use super::*;

fn each_way(text: &str, want: &str) {
    let redactor = Redactor::default();
    assert_eq!(redactor.redact(text).as_str(), want, "{text:?}");
    for cut in 1..text.len() {
        assert_eq!(pieces(&redactor, text, &[cut]), want, "cut at {cut}");
    }
    let each: Vec<usize> = (1..text.len()).collect();
    assert_eq!(pieces(&redactor, text, &each), want);
}

#[test]
fn escape_sequences_leave_whole() {
    for (text, want) in [
        ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
        ("a\u{1b}[38;2;1;2;3mred", "ared"),
        ("a\u{1b}[?25l\u{1b}[2 qb", "ab"),
        ("a\u{9b}1mb", "ab"),
        ("a\u{1b}]0;title\u{7}b", "ab"),
        (
            "a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b",
            "alinkb",
        ),
        ("a\u{1b}]52;c;aGVsbG8=\u{9c}b", "ab"),
        ("a\u{9d}0;title\u{9c}b", "ab"),
        (
            "a\u{1b}Pq#0\u{1b}\\b\u{1b}_x\u{1b}\\c\u{1b}^y\u{1b}\\d",
            "abcd",
        ),
        ("a\u{1b}(Bb\u{1b}cc\u{1b}7d", "abcd"),
        // What is broken ends with its line.
        ("a\u{1b}]0;title\nb", "a\nb"),
        ("a\u{1b}[31\nb", "a\nb"),
        ("a\u{1b}\u{1b}[1mb\u{1b}", "ab"),
        ("a\u{1b}é", "aé"),
    ] {
        each_way(text, want);
    }
}

#[test]
fn what_hides_or_turns_leaves() {
    for c in [
        '\u{202a}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{200e}',
        '\u{200f}',
        '\u{61c}',
        '\u{200b}',
        '\u{2060}',
        '\u{feff}',
        '\u{ad}',
        '\u{34f}',
        '\u{180e}',
        '\u{3164}',
        '\u{115f}',
        '\u{e0041}',
        '\u{206a}',
        '\u{fff9}',
        '\u{0}',
        '\u{8}',
        '\u{7f}',
        '\u{85}',
        '\u{200d}',
        '\u{200c}',
        '\u{fe0f}',
        '\u{e0101}',
    ] {
        each_way(&format!("pass{c}{c}word b{c}"), "password b");
        each_way(
            &format!("see https://u:hunter{c}2@h/x"),
            "see https://u:[redacted]@h/x",
        );
    }
    each_way("a\u{2028}b\u{2029}c", "a\nb\nc");
    for c in [
        '\u{2800}',
        '\u{fdd0}',
        '\u{ffff}',
        '\u{1fffe}',
        '\u{10ffff}',
    ] {
        each_way(&format!("a{c}b"), "ab");
    }
}

#[test]
fn a_carriage_return_writes_over_nothing() {
    for (text, want) in [
        ("10%\r20%\r\nend", "10%\n20%\r\nend"),
        ("rm -rf x\rls       ", "rm -rf x\nls       "),
        ("a\r\r\nb\r", "a\n\r\nb\n"),
        ("a\r\u{200d}\nb", "a\r\nb"),
        ("a\r\u{1b}[1mb", "a\nb"),
    ] {
        each_way(text, want);
    }
}

#[test]
fn joiners_stay_where_they_join() {
    for text in [
        "👩\u{200d}💻 and 👨\u{200d}👩\u{200d}👧",
        "❤\u{fe0f}\u{200d}🔥 ☀\u{fe0f}",
        "🏳\u{fe0f}\u{200d}🌈",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "1\u{fe0f}\u{20e3}",
        "“quotes” — dashes… 日本語 한국어 العربية",
    ] {
        each_way(text, text);
    }
    each_way("👩\u{200d}\u{200d}💻\u{200d}", "👩\u{200d}💻");
    each_way("日\u{200d}本 a\u{fe0f}", "日本 a");
}

#[test]
fn names_are_presentable_as_they_are_or_not_at_all() {
    let redactor = Redactor::default();
    assert!(redactor.is_presentable("claude-sonnet-4") && redactor.is_presentable("modèle 日本"));
    for name in [
        "a\u{202e}b",
        "a\tb",
        "a\u{1b}[31mb",
        "a\u{2028}b",
        &format!("sk{}{}", "-", noise(30)),
    ] {
        assert!(!redactor.is_presentable(name), "{name:?}");
    }
}

proptest! {
    /// Whatever comes, in whatever pieces: nothing that hides, turns or commands is shown.
    #[test]
    fn nothing_unshowable_is_shown(
        text in "(?s)[\u{1b}\\[\\]();0-9mA-Z\u{7}\u{9b}\u{9d}\u{202e}\u{2066}\u{200d}\u{fe0f}👩é \\n\\\\]{0,80}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let redactor = Redactor::default();
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let whole = redactor.redact(&text).into_string();
        prop_assert_eq!(&pieces(&redactor, &text, &cuts), &whole);
        let control = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\r') || matches!(c, '\u{202e}' | '\u{2066}')
        };
        prop_assert!(!whole.contains(control));
        // Twice is the same as once.
        prop_assert_eq!(redactor.redact(&whole).into_string(), whole);
    }
}
