//! Where a shell ends a word and runs something else: what stands behind is never part of a secret.
//! Only enough of the shell's grammar to see that; what a command line means is the policy's matter.

/// Where operators and substitutions begin that a shell would act on, in order. What quotes and here-documents hold is
/// text, but for substitutions where these expand.
pub(super) fn operators(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut double = false;
    // The delimiters of here-documents that begin behind this line, and whether their bodies expand.
    let mut documents: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\'' if !double => {
                let end = memchr::memchr(b'\'', &bytes[at + 1..]);
                at += 1 + end.unwrap_or(bytes.len());
            }
            b'"' => double = !double,
            b'`' => found.push(at),
            b'$' if bytes.get(at + 1) == Some(&b'(') => found.push(at),
            _ if double => {}
            b'\n' => {
                found.push(at);
                for (delimiter, expands) in documents.drain(..) {
                    at = body(text, at + 1, &delimiter, expands, &mut found) - 1;
                }
            }
            b'<' if bytes[at..].starts_with(b"<<") && !bytes[at..].starts_with(b"<<<") => {
                found.push(at);
                let rest = text[at + 2..]
                    .trim_start_matches('-')
                    .trim_start_matches([' ', '\t']);
                let word = rest
                    .split([' ', '\t', '\n', ';', '&', '|', '<', '>', ')'])
                    .next();
                let word = word.unwrap_or_default();
                let plain = word.replace(['\'', '"', '\\'], "");
                documents.push((plain.clone(), plain == word));
                at += 1;
            }
            // How a line end is shown on one line.
            0xe2 if text[at..].starts_with('⏎') => found.push(at),
            b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => found.push(at),
            _ => {}
        }
        at += 1;
    }
    found
}

/// Passes over a here-document's body, which begins at `from`; where its delimiter's line ends.
fn body(text: &str, from: usize, delimiter: &str, expands: bool, found: &mut Vec<usize>) -> usize {
    let mut at = from.min(text.len());
    for line in text[at..].split_inclusive('\n') {
        if line.trim_end_matches('\n').trim_start_matches('\t') == delimiter {
            return at + line.trim_end_matches('\n').len().max(1);
        }
        if expands {
            let bytes = line.as_bytes();
            let substitution = |&i: &usize| bytes[i] == b'`' || bytes[i..].starts_with(b"$(");
            found.extend((0..bytes.len()).filter(substitution).map(|i| at + i));
        }
        at += line.len();
    }
    text.len().max(1)
}

/// Whether something may run behind the operator at `at`: not if only a line of a key follows it, which is no program's
/// name.
pub(super) fn may_run(text: &str, at: usize) -> bool {
    let operator = text[at..].chars().next();
    if !matches!(operator, Some('\n' | '⏎')) {
        return true;
    }
    let rest = text[at..].trim_start_matches(['\n', '⏎', ' ', '\t', '\r']);
    let end = rest.find(['\n', '⏎', ';', '&', '|', '<', '>', '(', ')']);
    let end = end.unwrap_or(rest.len());
    let line = rest[..end].trim_end();
    let body = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let key = line.len() >= 16 && line.bytes().all(body);
    let dashes =
        line.starts_with("-----") && line.bytes().all(|b| body(b) || matches!(b, b'-' | b' '));
    !(line.is_empty() || key || dashes)
}
