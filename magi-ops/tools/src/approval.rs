//! What a person reads before a call runs: one line that hides nothing of it, within any bound.
//! Who is asked, and whether, is decided above.

use std::fmt::Write;

/// Most characters of blanks that may stand unsaid behind a line end: an indentation.
const INDENTATION: usize = 16;

/// What a person is asked about one call. Not redacted; only [`Self::render`] makes it a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is done, in our own words: `bash`, `write outside the workspace`.
    lead: String,
    /// On what: a command, a path, a pattern and where it is looked for. Nothing of it is left out silently.
    subject: String,
    is_command: bool,
}

impl Question {
    /// `lead` is our own words, `subject` the model's.
    pub fn new(lead: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            lead: lead.into(),
            subject: subject.into(),
            is_command: false,
        }
    }

    /// The same about a command line.
    pub fn command(lead: impl Into<String>, line: impl Into<String>) -> Self {
        Self {
            is_command: true,
            ..Self::new(lead, line)
        }
    }

    /// The line that a person reads, of at most `bytes` (256 at least). `redact` sees the whole subject; in a
    /// command line, what ends a command is set apart by blanks, so that it can't be taken for a part of a
    /// secret.
    ///
    /// Runs of blanks and line ends become `␣×N` and `⏎`, and what nobody sees becomes its number, `\u{200b}`.
    /// What is too long then loses its middle: the line says how many bytes were left out and how long the
    /// subject is.
    pub fn render(&self, redact: impl FnOnce(&str) -> String, bytes: usize) -> String {
        let shown = match self.is_command {
            true => visible(&redact(&apart(&self.subject))),
            false => visible(&redact(&self.subject)),
        };
        let lead = visible(&self.lead);
        if shown.is_empty() {
            return clip(&lead, bytes).to_owned();
        }
        let whole = format!("{lead}: {shown}");
        if whole.len() <= bytes {
            return whole;
        }
        let lead = format!("{}, {} bytes: ", clip(&lead, 64), self.subject.len());
        // Room for the longest number.
        let room = bytes.saturating_sub(lead.len() + mark(usize::MAX).len());
        let head = clip(&shown, room - room / 3);
        let tail = &shown[shown.ceil_char_boundary(shown.len() - (room / 3).min(shown.len()))..];
        let left_out = shown.len() - head.len() - tail.len();
        format!("{lead}{head}{}{tail}", mark(left_out))
    }
}

fn mark(left_out: usize) -> String {
    format!(" […{left_out} bytes left out…] ")
}

fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The text with a blank in front of whatever ends a word of a command outside of quotes.
fn apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut quote, mut is_escaped) = (None, false);
    for c in text.chars() {
        if is_escaped {
            is_escaped = false;
        } else if let Some(open) = quote {
            is_escaped = c == '\\' && open == '"';
            if c == open {
                quote = None;
            }
        } else {
            match c {
                '\\' => is_escaped = true,
                '\'' | '"' => quote = Some(c),
                ';' | '&' | '|' | ')' | '<' | '>' => {
                    let before = out.chars().next_back();
                    let joins = |c: char| c.is_whitespace() || "&|<>;".contains(c);
                    if before.is_some_and(|c| !joins(c)) {
                        out.push(' ');
                    }
                }
                _ => {}
            }
        }
        out.push(c);
    }
    out
}

/// The text as one line in which everything is seen.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_end_matches(is_space).chars().peekable();
    while let Some(c) = chars.next() {
        if !is_space(c) {
            match c {
                // Our own marks must be ours.
                '⏎' | '␣' | '⇥' => out.extend(c.escape_unicode()),
                c if is_invisible(c) => out.extend(c.escape_unicode()),
                c => out.push(c),
            }
            continue;
        }
        let (mut ends, mut blanks, mut tabs) = (0_usize, 0_usize, 0_usize);
        let mut next = Some(c);
        while let Some(c) = next {
            match c {
                '\n' => ends += 1,
                '\t' => tabs += 1,
                _ => blanks += 1,
            }
            next = chars.next_if(|c| is_space(*c));
        }
        run(&mut out, ends, blanks, tabs);
    }
    out
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

/// One run of blanks, tabs and line ends.
fn run(out: &mut String, ends: usize, blanks: usize, tabs: usize) {
    let times = |out: &mut String, mark: &str, count: usize| {
        let _ = match count {
            1 => write!(out, "{mark}"),
            _ => write!(out, "{mark}×{count}"),
        };
    };
    if !out.is_empty() {
        out.push(' ');
    }
    let before = out.len();
    if ends > 0 {
        times(out, "⏎", ends);
    }
    if tabs > 0 && (ends == 0 || tabs + blanks > INDENTATION) {
        times(out, "⇥", tabs);
    }
    if blanks > 0
        && (if ends == 0 {
            blanks + tabs > 1
        } else {
            blanks + tabs > INDENTATION
        })
    {
        times(out, "␣", blanks);
    }
    if out.len() > before {
        out.push(' ');
    }
}

/// Whether a character is not seen, looks like a blank and is none, or rearranges what stands around it: control
/// and format characters, directions, joiners, fillers, selectors of variants, tags, other blanks, and what the
/// standard leaves to private use or to nobody.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
            | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(command: &str) -> String {
        Question::command("bash", command).render(str::to_owned, 960)
    }

    #[test]
    fn runs_are_said_and_collapsed() {
        for (command, line) in [
            ("ls", "bash: ls"),
            ("ls -l", "bash: ls -l"),
            ("a  b", "bash: a ␣×2 b"),
            ("a\nb", "bash: a ⏎ b"),
            ("a\n  b", "bash: a ⏎ b"),
            ("a\n\n\nb", "bash: a ⏎×3 b"),
            ("a\tb", "bash: a ⇥ b"),
            ("# x\n rm", "bash: # x ⏎ rm"),
            ("  a", "bash: ␣×2 a"),
            ("a\n", "bash: a"),
            ("a;b", "bash: a ;b"),
            ("a ; b", "bash: a ; b"),
            ("a&&b", "bash: a &&b"),
            ("'a;b'", "bash: 'a;b'"),
            ("a\u{200b}b", "bash: a\\u{200b}b"),
            ("a\r\nb", "bash: a\\u{d} ⏎ b"),
            ("⏎", "bash: \\u{23ce}"),
            ("", "bash"),
        ] {
            assert_eq!(shown(command), line, "{command:?}");
        }
        let far = format!("ls{}; rm -rf ~", " ".repeat(2000));
        assert_eq!(shown(&far), "bash: ls ␣×2000 ; rm -rf ~");
        let below = format!("ls{}rm -rf ~", "\n".repeat(220));
        assert_eq!(shown(&below), "bash: ls ⏎×220 rm -rf ~");
        let beside = format!("a\n{}rm -rf ~", " ".repeat(400));
        assert_eq!(shown(&beside), "bash: a ⏎␣×400 rm -rf ~");
    }

    #[test]
    fn what_ends_a_command_is_no_part_of_a_secret() {
        let redact = |text: &str| {
            let words: Vec<_> = text
                .split(' ')
                .map(|word| {
                    if word.starts_with("TOKEN=") {
                        "TOKEN=[redacted]"
                    } else {
                        word
                    }
                })
                .collect();
            words.join(" ")
        };
        let line = Question::command("bash", "export TOKEN=abc; rm -rf zz").render(redact, 960);
        assert_eq!(line, "bash: export TOKEN=[redacted] ; rm -rf zz");
    }

    #[test]
    fn the_middle_is_left_out_and_said() {
        let command = format!("echo {}; rm -rf ~", "word ".repeat(400));
        let line = shown(&command);
        assert!(line.len() <= 960, "{}", line.len());
        let start = format!("bash, {} bytes: echo word word", command.len());
        assert!(line.starts_with(&start), "{line}");
        assert!(
            line.ends_with("; rm -rf ~") && line.contains(" bytes left out…] "),
            "{line}"
        );
    }

    proptest! {
        #[test]
        fn a_line_is_bounded_and_hides_nothing(
            text in "[ -~\\n\\t]{0,40}|(\\PC|\\pC| |\n){0,60}",
            times in 1_usize..60,
            bytes in 256_usize..1024,
        ) {
            let text = text.repeat(times);
            let line = Question::command("bash", text.clone()).render(str::to_owned, bytes);
            prop_assert!(line.len() <= bytes, "{} of {bytes}", line.len());
            prop_assert!(!line.chars().any(is_invisible), "{line:?}");
            let last = text.trim_end_matches(is_space).chars().rev().take_while(char::is_ascii_alphanumeric).count().min(20);
            let tail = &text.trim_end_matches(is_space)[text.trim_end_matches(is_space).len() - last..];
            prop_assert!(line.ends_with(tail), "{line:?} {tail:?}");
            // What is left out is said.
            let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).count();
            prop_assert!(line.contains("bytes left out") || letters(&line) >= letters(&text));
        }
    }
}
