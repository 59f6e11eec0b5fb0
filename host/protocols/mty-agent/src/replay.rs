//! Replay of recorded mty-agent exchanges (spec: mty-agent, "Replay"). Knows neither ops nor transports, and
//! prints nothing: what it found is its caller's to say.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use host::Connection;
use host::serve::sequential::{Trailing, Unobserved, exchange, trimmed};

use crate::codec::MtyAgent;
use crate::record::{LINE_BYTES, Pair};
use crate::rules::EXIT_PROTOCOL;
use crate::wire::{self, second_object};

/// Characters of a response line that a drift's summary shows.
const SHOWN_CHARS: usize = 160;

/// What a replay found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Pairs that were replayed.
    pub pairs: usize,
    pub drifted: Vec<Drift>,
}

/// A response that is not the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub struct Drift {
    /// The pair's line in the file, from 1.
    pub line: usize,
    /// Where the two responses part, in one line of bounded length.
    pub summary: String,
}

/// The recorded file cannot be replayed to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("cannot read the recorded session: {0}")]
    Io(#[from] io::Error),
    #[error("line {line} of the recorded session is not a request/response pair: {reason}")]
    Line { line: usize, reason: String },
}

/// The sessions in which the requests of a recording run.
pub enum Sessions<'s> {
    /// All in this one, each once: for requests that change files.
    One(&'s Arc<Connection>),
    /// Each in a fresh one, or where that gives another response in one that an earlier request left: a recording
    /// does not say which connection a pair belongs to, and those of several stand in it one among the other.
    Any(&'s (dyn Fn() -> Arc<Connection> + Sync)),
}

/// Sessions that requests left, which are kept for later ones.
const KEPT: usize = crate::rules::REQUESTS;

/// Runs every recorded request in order and compares the responses byte by byte.
///
/// # Errors
/// When the file cannot be read to its end, or a line is no pair.
pub async fn replay(path: &Path, sessions: Sessions<'_>) -> Result<ReplayReport, ReplayError> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut report = ReplayReport::default();
    let mut text = Vec::new();
    // The latest first.
    let mut left = VecDeque::new();
    loop {
        text.clear();
        let line = report.pairs + 1;
        // One more for the LF and one to tell a line at the bound from a longer one.
        (&mut lines)
            .take(LINE_BYTES as u64 + 2)
            .read_until(b'\n', &mut text)?;
        if text.is_empty() {
            return Ok(report);
        }
        let pair = pair(&text).map_err(|reason| ReplayError::Line { line, reason })?;
        if let Some(summary) = drift(&sessions, &mut left, &pair).await? {
            report.drifted.push(Drift { line, summary });
        }
        report.pairs = line;
    }
}

async fn drift(
    sessions: &Sessions<'_>,
    left: &mut VecDeque<Arc<Connection>>,
    pair: &Pair<'_>,
) -> io::Result<Option<String>> {
    if was_refused(pair) {
        return Ok(None);
    }
    let recorded = pair.response.as_bytes();
    let fresh = match sessions {
        Sessions::One(session) => Arc::clone(session),
        Sessions::Any(fresh) => fresh(),
    };
    let live = answer(&fresh, pair).await?;
    let is_any = matches!(sessions, Sessions::Any(_));
    if live == recorded {
        if is_any {
            left.push_front(fresh);
            left.truncate(KEPT);
        }
        return Ok(None);
    }
    // What a request lacks in a fresh session it may have had in its own.
    if is_any && says_error(&live) {
        for at in 0..left.len() {
            if answer(&left[at], pair).await? == recorded {
                let own = left.remove(at);
                own.into_iter().for_each(|own| left.push_front(own));
                return Ok(None);
            }
        }
    }
    Ok(Some(first_difference(&pair.response, &live)))
}

fn says_error(response: &[u8]) -> bool {
    let mut lines = response.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(br#"{"kind":"error""#))
}

async fn answer(session: &Arc<Connection>, pair: &Pair<'_>) -> io::Result<Vec<u8>> {
    let mut live = Vec::new();
    let request = pair.request.as_bytes();
    exchange::<MtyAgent, _, Unobserved>(session, request, Trailing::Report, &mut live, None)
        .await?;
    Ok(live)
}

fn pair(text: &[u8]) -> Result<Pair<'_>, String> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.len() > LINE_BYTES {
        return Err(format!("longer than {LINE_BYTES} bytes"));
    }
    // An array would pass for an object otherwise.
    if trimmed(text).first() != Some(&b'{') {
        return Err("expected a JSON object".to_owned());
    }
    serde_json::from_slice(text).map_err(|error| wire::clip(&error.to_string()).into_owned())
}

/// Whether the recorded response is the refusal that a request like this one gets without being run, where
/// a record does not say enough to ask for it again. Two requests are so: a line with a second object,
/// which a body may hold and a line may not; and bytes that are not UTF-8, which a JSON record keeps as
/// U+FFFD. A refusal leaves no trace in the session, so to recognize it is to replay it.
fn was_refused(pair: &Pair<'_>) -> bool {
    let refusal = |message: &str| {
        let mut out = Vec::new();
        wire::push_error(&mut out, message);
        wire::push_done(&mut out, EXIT_PROTOCOL);
        out == pair.response.as_bytes()
    };
    // Trimmed, for a file may have been edited since it was recorded.
    let text = trimmed(pair.request.as_bytes());
    let second = wire::decode(text)
        .ok()
        .and_then(|request| second_object(text, &request));
    second.is_some_and(|message| refusal(&message))
        || (pair.response.contains("invalid UTF-8 at byte")
            // Everything before the first replaced byte is as it was sent.
            && pair.request.match_indices('\u{fffd}').any(|(at, _)| {
                wire::decode(&[&pair.request.as_bytes()[..at], b"\xff"].concat()).is_err_and(|message| refusal(&message))
            }))
}

fn first_difference(recorded: &str, live: &[u8]) -> String {
    let live = String::from_utf8_lossy(live);
    let mut recorded = recorded.split_inclusive('\n');
    let mut live = live.split_inclusive('\n');
    let mut number = 1;
    loop {
        let (was, is) = (recorded.next(), live.next());
        if was != is || was.is_none() {
            let both = was.zip(is);
            let both = both
                .into_iter()
                .flat_map(|(was, is)| was.chars().zip(is.chars()));
            let common = both.take_while(|(was, is)| was == is).count();
            let (was, is) = (shown(was, common), shown(is, common));
            return format!("response line {number}: recorded {was}, got {is}");
        }
        number += 1;
    }
}

/// A stretch of a line around its character `at`, escaped: a recording may hold anything, a terminal's
/// commands too.
fn shown(line: Option<&str>, at: usize) -> String {
    let Some(line) = line else {
        return "nothing".to_owned();
    };
    let start = at.saturating_sub(SHOWN_CHARS / 4);
    let mut rest = line.chars().skip(start);
    let stretch = format!("{:?}", rest.by_ref().take(SHOWN_CHARS).collect::<String>());
    let before = if start > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{stretch}{after}")
}
