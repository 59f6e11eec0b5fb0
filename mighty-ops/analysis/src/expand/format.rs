//! Templates of `format!`: where their holes are and what is wrong with them (language.md §22).
//! Must not count arguments or report; `standard` does.

use std::ops::Range;

use unicode_ident::{is_xid_continue, is_xid_start};

/// A hole of a template. Ranges are byte offsets into the scanned text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hole {
    /// With its braces.
    pub(crate) range: Range<usize>,
    /// The variable; `None` if the hole takes the next argument.
    pub(crate) name: Option<Range<usize>>,
}

/// What is wrong with a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A brace without its partner, or a hole that holds neither a name nor nothing.
    Template,
    /// A form of the wider world of format strings that this language does not have.
    Unsupported,
    /// A width that is no `u32`.
    Width,
    /// A precision that is missing or no `u32`.
    Precision,
}

/// A template taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    /// Sound holes in source order.
    pub(crate) holes: Vec<Hole>,
    /// Faults in source order, each with the text in question.
    pub(crate) faults: Vec<(Fault, Range<usize>)>,
}

impl Template {
    /// Number of holes that take an argument.
    pub(crate) fn positional(&self) -> usize {
        self.holes.iter().filter(|h| h.name.is_none()).count()
    }
}

/// Takes the text between the quotes of a literal apart. With `escapes`, braces of `\u{…}` and `\x{…}` are
/// no holes.
pub(crate) fn scan(raw: &str, escapes: bool) -> Template {
    let bytes = raw.as_bytes();
    let mut out = Template::default();
    let mut i = 0;
    while let Some(at) = memchr::memchr3(b'{', b'}', b'\\', &bytes[i..]).map(|n| n + i) {
        let next = bytes.get(at + 1).copied();
        match (bytes[at], next) {
            (b'\\', _) if !escapes => i = at + 1,
            (b'\\', Some(b'u' | b'x')) if bytes.get(at + 2) == Some(&b'{') => {
                i = memchr::memchr(b'}', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1);
            }
            // The escaped character may have several bytes, but none of those looked for.
            (b'\\', _) => i = (at + 2).min(bytes.len()),
            (b'{', Some(b'{')) | (b'}', Some(b'}')) => i = at + 2,
            (b'}', _) => {
                out.faults.push((Fault::Template, at..at + 1));
                i = at + 1;
            }
            _ => match memchr::memchr2(b'{', b'}', &bytes[at + 1..]).map(|n| at + 1 + n) {
                Some(end) if bytes[end] == b'}' => {
                    match hole(raw, at + 1..end) {
                        Ok(name) => out.holes.push(Hole {
                            range: at..end + 1,
                            name,
                        }),
                        Err(fault) => out.faults.push((fault, at..end + 1)),
                    }
                    i = end + 1;
                }
                _ => {
                    out.faults.push((Fault::Template, at..at + 1));
                    i = at + 1;
                }
            },
        }
    }
    out
}

/// What is between the braces of a hole.
fn hole(raw: &str, inner: Range<usize>) -> Result<Option<Range<usize>>, Fault> {
    let text = &raw[inner.clone()];
    let (name, spec) = match text.split_once(':') {
        Some((name, spec)) => (name, spec),
        None => (text, ""),
    };
    let start = inner.start + (name.len() - name.trim_start().len());
    let name = name.trim();
    let found = if name.is_empty() {
        None
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Unsupported);
    } else if is_name(name) {
        Some(start..start + name.len())
    } else {
        return Err(Fault::Template);
    };
    check_spec(spec.trim_end())?;
    Ok(found)
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || is_xid_start(c)) && chars.all(is_xid_continue)
}

/// `[[fill]align][+][#][0][width][.precision][type]`.
fn check_spec(spec: &str) -> Result<(), Fault> {
    let is_align = |c: char| matches!(c, '<' | '>' | '^');
    let mut chars = spec.chars();
    let mut rest = spec;
    match (chars.next(), chars.next()) {
        (Some(_), Some(c)) if is_align(c) => rest = chars.as_str(),
        (Some(c), _) if is_align(c) => rest = &spec[1..],
        _ => {}
    }
    rest = rest.strip_prefix('+').unwrap_or(rest);
    rest = rest.strip_prefix('#').unwrap_or(rest);
    // A zero flag is a digit like any other here: `08` has the width 8.
    rest = number(rest, Fault::Width)?.1;
    if let Some(after) = rest.strip_prefix('.') {
        if after.starts_with('*') {
            return Err(Fault::Unsupported);
        }
        let (some, tail) = number(after, Fault::Precision)?;
        if !some {
            return Err(Fault::Precision);
        }
        rest = tail;
    }
    match rest {
        "" | "?" | "x" | "X" | "b" | "o" => Ok(()),
        _ => Err(Fault::Unsupported),
    }
}

/// Leading digits that have to fit a `u32`; `1$` and `name$` take a number from an argument.
fn number(text: &str, fault: Fault) -> Result<(bool, &str), Fault> {
    let word = text.find(|c| !is_xid_continue(c)).unwrap_or(text.len());
    if word > 0 && text[word..].starts_with('$') {
        return Err(Fault::Unsupported);
    }
    let n = text.bytes().take_while(u8::is_ascii_digit).count();
    if n > 0 && text[..n].parse::<u32>().is_err() {
        return Err(fault);
    }
    Ok((n > 0, &text[n..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn faults(raw: &str) -> Vec<Fault> {
        scan(raw, true).faults.into_iter().map(|f| f.0).collect()
    }

    fn names(raw: &str) -> Vec<Option<&str>> {
        let t = scan(raw, true);
        assert_eq!(t.faults, [], "{raw}");
        t.holes
            .into_iter()
            .map(|h| h.name.map(|n| &raw[n]))
            .collect()
    }

    #[test]
    fn holes_are_found_with_their_names() {
        assert_eq!(
            names("a {} {{x}} {who} {:>4} {n:08.3} { sp } {x}}}"),
            [None, Some("who"), None, Some("n"), Some("sp"), Some("x")]
        );
        assert_eq!(names(r"\u{41} \n{} \x{41} \\{}"), [None, None]);
        assert_eq!(
            names("{größe} {_} {:*^+#010.2?} {:<} {:x} {:#b} {:💡>3}").len(),
            7
        );
        assert_eq!(scan(r"\u{41}", false).faults.len(), 1);
    }

    #[test]
    fn each_fault_has_its_kind() {
        use Fault::*;
        for (raw, want) in [
            ("{ x", Template),
            ("x }", Template),
            ("{a.b}", Template),
            ("{x + 1}", Template),
            ("{0}", Unsupported),
            ("{1:>4}", Unsupported),
            ("{:1$}", Unsupported),
            ("{:w$}", Unsupported),
            ("{:.*}", Unsupported),
            ("{:.2$}", Unsupported),
            ("{:e}", Unsupported),
            ("{:-5}", Unsupported),
            ("{:5 x}", Unsupported),
            ("{:4294967296}", Width),
            ("{:<99999999999x}", Width),
            ("{:.}", Precision),
            ("{:8.?}", Precision),
            ("{:.4294967296}", Precision),
        ] {
            assert_eq!(faults(raw), [want], "{raw}");
        }
        assert_eq!(faults("{a{b}"), [Template]);
        assert_eq!(faults("{:4294967295.4294967295}"), []);
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(raw in r#"[{}:\\ux0-9.*$<>^#+?a é]{0,40}"#, escapes: bool) {
            let t = scan(&raw, escapes);
            for h in &t.holes {
                let hole = &raw[h.range.clone()];
                prop_assert!(hole.starts_with('\x7b') && hole.ends_with('\x7d'), "no braces");
                if let Some(n) = &h.name {
                    prop_assert!(is_name(&raw[n.clone()]));
                }
            }
            for (_, range) in &t.faults {
                prop_assert!(raw.get(range.clone()).is_some());
            }
        }
    }
}
