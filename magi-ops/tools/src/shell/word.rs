//! Words of a command line: what the shell makes of quotes and escapes, and what nobody knows before it runs.
//! What a word means to a command is no matter of this one.

use std::collections::BTreeMap;

/// A word as the shell will see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Quotes and escapes resolved; `None` where the shell puts something else in its place: a variable, a
    /// pattern, braces, a home directory, a substitution.
    pub(crate) literal: Option<String>,
    /// The same with what the line itself gives variables put in; those of the environment stay as `${name}`.
    pub(crate) value: Option<String>,
    /// It has a variable that the line sets to what isn't known.
    pub(crate) composes: bool,
    /// Something in it runs a command, or could: a substitution of any kind, arithmetic, or an expansion that
    /// is more than a variable's name.
    pub(crate) substitutes: bool,
    /// Not every shell reads it alike, or it is `$_`, which the line itself decides.
    pub(crate) is_odd: bool,
    written: String,
}

impl Word {
    /// From a word as it is written, with its quotes.
    pub(crate) fn read(written: &str, variables: &Variables) -> Self {
        let mut reader = Reader {
            variables,
            rest: written.chars().peekable(),
            text: String::new(),
            known: true,
            put_in: false,
            closes: written.contains(']'),
            lists: written.contains(',') || written.contains(".."),
            word: Self::default(),
        };
        reader.read();
        Self {
            literal: (reader.known && !reader.put_in).then(|| reader.text.clone()),
            value: reader.known.then_some(reader.text),
            written: written.to_owned(),
            ..reader.word
        }
    }

    /// It begins with what parts words and commands, unquoted.
    pub(crate) fn is_operator(&self) -> bool {
        self.written
            .starts_with([';', '&', '|', '<', '>', '(', ')', '\n'])
    }

    /// What is known of it: its value, else as it is written.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(&self.written)
    }

    /// Its value, where nothing of the environment is in it. One without text may be no word at all.
    pub(crate) fn known(&self) -> Option<&str> {
        let value = self.value.as_deref();
        let is_known = |value: &&str| !value.is_empty() && !value.contains("${");
        self.literal.as_deref().or(value.filter(is_known))
    }
}

/// What a line sets variables to: nothing where that isn't known.
pub(crate) type Variables = BTreeMap<String, Option<String>>;

struct Reader<'a> {
    variables: &'a Variables,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    text: String,
    known: bool,
    /// Something that is known is put in.
    put_in: bool,
    /// There is a `]` somewhere.
    closes: bool,
    /// What braces need to be a list.
    lists: bool,
    word: Word,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut before = None;
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c) => self.text.push(c),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '$' => self.dollar(false),
                '`' | '<' | '>' => self.substitution(),
                '(' | ')' => {
                    // An array, or a pattern of the shell's extensions.
                    self.known = false;
                    self.word.is_odd = true;
                }
                // Without its other end it stands for itself, as the command `[` does.
                '[' if !self.closes => self.text.push(c),
                '*' | '?' | '[' => {
                    self.known = false;
                    self.text.push(c);
                }
                // Only in front and behind what assigns or lists.
                '~' if matches!(before, None | Some('=' | ':')) => {
                    self.put_in = true;
                    self.text.push(c);
                }
                // Braces that list nothing stay as they are.
                '{' if self.lists => self.known = false,
                c => self.text.push(c),
            }
            before = Some(c);
        }
    }

    fn substitution(&mut self) {
        self.known = false;
        self.word.substitutes = true;
    }

    fn single_quoted(&mut self) {
        for c in self.rest.by_ref() {
            if c == '\'' {
                return;
            }
            self.text.push(c);
        }
    }

    fn double_quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.text.push(c),
                    Some(c) => self.text.extend(['\\', c]),
                },
                '$' => self.dollar(true),
                '`' => self.substitution(),
                c => self.text.push(c),
            }
        }
    }

    /// Behind a `$`, in double quotes or outside of them.
    fn dollar(&mut self, quoted: bool) {
        match self.rest.peek().copied() {
            Some('\'') if !quoted => {
                self.rest.next();
                self.ansi_quoted();
            }
            Some('"') if !quoted => {
                self.rest.next();
                self.word.is_odd = true;
                self.double_quoted();
            }
            Some('{') => {
                self.rest.next();
                let name: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
                self.word.is_odd |= name == "_";
                if is_name(&name) || is_special(&name) {
                    self.variable(&name, quoted);
                } else {
                    self.substitution();
                }
            }
            Some('(' | '[') => self.substitution(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let mut name = String::new();
                while let Some(c) = self.rest.next_if(part) {
                    name.push(c);
                }
                self.word.is_odd |= name == "_";
                self.variable(&name, quoted);
            }
            Some(c) if is_special(c.encode_utf8(&mut [0; 4])) => {
                self.rest.next();
                self.variable(c.encode_utf8(&mut [0; 4]), quoted);
            }
            _ => self.text.push('$'),
        }
    }

    /// Without quotes the shell takes a value apart, and for a pattern.
    fn variable(&mut self, name: &str, quoted: bool) {
        self.put_in = true;
        let is_plain =
            |value: &str| !value.contains(|c: char| c.is_whitespace() || "*?[".contains(c));
        match self.variables.get(name) {
            None => self.text.extend(["${", name, "}"]),
            Some(Some(value)) if quoted || is_plain(value) => self.text.push_str(value),
            Some(_) => {
                self.known = false;
                self.word.composes = true;
            }
        }
    }

    /// `$'…'`, behind the quote. What is no text, or more than plain characters in another shell, is not known.
    fn ansi_quoted(&mut self) {
        let mut ended = false;
        let mut take = |reader: &mut Self, c: char| {
            // The shell ends the text here, not the quotes.
            ended |= c == '\0';
            if !ended {
                reader.text.push(c);
            }
        };
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => return,
                '\\' => {
                    self.word.is_odd = true;
                    match self.escape() {
                        Some(c) => take(self, c),
                        None => self.known = false,
                    }
                }
                c => take(self, c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        Some(match c {
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => c,
            '0'..='7' => self.number(c.to_digit(8)?, 8, 2)?,
            'x' => self.number(0, 16, 2)?,
            'u' => char::from_u32(self.digits(0, 16, 4)?)?,
            'U' => char::from_u32(self.digits(0, 16, 8)?)?,
            'c' => char::from_u32(u32::from(self.rest.next()?) & 0x1f)?,
            _ => return None,
        })
    }

    /// One byte by its number; beyond ASCII it is part of something else.
    fn number(&mut self, first: u32, radix: u32, most: usize) -> Option<char> {
        char::from_u32(self.digits(first, radix, most)? & 0xff).filter(char::is_ascii)
    }

    fn digits(&mut self, first: u32, radix: u32, most: usize) -> Option<u32> {
        let mut value = first;
        let mut any = radix == 8;
        for _ in 0..most {
            let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.rest.next();
            value = value.checked_mul(radix)?.checked_add(digit)?;
            any = true;
        }
        any.then_some(value)
    }
}

/// A variable's name.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A parameter that is none by name: `$?`, `$1`.
fn is_special(text: &str) -> bool {
    matches!(text, "?" | "#" | "$" | "!" | "@" | "*" | "-")
        || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_are_resolved() {
        for (written, literal) in [
            ("git", "git"),
            ("gi\\t", "git"),
            ("\"git\"", "git"),
            ("'g'i\"t\"", "git"),
            ("$'git'", "git"),
            ("$'\\147it'", "git"),
            ("$'\\x67\\u0069t'", "git"),
            ("$'git\\0rest'", "git"),
            ("$\"git\"", "git"),
            ("g\\\nit", "git"),
            ("\"a\\b\\\"\"", "a\\b\""),
            ("'$(x)'", "$(x)"),
            ("\\$x", "$x"),
            ("a$", "a$"),
            ("\"$\"", "$"),
            ("{}", "{}"),
            ("HEAD^{tree}", "HEAD^{tree}"),
            ("stash@{0}", "stash@{0}"),
            ("a~", "a~"),
            ("[", "["),
            ("a]", "a]"),
            ("''", ""),
            ("a=b", "a=b"),
            ("#", "#"),
        ] {
            let word = Word::read(written, &Variables::new());
            assert_eq!(word.literal.as_deref(), Some(literal), "{written}");
            assert!(!word.substitutes, "{written}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_text() {
        for (written, substitutes) in [
            ("$X", false),
            ("${X}", false),
            ("\"$X\"", false),
            ("$?", false),
            ("$1x", false),
            ("*.rs", false),
            ("gi?", false),
            ("g[i]t", false),
            ("{git,push}", false),
            ("a{1..3}", false),
            ("~/x", false),
            ("PATH=~/x", false),
            ("$(git)", true),
            ("\"$(git)\"", true),
            ("`git`", true),
            ("\"`git`\"", true),
            ("${X:-y}", true),
            ("${!X}", true),
            ("${X@P}", true),
            ("${X[0]}", true),
            ("$((1))", true),
            ("$[1]", true),
            ("<(git)", true),
            (">(git)", true),
            ("${}", true),
            ("$'\\xff'", false),
        ] {
            let word = Word::read(written, &Variables::new());
            assert_eq!(word.literal, None, "{written}");
            assert_eq!(word.substitutes, substitutes, "{written}");
        }
    }

    #[test]
    fn values_that_the_line_sets_are_put_in() {
        let set = |(name, value): (&str, Option<&str>)| (name.to_owned(), value.map(str::to_owned));
        let variables = [
            ("x", Some("1")),
            ("y", Some("a b")),
            ("z", None),
            ("h", Some("${HOME}/b")),
        ];
        let variables: Variables = variables.into_iter().map(set).collect();
        for (written, value, known) in [
            ("X=$x", Some("X=1"), Some("X=1")),
            ("${x}$x", Some("11"), Some("11")),
            ("\"$y\"", Some("a b"), Some("a b")),
            ("$y", None, None),
            ("$z", None, None),
            ("$h/c", Some("${HOME}/b/c"), None),
            ("$HOME", Some("${HOME}"), None),
            ("$x$?", Some("1${?}"), None),
            ("~/b", Some("~/b"), Some("~/b")),
            ("$x*", None, None),
        ] {
            let word = Word::read(written, &variables);
            assert_eq!(
                (word.value.as_deref(), word.known()),
                (value, known),
                "{written}"
            );
            assert_eq!(word.literal, None, "{written}");
            assert_eq!(word.composes, ["$y", "$z"].contains(&written), "{written}");
        }
    }

    #[test]
    fn what_shells_read_differently_is_odd() {
        for (written, odd) in [
            ("$'git'", false),
            ("$'\\''", true),
            ("$\"git\"", true),
            ("a=(b)", true),
            ("$_", true),
            ("\"${_}\"", true),
            ("$_x", false),
            ("'git'", false),
        ] {
            assert_eq!(
                Word::read(written, &Variables::new()).is_odd,
                odd,
                "{written}"
            );
        }
    }
}
