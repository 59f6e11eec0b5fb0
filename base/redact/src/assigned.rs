//! Whether what is assigned to a word's name is a secret: `name = value` in its many notations, headers too.
//! The words stand in `words`, what a value looks like in `placeholder`, `code` and `random`.

use super::code::{contains, is_constant, is_expression, is_name_with, is_path, is_wordy};
use super::place::{closes_quote, is_line_of_env, is_literal};
use super::placeholder::{is_filled_in, is_message, is_placeholder};
use super::random::{is_mixed, is_random, is_uuid};
use super::tail::Tail;
use super::vocabulary::{list, lists};
use super::words::{Class, SESSION_BYTES, Word, in_name};
use super::{
    Found, MIN_VALUE_BYTES, WINDOW_BYTES, ends_with_ignoring_case, starts_with_ignoring_case, steps,
};

/// A quoted value is told by so many bytes: a stream and a whole text look at the same ones.
const QUOTED_BYTES: usize = 64;

/// Most backslashes before a quote: that of a string four strings deep has seven.
const LEVELS_BYTES: usize = 7;

/// Most pairs of a cookie header that are looked at, and most bytes of a name or a value in one.
const COOKIES: usize = 8;
const COOKIE_BYTES: usize = 64;

/// How a name and its value are joined.
#[derive(Clone, Copy, Default)]
struct Join {
    /// Blanks stand between.
    spaced: bool,
    colon: bool,
    /// `password == stored`: code about a value, which is one only when it is quoted.
    compared: bool,
    /// `Kind::Password => "..."`: what the name is shown as, more often than its value.
    shown: bool,
    /// The name stands in quotes of its own.
    wrapped: bool,
}

/// White space within a line.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r')
}

/// What may stand between a name and its operator: quotes, brackets, emphasis.
fn is_wrapping(c: char) -> bool {
    matches!(c, '\\' | ']' | '*' | '_') || closing(c).is_some() || "”’»」".contains(c)
}

fn is_operator(c: char) -> bool {
    matches!(c, ':' | '=' | '>' | '：' | '＝')
}

/// The quote that ends what `opening` begins.
fn closing(opening: char) -> Option<char> {
    const PAIRS: [&str; 8] = ["\"\"", "''", "``", "＂＂", "“”", "‘’", "«»", "「」"];
    let pair = PAIRS.iter().find(|pair| pair.starts_with(opening))?;
    pair.chars().nth(1)
}

impl Word<'_> {
    /// As in `.env` files and shells.
    fn is_variable(&self) -> bool {
        let name = &self.text[self.name.clone()];
        name.len() >= 3
            && name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    }

    /// Behind at most `most` characters of a kind.
    fn skip(&self, at: usize, kind: impl Fn(char) -> bool, most: usize) -> usize {
        let rest = &self.text[at..];
        let skipped = rest.chars().take(most).take_while(|&c| kind(c));
        let len = skipped.map(char::len_utf8).sum::<usize>();
        steps(len + 1);
        at + len
    }

    /// What a decision looks at.
    fn window(&self, from: usize, bytes: usize) -> &str {
        let rest = &self.text[from..];
        &rest[..rest.floor_char_boundary(bytes)]
    }

    /// Where the value begins, and how it is joined to the name.
    fn join(&self) -> Option<(usize, Join)> {
        let end = self.name.end;
        // Nothing else stands between.
        let blank = Join {
            spaced: true,
            ..Join::default()
        };
        if self.class == Class::Scheme {
            let at = self.skip(end, is_blank, 8);
            return (at > end).then_some((at, blank));
        }
        if self.class == Class::Password
            && let Some(quote) = self.sql()
        {
            return Some((quote, blank));
        }
        let wrapped = self.skip(end, is_wrapping, LEVELS_BYTES + 1);
        let named = self.skip(wrapped, is_blank, 8);
        let operator = self.skip(named, is_operator, 2);
        let sign = &self.text[named..operator];
        if operator == named && wrapped == end && named > end && self.is_option() {
            return Some((named, blank));
        }
        let before = &self.text.as_bytes()[..self.name.start];
        // `<password>@host`.
        let filled_in = sign == ">" && before.ends_with(b"<") && {
            let next = self.text[operator..].chars().next();
            next.is_some_and(|c| c.is_ascii_punctuation() && !"\"'<$".contains(c))
        };
        // A path in code is no assignment.
        if operator == named || sign == "::" || filled_in || self.is("identified by") {
            return None;
        }
        let wraps = self.text[end..wrapped].contains(['"', '\'', '`', '”', '’', '»', '」']);
        let symbol = before.ends_with(b":") && !before.ends_with(b"::");
        // `a->token > 1`, `token->value`, `Option<Token>`, `</token>`; `<password>` alone is one.
        let greater = sign.starts_with('>')
            && (named > end
                || self.text[..end].ends_with('-')
                || before.ends_with(b"</")
                || before.strip_suffix(b"<").is_some_and(|type_name| {
                    type_name.last().is_some_and(|&b| b.is_ascii_alphanumeric())
                }));
        let at = self.skip(operator, |c| c == '*', 2);
        let at = self.skip(at, is_blank, 8);
        let join = Join {
            spaced: at > operator || named > end,
            colon: sign.ends_with([':', '：']),
            compared: greater || matches!(sign, "==" | "=>"),
            shown: sign == "=>" && !wraps && !symbol,
            wrapped: wraps,
        };
        Some((at, join))
    }

    /// `IDENTIFIED BY 'x'`, `WITH PASSWORD 'x'`, `PASSWORD('x')`: where the quote stands.
    fn sql(&self) -> Option<usize> {
        let end = self.name.end.max(self.end);
        let call =
            self.text[self.name.start..end] == *"PASSWORD" && self.text[end..].starts_with('(');
        let at = self.skip(end + usize::from(call), is_blank, 8);
        let at = match starts_with_ignoring_case(&self.text.as_bytes()[at..], "by ") {
            true => at + 3,
            false => at,
        };
        let before = self.text[..self.name.start].trim_end();
        let told = self.is("identified by")
            || self.word() == "PASSWORD"
            || at > self.end + 3
            || ends_with_ignoring_case(before.as_bytes(), "with");
        (told && at > self.name.end && self.text[at..].starts_with('\'')).then_some(at)
    }

    /// `--token value`: an option of a command has a blank where others have a sign.
    fn is_option(&self) -> bool {
        let name = &self.text[self.name.clone()];
        let dashes = name.len() - name.trim_start_matches('-').len();
        let before = self.text[..self.name.start + dashes].strip_suffix("--");
        before.is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace))
    }

    /// `name = value`. Returns where what it masked ends.
    pub(super) fn assigned(&self, found: &mut Found) -> Option<usize> {
        let (at, join) = self.join()?;
        if self.class == Class::Header {
            // `Authorization: Bearer x`: the scheme itself is no secret.
            let opened = self.skip(at, is_wrapping, 4);
            let behind = list("schemes").iter().filter_map(|scheme| {
                let is = starts_with_ignoring_case(&self.text.as_bytes()[opened..], scheme);
                let end = is.then_some(opened + scheme.len())?;
                Some(self.skip(end, is_blank, 8)).filter(|value| *value > end)
            });
            if let Some(from) = behind.into_iter().next() {
                let secret = |value: &str| value.len() >= 4 && !is_wordy(value);
                return self.unquoted(from, false, found, secret);
            }
        }
        if self.class == Class::Cookie {
            let code = !join.colon && !join.wrapped;
            return self.cookies(self.skip(at, is_wrapping, 4), code, found);
        }
        let opened = self.skip(at, |c| c == '\\', LEVELS_BYTES);
        let mark = self.text[opened..].chars().next();
        if let Some((mark, closing)) = mark.and_then(|mark| Some((mark, closing(mark)?))) {
            let (from, level) = (opened + mark.len_utf8(), opened - at);
            let tail = (Tail::quoted(closing, level), QUOTED_BYTES);
            return self.value(from, tail, found, |value, _| {
                // `` TOKEN=`cat file` ``: what a shell runs.
                let command = closing == '`' && !join.spaced && !join.colon && value.contains(' ');
                self.is_quoted(value, join)
                    && !command
                    && !self.is_harmless(value)
                    && (join.wrapped
                        || !closes_quote(self.text, self.name.start, from, closing, level))
            });
        }
        if join.compared && self.class != Class::Scheme {
            return None;
        }
        // Of what may be a session's only `REDIS_AUTH` is one; `XDG_SESSION=wayland` is none.
        let variable = self.is_variable() && !join.spaced && !join.colon;
        self.unquoted(at, variable, found, |value| match variable {
            true => self.is_variables(value),
            false => self.is_assigned(value, at, join),
        })
    }

    /// Whether `value` is the secret of a variable of a shell or an `.env` file.
    fn is_variables(&self, value: &str) -> bool {
        let path = ["/", "./", "../", "~", "http://", "https://"];
        if path.iter().any(|begin| value.starts_with(begin)) {
            return value.starts_with('/') && is_random(value, SESSION_BYTES);
        }
        if self.is_about() || self.class == Class::Weak && !self.locks() {
            return is_random(value, SESSION_BYTES);
        }
        // `REDISCLI_AUTH`.
        if self.class == Class::Session {
            let auth = self.text[self.start..self.name.end].eq_ignore_ascii_case("auth");
            let login = auth && value.len() >= MIN_VALUE_BYTES && is_mixed(value);
            return login && !is_uuid(value) || is_session(value);
        }
        // A counter: `MAX_TOKENS=4096`, `TOKENS=128k`.
        let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
        let counter = !matches!(self.class, Class::Password | Class::Pass) && unit.len() <= 1;
        let other = value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            && is_name_with(value, self.word());
        !counter && !other && (self.class != Class::Weak || value.len() >= 8)
    }

    /// Whether the word `key` ends its name, by itself and not as what a thing is found by.
    fn locks(&self) -> bool {
        let before = self.before();
        let last = before
            .trim_end_matches('_')
            .rsplit('_')
            .next()
            .unwrap_or_default();
        before.ends_with('_') && self.is_last() && !lists("lookups", last)
    }

    /// Whether `value`, which stands at `at` without quotes, is a secret; not one of a shell's variable.
    fn is_assigned(&self, value: &str, at: usize, join: Join) -> bool {
        let bytes = self.text.as_bytes();
        let name_ends =
            bytes.get(self.end).is_none_or(|b| !b.is_ascii_alphabetic()) || self.behind() == "s";
        let is_code = value.contains('(') || value.contains("::") || self.names_itself(value);
        if !name_ends || is_code || self.is_directory(value) {
            return false;
        }
        if self.is_about() {
            return is_random(value, SESSION_BYTES);
        }
        match self.class {
            Class::Password | Class::Pass => {
                let data = !join.spaced
                    && !join.colon
                    && (!value.is_ascii()
                        || is_literal(self.text, self.name.start)
                        || is_line_of_env(self.text, self.name.start, at + value.len()));
                value.len() >= 4 && (is_password(value) || data)
            }
            // `#ff00aa1` in a style sheet.
            Class::Token | Class::Header => {
                is_mixed(value) && value.len() >= 8 && !value.starts_with('#')
            }
            Class::Scheme => is_mixed(value) && value.len() >= 16,
            _ => self.is_drawn(value),
        }
    }

    /// Whether the word is one by itself: `secretKey` and `tokens`, but not `secretary`.
    fn ends_name(&self) -> bool {
        let bytes = self.text.as_bytes();
        let upper = bytes[self.end - 1].is_ascii_uppercase();
        self.behind().eq_ignore_ascii_case("s")
            || bytes
                .get(self.end)
                .is_none_or(|b| !b.is_ascii_alphabetic() || b.is_ascii_uppercase() && !upper)
    }

    /// `token_type`, `passwordFile`, `password.length`.
    fn is_about(&self) -> bool {
        let rest = self.behind();
        steps(rest.len());
        let mut parts = rest.rsplit(|c: char| !c.is_ascii_alphanumeric());
        let last = parts.find(|part| !part.is_empty()).unwrap_or_default();
        let camel = match last.bytes().any(|b| b.is_ascii_lowercase()) {
            true => last.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or(0),
            false => 0,
        };
        lists("about", &last[camel..])
    }

    /// `password=args.password`, `secret: my-app-secret`: what passes a value on, and shows none.
    fn names_itself(&self, value: &str) -> bool {
        let word = self.word();
        let mut path = value.bytes();
        path.all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'?' | b'!'))
            && contains(value, word)
            || is_name_with(value, word) && value.split(['-', '_', '.']).count() <= 3
            || is_constant(value)
    }

    /// `'PWD': '/home/a/work'`: where a process stands, and no password.
    fn is_directory(&self, value: &str) -> bool {
        matches!(&self.text[self.name.clone()], "PWD" | "OLDPWD")
            && value.starts_with('/')
            && !is_random(value, SESSION_BYTES)
    }

    /// The text ends within a value.
    fn wait(&self, from: usize, value: &str, found: &mut Found) {
        let secret = matches!(self.class, Class::Password | Class::Pass | Class::Header);
        match secret && self.ends_name() && !self.is_about() && !is_placeholder(value) {
            true => found.expect(from),
            false => found.wait(from),
        }
    }

    /// Whether `value`, which stands in quotes, is a secret.
    fn is_quoted(&self, value: &str, join: Join) -> bool {
        match self.class {
            _ if !self.ends_name() => false,
            _ if self.is_about() => is_random(value, SESSION_BYTES),
            Class::Password | Class::Pass => {
                value.len() >= 4 && (!join.shown || is_password(value))
            }
            // A counter has no letters, a sentence is no token.
            Class::Token => {
                value.len() >= 4
                    && !value.contains(' ')
                    // `token == 'async'`: a kind of token in a parser.
                    && (self.is("key") || !is_wordy(value))
                    && (value.len() >= 8 || !value.bytes().all(|b| b.is_ascii_digit()))
            }
            Class::Header => value.len() >= 8 && (!value.contains(' ') || is_mixed(value)),
            Class::Scheme => value.len() >= 8,
            _ => self.is_drawn(value),
        }
    }

    /// Whether `value` looks drawn by lot, where the word says little.
    fn is_drawn(&self, value: &str) -> bool {
        match self.class {
            Class::Weak => is_random(value, 12) && !is_uuid(value),
            _ => is_session(value),
        }
    }

    /// Whether the quoted `value` of a secret's name is none: a name, a placeholder, a message.
    fn is_harmless(&self, value: &str) -> bool {
        let named = || {
            is_name_with(value, self.word())
                && (is_constant(value)
                    || value.split(['-', '_', '.', '/']).count() <= 2
                        && !value.bytes().any(|b| b.is_ascii_digit()))
        };
        is_placeholder(value)
            || self.is_directory(value)
            || is_expression(value, None) && is_path(value)
            || is_message(value)
            || named()
    }

    /// Masks what stands at `from` and goes on like `tail`, if `secret` says so of its first `bytes` and of what ends it.
    fn value(
        &self,
        from: usize,
        (tail, bytes): (Tail, usize),
        found: &mut Found,
        secret: impl Fn(&str, Option<char>) -> bool,
    ) -> Option<usize> {
        let window = self.window(from, bytes);
        let mut walked = tail.clone();
        let (len, ended) = walked.walk(window);
        let value = &window[..len - walked.give_back()];
        let quoted = matches!(tail, Tail::Quoted(_));
        if (len > 0 || quoted) && !ended && self.text.len() == from + window.len() {
            self.wait(from, value, found);
        }
        let next = window[value.len()..].chars().next();
        secret(value, next).then(|| found.hit(self.text, from, from, tail))
    }

    /// The same for a value without quotes.
    fn unquoted(
        &self,
        from: usize,
        to_blank: bool,
        found: &mut Found,
        secret: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        let window = self.window(from, WINDOW_BYTES);
        // What is random has digits; most that follows a mere `key=` has none.
        let weak = matches!(self.class, Class::Weak | Class::Session);
        let all = self.text.len() == from + window.len();
        if weak && !to_blank && !all && !window.bytes().any(|b| b.is_ascii_digit()) {
            return None;
        }
        let tail = (Tail::unquoted(to_blank), WINDOW_BYTES);
        self.value(from, tail, found, |value, next| {
            steps(4 * value.len());
            !value.is_empty()
                && !is_placeholder(value)
                && !is_expression(value, next)
                && secret(value)
        })
    }

    /// Masks the values of the cookie header whose pairs begin at `at`, from the first one that may tell who somebody is
    /// to the end of the line. Returns where they end. `code` sets a cookie rather than sending it
    /// (`document.cookie = "theme=dark"`), and only what looks drawn by lot is one.
    fn cookies(&self, mut at: usize, code: bool, found: &mut Found) -> Option<usize> {
        let text = self.text;
        for _ in 0..COOKIES {
            let in_name = |c: char| c == '%' || u8::try_from(c).is_ok_and(in_name);
            let sign = self.skip(at, in_name, COOKIE_BYTES);
            let other = !text[sign..].starts_with('=') && sign < text.len();
            if other || sign - at == COOKIE_BYTES || sign == at {
                return None;
            }
            let from = sign + 1;
            let rest = text.get(from..).unwrap_or_default();
            let window = &rest[..rest.floor_char_boundary(COOKIE_BYTES)];
            let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '`' | '<');
            let value = &window[..window.find(ends).unwrap_or(window.len())];
            steps(value.len());
            if value.len() == rest.len() {
                found.wait(at);
            }
            // A comparison.
            if value.starts_with('=') || value.is_empty() {
                return None;
            }
            let mut logins = list("logins").iter();
            let telling = logins.any(|word| contains(&text[at..sign], word));
            let plain = !telling && (value.len() < MIN_VALUE_BYTES || is_wordy(value));
            if !(plain || is_filled_in(value) || code && !is_random(value, MIN_VALUE_BYTES)) {
                return Some(found.hit(text, from, from, Tail::Line));
            }
            let behind = rest[value.len()..].strip_prefix(';')?;
            at = text.len() - behind.trim_start_matches(' ').len();
        }
        None
    }
}

/// Whether a value looks drawn by lot, as a signature or a session's does; some of its characters may be written as in a
/// URL.
fn is_session(value: &str) -> bool {
    let mut parts = value.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(|part| part.get(2..).unwrap_or_default()));
    is_random(&plain, SESSION_BYTES)
}

/// Whether the value of a password may be one, where prose and code look the same: digits, or
/// signs within. Names with dots, slashes and underscores are code, and two words with a hyphen prose.
fn is_password(value: &str) -> bool {
    let code = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'[' | b'/');
    let value = value.trim_start_matches(['*', '&']);
    let mut inner = value.chars();
    inner.next_back();
    let words =
        value.split('-').all(|part| part.bytes().all(code)) && value.split('-').count() <= 2;
    !words
        && (value.bytes().any(|b| b.is_ascii_digit())
            || inner.as_str().bytes().any(|b| b.is_ascii_punctuation()))
}
