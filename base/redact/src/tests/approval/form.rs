//! The form of the line: blanks are said, the middle is left out, and no two commands look the same.

use super::*;

#[test]
fn runs_of_blanks_are_said_and_collapsed() {
    for (command, line) in [
        ("ls", "ls"),
        ("ls -l", "ls -l"),
        ("a  b", "a ␣×2 b"),
        ("a\nb", "a ⏎ b"),
        ("a\n  b", "a ⏎␣×2 b"),
        ("a \n\t\n b", "a ␣⏎⇥⏎␣ b"),
        (" a ", "␣ a ␣"),
        ("a\\ \nb", "a\\ ␣⏎ b"),
        ("a\n\n\nb", "a ⏎×3 b"),
        ("a\tb", "a ⇥ b"),
        ("# x\n rm", "# x ⏎␣ rm"),
        ("  a", "␣×2 a"),
        ("a\n", "a ⏎"),
        ("a;b", "a;b"),
        ("a ; b", "a ; b"),
        ("a\u{200b}b", "a\\u{200b}b"),
        ("a\r\nb", "a\\u{d} ⏎ b"),
        ("⏎", "\\u{23ce}"),
        ("\\u{200b}", "\\u{5c}u{200b}"),
        ("", "bash"),
    ] {
        assert_eq!(shown(command), line, "{command:?}");
    }
    let far = format!("ls{}; rm -rf ~", " ".repeat(2000));
    assert_eq!(shown(&far), "ls ␣×2000 ; rm -rf ~");
    let below = format!("ls{}rm -rf ~", "\n".repeat(220));
    assert_eq!(shown(&below), "ls ⏎×220 rm -rf ~");
    let beside = format!("a\n{}rm -rf ~", " ".repeat(400));
    assert_eq!(shown(&beside), "a ⏎␣×400 rm -rf ~");
}

#[test]
fn the_middle_is_left_out_and_said() {
    let command = format!("echo {}; rm -rf ~", "word ".repeat(400));
    let line = Redactor::default().question("bash", &command, Reading::CommandLine, 960);
    let line = line.as_str();
    assert!(line.len() <= 960, "{}", line.len());
    let start = format!("bash, {} bytes: echo word word", command.len());
    assert!(line.starts_with(&start), "{line}");
    let said = line.ends_with("; rm -rf ~") && line.contains(" bytes left out…] ");
    assert!(said, "{line}");
}

/// Spaces, tabs, line ends, backslashes and letters in all their orders, and what looks like our own marks.
#[test]
fn no_two_commands_look_the_same() {
    let mut texts = vec![String::new()];
    let mut seen = std::collections::HashMap::new();
    for _ in 0..6 {
        let longer = texts.iter().flat_map(|text| {
            [
                " ", "\n", "\t", "\\", "a", "u{200b}", "\u{200b}", "⏎", "×2", "␣",
            ]
            .map(|part| format!("{text}{part}"))
        });
        texts = longer.collect();
        texts.truncate(20_000);
        for text in &texts {
            let other = seen.insert(shown(text), text.clone());
            assert!(
                other.as_ref().is_none_or(|other| other == text),
                "{text:?} {other:?}"
            );
        }
    }
}
