//! Sources of the product as tokens, and which files of a crate import which.
//! What must hold of them stands in `architecture.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Ident(String),
    /// What a string literal says.
    Text(String),
    Punct(char),
}

impl Token {
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Ident(ident) if ident == name)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Of an identifier or a text.
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Self::Ident(word) | Self::Text(word) => Some(word),
            Self::Punct(_) => None,
        }
    }
}

/// A file without its comments and its tests.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its path below the root.
    pub(crate) name: String,
    pub(crate) tokens: Vec<Token>,
    /// Lines before its tests, with comments.
    pub(crate) lines: usize,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files_below(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every product source below these folders of the root, in order.
pub(crate) fn product(folders: &[&str]) -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in folders {
        for path in files_below(&root().join(folder)) {
            let below = path.strip_prefix(root()).unwrap();
            let is_other = below.components().any(|part| {
                let part = part.as_os_str().to_string_lossy();
                let other = ["tests", "benches", "examples", "fuzz", "docs", "corpus"];
                other.contains(&&*part) || part.contains("tests") || part == "build.rs"
            });
            if !is_other && path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push(Source::new(below, &text));
            }
        }
    }
    assert!(!sources.is_empty(), "{folders:?}");
    sources
}

impl Source {
    pub(crate) fn new(below: &Path, text: &str) -> Self {
        let name = below.to_str().unwrap();
        Self {
            name: name.trim_start_matches("./").to_owned(),
            tokens: without_tests(tokens(text)),
            lines: text
                .lines()
                .take_while(|line| !line.trim().starts_with("mod tests {"))
                .count(),
        }
    }

    /// What `const NAME: &str = "…"` says.
    pub(crate) fn constant(&self, name: &str) -> Option<String> {
        let at = self
            .tokens
            .windows(2)
            .position(|pair| pair[0].is("const") && pair[1].is(name))?;
        let text = self.tokens[at..].iter().take(16).find_map(Token::text);
        text.map(str::to_owned)
    }

    /// Whether a path is made of `name`.
    pub(crate) fn joins(&self, name: &str) -> bool {
        self.tokens.windows(3).any(|window| {
            let [Token::Ident(join), Token::Punct('('), Token::Text(text)] = window else {
                return false;
            };
            [
                "join",
                "new",
                "open",
                "read",
                "read_to_string",
                "from",
                "push",
            ]
            .contains(&join.as_str())
                && text == name
        })
    }

    /// Every path that begins with `crate`, `self`, `super` or a module in `children`.
    pub(crate) fn paths(&self, children: &BTreeSet<String>) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let Token::Ident(first) = token else { continue };
            let begins =
                ["crate", "self", "super"].contains(&first.as_str()) || children.contains(first);
            let is_inner = at > 0 && self.tokens[at - 1] == Token::Punct(':');
            if begins && !is_inner && self.separates(at + 1) {
                self.tree(at, &mut Vec::new(), &mut found);
            }
        }
        found
    }

    /// Whether `::` stands at a place.
    fn separates(&self, at: usize) -> bool {
        let colon = Some(&Token::Punct(':'));
        self.tokens.get(at) == colon && self.tokens.get(at + 1) == colon
    }

    /// Reads one path, or a tree of them, and returns the place behind it.
    fn tree(&self, mut at: usize, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
        let depth = prefix.len();
        loop {
            match self.tokens.get(at) {
                Some(Token::Ident(name)) => prefix.push(name.clone()),
                Some(Token::Punct('{')) => {
                    at += 1;
                    while self
                        .tokens
                        .get(at)
                        .is_some_and(|token| *token != Token::Punct('}'))
                    {
                        at = match self.tokens[at] {
                            Token::Ident(_) | Token::Punct('{') => self.tree(at, prefix, found),
                            // A comma, or a star.
                            _ => at + 1,
                        };
                    }
                    prefix.truncate(depth);
                    return at + 1;
                }
                // A star, or the arguments of a type.
                _ => {
                    found.push(prefix.clone());
                    prefix.truncate(depth);
                    return at;
                }
            }
            at += 1;
            if !self.separates(at) {
                found.push(prefix.clone());
                prefix.truncate(depth);
                return at;
            }
            at += 2;
        }
    }
}

/// Circles of the files of one crate whose sources stand in `folder`. A file belongs to the files above it, so a name
/// that it has from there is no import; what those only hand on is one of the file that it comes from.
pub(crate) fn circles(folder: &str, sources: &[Source]) -> Vec<Vec<String>> {
    let module = |name: &str| -> Vec<String> {
        let path = name[folder.len() + 1..].trim_end_matches(".rs");
        let parts = path
            .split('/')
            .filter(|part| !["lib", "mod", "main"].contains(part));
        parts.map(str::to_owned).collect()
    };
    let modules: BTreeMap<Vec<String>, &Source> = sources
        .iter()
        .map(|source| (module(&source.name), source))
        .collect();
    let mut paths = BTreeMap::new();
    for (own, source) in &modules {
        let children = modules
            .keys()
            .filter(|other| other.len() == own.len() + 1 && other.starts_with(own))
            .filter_map(|other| other.last().cloned())
            .collect();
        let absolute: Vec<Vec<String>> = source
            .paths(&children)
            .into_iter()
            .map(|path| absolute(own, &path))
            .collect();
        paths.insert(own.clone(), absolute);
    }
    let mut imports: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    for (own, of_own) in &paths {
        for path in of_own {
            let target = target(path, &paths, 8);
            if !own.starts_with(target) {
                imports.entry(own).or_default().insert(target);
            }
        }
    }
    knots(&imports)
        .into_iter()
        .map(|knot| {
            knot.iter()
                .map(|module| modules[*module].name.clone())
                .collect()
        })
        .collect()
}

/// A path from the crate's root.
fn absolute(own: &[String], path: &[String]) -> Vec<String> {
    let mut at = match path[0].as_str() {
        "crate" => Vec::new(),
        _ => own.to_vec(),
    };
    for (place, part) in path.iter().enumerate() {
        match part.as_str() {
            "super" => drop(at.pop()),
            "self" => {}
            "crate" if place == 0 => {}
            _ => at.push(part.clone()),
        }
    }
    at
}

/// The file that has what a path names.
fn target<'a>(
    path: &[String],
    paths: &'a BTreeMap<Vec<String>, Vec<Vec<String>>>,
    steps: usize,
) -> &'a Vec<String> {
    let own = (0..=path.len())
        .rev()
        .find_map(|length| paths.get_key_value(&path[..length]));
    let (module, imports) = own.unwrap();
    let handed_on = path.get(module.len()).and_then(|name| {
        imports
            .iter()
            .find(|import| import.last() == Some(name) && **import != path)
    });
    match handed_on {
        Some(import) if steps > 0 => target(import, paths, steps - 1),
        _ => module,
    }
}

/// Rows of nodes that reach each other.
fn knots<'a>(
    arrows: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
) -> Vec<Vec<&'a Vec<String>>> {
    let reach = |from: &'a Vec<String>| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for next in arrows.get(at).into_iter().flatten() {
                if seen.insert(*next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let all: BTreeMap<_, _> = arrows.keys().map(|node| (*node, reach(node))).collect();
    let mut found: Vec<Vec<&Vec<String>>> = Vec::new();
    for (node, reached) in &all {
        if !reached.contains(node) || found.iter().any(|knot| knot.contains(node)) {
            continue;
        }
        let back = |other: &&&Vec<String>| all.get(**other).is_some_and(|it| it.contains(node));
        found.push(reached.iter().filter(back).copied().collect());
    }
    found
}

/// Without items that are there for tests only.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = attribute(&tokens, at);
        let is_test = attribute.is_some_and(|end| {
            let inner = &tokens[at..end];
            let not = inner.iter().any(|token| token.is("not"));
            inner.iter().any(|token| token.is("cfg"))
                && inner.iter().any(|token| token.is("test"))
                && !not
        });
        let Some(end) = attribute.filter(|_| is_test) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        at = end;
        while let Some(end) = self::attribute(&tokens, at) {
            at = end;
        }
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                Token::Punct('{' | '(' | '[') => depth += 1,
                Token::Punct('}') if depth == 1 => break,
                Token::Punct('}' | ')' | ']') => depth -= 1,
                Token::Punct(';' | ',') if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// The end of the attribute that begins at a place.
fn attribute(tokens: &[Token], at: usize) -> Option<usize> {
    if tokens.get(at..at + 2)? != [Token::Punct('#'), Token::Punct('[')] {
        return None;
    }
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(at + 1) {
        match token {
            Token::Punct('[') => depth += 1,
            Token::Punct(']') if depth == 1 => return Some(place + 1),
            Token::Punct(']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        if c == '/' && next == Some('/') {
            while chars.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
        } else if c == '/' && next == Some('*') {
            let mut depth = 0;
            loop {
                match (chars.get(at), chars.get(at + 1)) {
                    (Some('/'), Some('*')) => (depth, at) = (depth + 1, at + 2),
                    (Some('*'), Some('/')) => (depth, at) = (depth - 1, at + 2),
                    (None, _) => break,
                    _ => at += 1,
                }
                if depth == 0 {
                    break;
                }
            }
        } else if c == '"' {
            let mut said = String::new();
            at += 1;
            while let Some(&c) = chars.get(at).filter(|c| **c != '"') {
                at += 1;
                if c != '\\' {
                    said.push(c);
                } else if let Some(&escaped) = chars.get(at) {
                    said.push(escaped);
                    at += 1;
                }
            }
            found.push(Token::Text(said));
            at += 1;
        } else if c == '\'' {
            let escaped = next == Some('\\');
            if escaped || chars.get(at + 2) == Some(&'\'') {
                at += if escaped { 3 } else { 2 };
                while chars.get(at).is_some_and(|c| *c != '\'') {
                    at += 1;
                }
                at += 1;
            } else {
                // A lifetime.
                at += 1;
            }
        } else if c.is_alphanumeric() || c == '_' {
            let begin = at;
            while chars
                .get(at)
                .is_some_and(|c| c.is_alphanumeric() || *c == '_')
            {
                at += 1;
            }
            let ident: String = chars[begin..at].iter().collect();
            let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
            let is_raw =
                ["r", "br", "cr"].contains(&ident.as_str()) && chars.get(at + hashes) == Some(&'"');
            if is_raw {
                let begin = at + hashes + 1;
                let ends = |at: usize| {
                    chars[at] == '"'
                        && chars[at + 1..]
                            .iter()
                            .take(hashes)
                            .filter(|c| **c == '#')
                            .count()
                            == hashes
                };
                let end = (begin..chars.len())
                    .find(|at| ends(*at))
                    .unwrap_or(chars.len());
                found.push(Token::Text(chars[begin..end].iter().collect()));
                at = end + 1 + hashes;
            } else if !(["b", "c"].contains(&ident.as_str()) && chars.get(at) == Some(&'"')) {
                found.push(Token::Ident(ident));
            }
        } else {
            if !c.is_whitespace() {
                found.push(Token::Punct(c));
            }
            at += 1;
        }
    }
    found
}
