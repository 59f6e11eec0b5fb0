//! Small Mighty programs: the fixtures of the parser, the formatter and the analysis, and shapes at the bounds.
//! No program is written here but those shapes.

use std::fs;
use std::path::{Path, PathBuf};

use super::Seeds;

/// The largest seed, of bytes.
const MOST: usize = 4_000;

fn operations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mighty-ops")
}

/// Files below a folder of fixtures, sorted by path; the largest are no seeds.
fn fixtures(folder: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![operations().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path)
                && text.len() < MOST
            {
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("a file's name");
    stem.to_string_lossy().into_owned()
}

fn programs() -> Seeds {
    fixtures("syntax/tests/clean")
        .into_iter()
        .map(|(path, text)| (format!("program-{}", stem(&path)), text.into_bytes()))
        .collect()
}

/// What the parser refuses, and what is just within its bounds; every code of the syntax.
fn broken() -> Seeds {
    let texts = [
        ("unexpected", "fn f() { 1 ) ~ }\nlet\u{feff}"),
        (
            "open-string",
            "fn f() { log(\"a)\n}\nfn g() { log(\"b\") }\n",
        ),
        (
            "open-quote-later",
            "fn f() { log(\"a }\nfn g() { log(\"b\", \"c\") }\n",
        ),
        (
            "escape",
            "fn f() { log(\"a\\qb \\x{80} \\u{D800}\", '\\z', b\"\\u{1}\") }\n",
        ),
        ("unit", "fn f() { wait(7sec, 3Mib, 1_) }\n"),
        ("open-comment", "fn f() { }\n/* a /* b */\n"),
        ("number", "fn f() { 9_ + 0x + 0b2 + 1.5e + 300u8 + 1__0 }\n"),
        ("no-item", "let x = 1\n+\nfn f() { }\n"),
        (
            "no-operand",
            "fn f() { 1 + }\nfn g() { * }\nconst A: I32 =\n",
        ),
        ("brackets", "fn f() { g([1, (2]) }\nfn g() { ( }\n"),
        (
            "handlers",
            "agent A: P {\n  on M() -> 1\n  on M() -> 2\n}\n",
        ),
        ("no-result-type", "pub fn f() { }\n"),
        ("crlf", "fn f() {\r\n  log(\"a\r\nb\") // c\r\n}\r\n"),
        (
            "carriage-returns",
            "fn f() { } // a\r\r\n/* b\r\r\n */\nfn\rg() { log(\"\r\") }\r",
        ),
        (
            "macro-bodies",
            "macro m(a) => { a + `~ ( }\nfn f() { m!(~ `) }\n",
        ),
    ];
    let mut seeds: Seeds = texts
        .iter()
        .map(|(name, text)| (format!("broken-{name}"), text.as_bytes().to_vec()))
        .collect();
    seeds.push((
        "broken-utf8".into(),
        b"fn f() { log(\"\xff\xc3\") }\n".to_vec(),
    ));
    // A NUL and a count: that many times 257 more of the byte in front.
    for (name, text) in [
        ("brackets", &b"fn f() { (\0\x011)\0\x01 }"[..]),
        ("prefixes", b"fn f() { -\0\x01x }"),
        ("types", b"fn f(x: &\0\x02U8) { }"),
        (
            "long-name",
            b"fn f\0\x01() { f(f\0\x01, f\0\x01) + f\0\x01 }",
        ),
        (
            "long-text",
            b"fn f() { log(\"a\0\x08\", \"b\0\x08\") } // c\0\x04",
        ),
        ("blanks", b"fn f() { }\n\0\x04fn g() { \0\x04}"),
        ("question-marks", b"fn f() { x?\0\x04 }"),
    ] {
        seeds.push((format!("bound-{name}"), text.to_vec()));
    }
    seeds
}

pub fn parse() -> Seeds {
    [programs(), broken()].concat()
}

/// Pairs of the formatter, several to a seed, and the same texts as the parser has.
pub fn format() -> Seeds {
    let mut seeds = programs();
    for (path, text) in fixtures_of_pairs() {
        let mut parts = Vec::new();
        for pair in text.split("==== ").skip(1) {
            let (_, body) = pair.split_once('\n').expect("a name's line");
            let (input, _) = body.split_once("----\n").unwrap_or((body, body));
            parts.push(input.to_owned());
        }
        let packed = packed(&parts, 1_200, |_| String::new());
        for (i, text) in packed.into_iter().enumerate() {
            seeds.push((format!("pairs-{}-{i}", stem(&path)), text.into_bytes()));
        }
    }
    seeds.retain(|(_, text)| text.len() < MOST);
    let bounds = ["bound-long-name", "bound-blanks", "bound-brackets"];
    let kept = |name: &str| bounds.contains(&name) || name == "broken-carriage-returns";
    seeds.extend(broken().into_iter().filter(|(name, _)| kept(name)));
    seeds
}

fn fixtures_of_pairs() -> Vec<(PathBuf, String)> {
    let folder = operations().join("syntax/tests/format/cases");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the formatter's cases")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a text");
            (path, text)
        })
        .collect();
    found.sort();
    found
}

/// One failing case of each code, some to a seed as files of one package, and clean programs.
pub fn check() -> Seeds {
    let mut seeds = Seeds::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut last = PathBuf::new();
    for (path, text) in fixtures("analysis/tests/cases") {
        let folder = path.parent().expect("a folder").to_owned();
        if folder == last || !stem(&path).starts_with("fail-") {
            continue;
        }
        let code = stem(&folder).trim_start_matches("MT").to_owned();
        last = folder;
        if text.contains("//#") {
            seeds.push((format!("case-{code}"), text.into_bytes()));
            continue;
        }
        // Later stages run only without errors of earlier ones, so that a seed holds one kind.
        let kind = format!("cases-{}", &code[..code.len() - 2]);
        match groups.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((kind, vec![text])),
        }
    }
    for (kind, texts) in groups {
        let packed = packed(&texts, 900, |i| format!("//# module m{i}\n"));
        for (i, text) in packed.into_iter().enumerate() {
            seeds.push((format!("{kind}-{i}"), text.into_bytes()));
        }
    }
    for name in CLEAN {
        let path = operations().join(format!("analysis/tests/clean/{name}.mty"));
        let text = fs::read(path).expect("a clean program");
        seeds.push((format!("clean-{name}"), text));
    }
    let kept = ["bound-brackets", "bound-long-name", "bound-question-marks"];
    let parsed = broken().into_iter();
    seeds.extend(parsed.filter(|(name, _)| kept.contains(&name.as_str())));
    seeds.retain(|(_, text)| text.len() < MOST);
    seeds
}

const CLEAN: [&str; 12] = [
    "bank",
    "caps_and_effects",
    "closures",
    "derives",
    "effects-shapes",
    "inference",
    "iterators",
    "linked",
    "macros-formats",
    "ownership_mixed",
    "supervisors-plant",
    "taint-signup",
];

/// The packages of [`check`], each with a text made of its first lines; and diffs that apply or do not.
pub fn patch() -> Seeds {
    let mut seeds = Seeds::new();
    for (name, text) in check() {
        let Ok(text) = String::from_utf8(text) else {
            continue;
        };
        let mut other = String::new();
        for (i, line) in text.split_inclusive('\n').take(12).enumerate() {
            match i % 4 {
                1 => {}
                2 => other.push_str(&line.repeat(2)),
                3 => other.push_str(&line.replace(' ', "  ")),
                _ => other.push_str(line),
            }
        }
        let first = text.lines().next().unwrap_or_default();
        let diff = format!("--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n+// new\n {first}\n");
        seeds.push((name, joined(&text, &other, &diff)));
    }
    let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    for (name, old, new, diff) in [
        (
            "two-hunks",
            text,
            "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n",
            "@@ -1 +1 @@\n-a\n+A\n@@ -10 +10 @@\n-j\n+J\n",
        ),
        (
            "crlf",
            "a\r\nb\r\nc\r\n",
            "a\r\nB\r\nc\r\n",
            "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
        ),
        (
            "no-last-feed",
            "a\nb",
            "a\nc",
            "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        ),
        ("from-nothing", "", "x\n", "@@ -0,0 +1,1 @@\n+x\n"),
        ("to-nothing", "x\n", "", "@@ -1,1 +0,0 @@\n-x\n"),
        (
            "overlapping-hunks",
            text,
            "",
            "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2,1 +2,1 @@\n-b\n+C\n",
        ),
        (
            "huge-numbers",
            text,
            "b\n",
            "@@ -4294967295,4294967295 +4294967295,4294967295 @@\n-a\n",
        ),
        ("short-hunk", text, "a\n", "@@ -1,9 +1,9 @@\n-a\n+b\n"),
        (
            "carriage-returns",
            "a\rb\nc\r",
            "a\rB\nc\r\rd",
            "@@ -1,1 +1,1 @@\n-a\rb\n+a\n",
        ),
    ] {
        seeds.push((format!("diff-{name}"), joined(old, new, diff)));
    }
    seeds.retain(|(_, text)| text.len() < MOST);
    seeds
}

/// The parts of an input of `checks::mighty_patch`.
fn joined(old: &str, new: &str, diff: &str) -> Vec<u8> {
    [old, new, diff]
        .join(checks::mighty_patch::PART)
        .into_bytes()
}

/// Texts one after another, as long as they have less than `most` bytes; each after its `head`.
fn packed(texts: &[String], most: usize, head: impl Fn(usize) -> String) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut count = 0;
    for text in texts {
        match out.last_mut() {
            Some(open) if open.len() + text.len() < most => {
                count += 1;
                open.push_str(&head(count));
                open.push_str(text);
            }
            _ => {
                count = 0;
                out.push(text.clone());
            }
        }
    }
    out
}
