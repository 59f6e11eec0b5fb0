//! The offline demonstration: what it says and which tools it asks for, from the messages alone.
//! Reads no file and counts nothing but what the tools really answered.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::message::Message;
use crate::play::{Pieces, Step};
use crate::request::Request;

/// Before each word, so that a person sees the answer arrive. The whole answer stays below
/// a second.
const WORD_DELAY: Duration = Duration::from_millis(5);
/// Longest piece of a tool's own words that is repeated, in characters.
const QUOTE_CHARS: usize = 160;

const INTRODUCTION: &str = "This is an offline demonstration: no model is asked and nothing leaves \
    this machine. The tools and the files are real, though. ";
const HOW_TO_CHOOSE: &str = "To work with a real model, set `provider` and `model` in settings.json \
    (in MC_HOME, by default ~/.magi-code), or MC_PROVIDER and MC_MODEL in the environment.";

/// Behind what is said before a call: a frontend may show all of a turn as one text.
const BEHIND: &str = "\n\n";

/// Entries of the listing that the answer names.
const NAMED: usize = 5;

/// The steps of the next response to the prompt that `current` begins with.
pub(crate) fn response(request: &Request, current: &[Message]) -> Vec<Step> {
    let answered = |message: &&Message| matches!(message, Message::Assistant { .. });
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let listing = result(current, "list");
    match current.iter().filter(answered).count() {
        0 if offered("list") => vec![
            say(format!(
                "{INTRODUCTION}First I list the working directory.{BEHIND}"
            )),
            ask("list", json!({})),
        ],
        0 => vec![say(format!(
            "{INTRODUCTION}The `list` tool is not offered in this session, so there is nothing to show. {}",
            closing(current)
        ))],
        1 => {
            let file = listing
                .and_then(Result::ok)
                .filter(|_| offered("read"))
                .and_then(|text| Listing::parse(text).choose());
            match file {
                Some(file) => vec![
                    say(format!("Next I read {file}.{BEHIND}")),
                    ask("read", json!({ "path": file })),
                ],
                None => vec![say(report(current, offered("read")))],
            }
        }
        2 if result(current, "read").is_some() => vec![say(report(current, true))],
        // Asked once more after the final answer: there is nothing to add.
        _ => Vec::new(),
    }
}

/// The steps that stand for a part of a conversation which no script tells the summary of.
pub(crate) fn summary() -> Arc<[Step]> {
    let text = "The offline provider summarizes nothing: what was said before is left out here.";
    Arc::from([say(text.to_owned())])
}

fn say(text: String) -> Step {
    Step::Text {
        text,
        pieces: Pieces::Words,
        delay: WORD_DELAY,
    }
}

fn ask(name: &str, input: Value) -> Step {
    Step::Tool {
        name: name.to_owned(),
        input,
    }
}

/// The final answer: what the tools really said.
fn report(current: &[Message], may_read: bool) -> String {
    let mut out = String::new();
    match result(current, "list") {
        Some(Ok(text)) => {
            let listing = Listing::parse(text);
            out += &format!(
                "The listing has {}: {} and {}.",
                counted(listing.total, "entry", "entries"),
                counted(listing.directories, "directory", "directories"),
                counted(
                    listing.total.saturating_sub(listing.directories),
                    "other",
                    "others"
                ),
            );
            if !listing.names.is_empty() {
                let goes_on = listing.total > listing.names.len() as u64;
                let end = if goes_on {
                    ", and goes on."
                } else {
                    "; that is all."
                };
                out += &format!(" It begins with {}{end}", listing.names.join(", "));
            }
            if listing.total > listing.shown {
                out += &format!(
                    " Only the first {} were shown to me, and the kinds are counted from those.",
                    listing.shown
                );
            }
        }
        Some(Err(text)) => out += &format!("The listing failed. The tool said: {}.", quote(text)),
        None => out += "The `list` tool gave no result.",
    }
    let path = path_read(current).unwrap_or("the file");
    match result(current, "read") {
        Some(Ok(text)) => {
            let reading = Reading::parse(text);
            out += &format!(
                " In {path} I read {} with {}",
                counted(reading.lines, "line", "lines"),
                counted(reading.words, "word", "words")
            );
            out += if reading.truncated {
                "; the file goes on after that."
            } else {
                "."
            };
        }
        Some(Err(text)) => {
            out += &format!(" Reading {path} failed. The tool said: {}.", quote(text));
        }
        None if !may_read => out += " The `read` tool is not offered in this session.",
        None => out += " I found no text file there to read.",
    }
    format!("{out} {}", closing(current))
}

fn closing(current: &[Message]) -> String {
    let length = match current.first() {
        Some(Message::User { text }) => text.chars().count() as u64,
        _ => 0,
    };
    format!(
        "Your prompt of {} was not interpreted: a fixed script answered it. {HOW_TO_CHOOSE}",
        counted(length, "character", "characters")
    )
}

/// The last result of a tool in this turn; `Err` for a failed one.
fn result<'a>(current: &'a [Message], tool: &str) -> Option<Result<&'a str, &'a str>> {
    current.iter().rev().find_map(|message| match message {
        Message::ToolResult {
            name,
            content,
            is_error,
            ..
        } if name == tool => Some(match is_error {
            true => Err(content.as_str()),
            false => Ok(content.as_str()),
        }),
        _ => None,
    })
}

/// The path that was asked to be read in this turn.
fn path_read(current: &[Message]) -> Option<&str> {
    current.iter().rev().find_map(|message| match message {
        Message::Assistant { tool_calls, .. } => tool_calls
            .iter()
            .find(|call| call.name == "read")
            .and_then(|call| call.input.get("path"))
            .and_then(Value::as_str),
        _ => None,
    })
}

/// What a listing says: `<directory>: <n> entries`, then one entry a line, its size or kind
/// right-aligned before two spaces and its name. Anything else is passed over.
#[derive(Debug, Default)]
struct Listing<'a> {
    total: u64,
    shown: u64,
    directories: u64,
    /// The first few, as the tool spells them.
    names: Vec<&'a str>,
    /// Regular files with their sizes in bytes.
    files: Vec<(&'a str, u64)>,
}

impl<'a> Listing<'a> {
    fn parse(text: &'a str) -> Self {
        let mut listing = Self::default();
        let mut stated = None;
        for (index, line) in text.lines().enumerate() {
            if index == 0 {
                stated = line
                    .strip_suffix(" entries")
                    .or_else(|| line.strip_suffix(" entry"))
                    .and_then(|line| line.rsplit(' ').next())
                    .and_then(|count| count.parse().ok());
                if stated.is_some() {
                    continue;
                }
            }
            if !line.starts_with(' ') {
                continue;
            }
            let Some((kind, name)) = line.trim_start().split_once("  ") else {
                continue;
            };
            listing.shown += 1;
            if listing.names.len() < NAMED {
                listing.names.push(name);
            }
            if name.ends_with('/') {
                listing.directories += 1;
            } else if let Ok(size) = kind.parse() {
                listing.files.push((name, size));
            }
        }
        listing.total = stated.unwrap_or(listing.shown).max(listing.shown);
        listing
    }

    /// The README, else the largest file whose name says that it is text. An escaped name is
    /// left alone: it is not the file's real name.
    fn choose(&self) -> Option<&'a str> {
        let files = || self.files.iter().filter(|(name, _)| !name.contains('\\'));
        let readme = files()
            .filter_map(|(name, _)| {
                let lower = name.to_lowercase();
                let (stem, extension) = lower.split_once('.').unwrap_or((&lower, ""));
                let rank = ["md", "", "txt", "rst", "adoc"]
                    .iter()
                    .position(|known| *known == extension)?;
                (stem == "readme").then_some((rank, *name))
            })
            .min();
        let largest = || {
            files()
                .filter(|(name, _)| is_text(name))
                .max_by_key(|(name, size)| (*size, std::cmp::Reverse(*name)))
        };
        readme
            .map(|(_, name)| name)
            .or_else(|| largest().map(|(name, _)| *name))
    }
}

fn is_text(name: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "adoc", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "go", "h", "hpp", "html",
        "ini", "java", "js", "json", "jsonl", "kt", "lock", "log", "lua", "md", "mty", "org",
        "php", "pl", "py", "rb", "rs", "rst", "sh", "sql", "swift", "tex", "toml", "ts", "tsx",
        "txt", "xml", "yaml", "yml",
    ];
    const NAMES: &[&str] = &["Dockerfile", "LICENSE", "Makefile", "NOTICE"];
    match name.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.contains(&extension.to_lowercase().as_str()),
        None => NAMES.contains(&name),
    }
}

/// What a reading says: lines as `<number>\t<text>`, notes in brackets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reading {
    lines: u64,
    words: u64,
    truncated: bool,
}

impl Reading {
    fn parse(text: &str) -> Self {
        let mut reading = Self::default();
        for line in text.lines() {
            match line.split_once('\t') {
                Some((number, rest)) if number.trim().parse::<u64>().is_ok() => {
                    reading.lines += 1;
                    reading.words += rest.split_whitespace().count() as u64;
                }
                _ => reading.truncated |= line.starts_with("[truncated"),
            }
        }
        reading
    }
}

/// The first line of a tool's own words, clipped.
fn quote(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    line.chars()
        .filter(|c| !c.is_control())
        .take(QUOTE_CHARS)
        .collect::<String>()
        .trim_end_matches('.')
        .to_owned()
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_counted_and_a_file_is_chosen() {
        let text = ".: 1500 entries\n           -  src  two/\n          12  notes.md\n        \
                    link  README.md\n         900  a  b.rs\n      100000  photo.jpg\n[truncated]\n";
        let listing = Listing::parse(text);
        assert_eq!(
            (listing.total, listing.shown, listing.directories),
            (1500, 5, 1)
        );
        assert_eq!(
            listing.files,
            [("notes.md", 12), ("a  b.rs", 900), ("photo.jpg", 100_000)]
        );
        assert_eq!(listing.choose(), Some("a  b.rs"));
    }

    #[test]
    fn the_readme_comes_first_and_markdown_before_plain() {
        let text = "           1  readme\n           2  README.txt\n           3  ReadMe.md\n        9999  big.rs\n";
        assert_eq!(Listing::parse(text).choose(), Some("ReadMe.md"));
        assert_eq!(Listing::parse("").choose(), None);
        assert_eq!(
            Listing::parse("           1  READ\\nME.md\n").choose(),
            None
        );
    }

    #[test]
    fn readings_count_lines_and_words() {
        let text = "     1\tone two\n     2\t\n     3\t[truncated three\n[truncated: …]\n";
        let expected = Reading {
            lines: 3,
            words: 4,
            truncated: true,
        };
        assert_eq!(Reading::parse(text), expected);
        assert_eq!(Reading::parse("[the file is empty]\n"), Reading::default());
    }
}
