//! A command line under rules: a ruling for any text, twice the same; what is allowed has, by a second and simpler
//! reading, only allowed commands; what denies is found in front of anything.

use store::settings::Permission;
use tools::policy::{Rules, Ruling, Why};

const ALLOW: [&str; 3] = ["ls", "echo", "cat"];
const DENY: &str = "git push";

/// Checks an input. Says the ruling.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> &'static str {
    let Ok(line) = std::str::from_utf8(data) else {
        return "no text";
    };
    let rules = Rules::new(Permission::Ask, ALLOW, [DENY]);
    let judge =
        |line: &str| rules.judge(line, &|path| !path.starts_with('/') && !path.contains(".."));
    let ruling = judge(line);
    // On a loaded machine a reading may not answer in time.
    let late = Ruling::Asks(Why::Complex);
    let again = judge(line);
    assert!(
        again == ruling || again == late || ruling == late,
        "{again:?} {ruling:?}"
    );
    let is_denied = |line: &str| {
        let found = judge(line);
        found == Ruling::Denied(DENY.to_owned()) || found == late
    };
    assert!(
        is_denied(&format!("{DENY}; {line}")),
        "in front of anything"
    );
    if ruling == Ruling::Allowed {
        let commands = commands(line);
        assert!(!commands.is_empty());
        for words in commands {
            assert!(ALLOW.contains(&words[0].as_str()), "{words:?}");
        }
        // The same commands behind something that runs its arguments.
        let quoted = line.replace('\'', "'\\''");
        assert!(is_denied(&format!("sh -c '{DENY}; {quoted}'")), "as a text");
    }
    match ruling {
        Ruling::Allowed => "allowed",
        Ruling::Denied(_) => "denied",
        Ruling::Default => "default",
        Ruling::Asks(Why::Substitution) => "substitution",
        Ruling::Asks(Why::Redirection) => "redirection",
        Ruling::Asks(Why::Unknown) => "unknown",
        Ruling::Asks(Why::Characters) => "characters",
        Ruling::Asks(Why::Complex) => "complex",
    }
}

/// The words of each command of a plain line, quotes taken away, without what is redirected.
///
/// # Panics
/// On anything that no plain line has.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    // The next word is a file, or a descriptor.
    let mut redirected = false;
    let line = line.to_owned() + "\n";
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>') {
            let is_redirection = matches!(c, '<' | '>') || (c == '&' && chars.peek() == Some(&'>'));
            let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
            let ended = word
                .take()
                .filter(|word| !(is_redirection && is_number(word)));
            if let Some(word) = ended
                && !std::mem::take(&mut redirected)
                && let Some(command) = commands.last_mut()
            {
                command.push(word);
            }
            if is_redirection {
                let more: String =
                    std::iter::from_fn(|| chars.next_if(|c| "<>&|".contains(*c))).collect();
                assert!(c != '<' || !more.starts_with('<'), "a here-document");
                assert_ne!(chars.peek(), Some(&'('), "a substitution");
                redirected = !more.ends_with('&') || chars.next_if_eq(&'-').is_none();
            } else if !matches!(c, ' ' | '\t') {
                commands.push(Vec::new());
            }
            continue;
        }
        match c {
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '\\' if chars.next_if_eq(&'\n').is_some() => {}
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '\'' => word
                .get_or_insert_default()
                .extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match c {
                        '`' => panic!("a substitution"),
                        '\\' => word.extend(chars.next()),
                        '$' => variable(&mut chars, word),
                        c => word.push(c),
                    }
                }
            }
            '$' => {
                assert_ne!(chars.peek(), Some(&'"'), "shells differ");
                if chars.next_if_eq(&'\'').is_some() {
                    let text: String = chars.by_ref().take_while(|c| *c != '\'').collect();
                    assert!(!text.contains('\\'), "shells differ");
                    word.get_or_insert_default().push_str(&text);
                } else {
                    variable(&mut chars, word.get_or_insert_default());
                }
            }
            '`' | '(' | ')' => panic!("a substitution or a block"),
            c => word.get_or_insert_default().push(c),
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// A variable by its name stays as it is written.
fn variable(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, word: &mut String) {
    word.push('$');
    match chars.peek() {
        Some('(' | '[') => panic!("a substitution"),
        Some('{') => {
            let name: String = chars.by_ref().take_while(|c| *c != '}').skip(1).collect();
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            assert!(
                is_name || name.chars().count() == 1,
                "more than a name: {name}"
            );
        }
        _ => {}
    }
}
