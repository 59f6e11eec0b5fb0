//! What `chat` has to show, whatever it is shown on, and what is the same wherever it is.
//! Decides nothing of the conversation.

use std::collections::HashMap;
use std::io;
use std::time::Instant;

use consumer::local_agent::{ActivityState, Segment};

use crate::client::reasons::Tokens;

/// Where a conversation is shown. Every text may be the child's: none of it may steer a terminal.
pub(super) trait View {
    /// A turn begins.
    fn begin(&mut self) -> io::Result<()>;
    /// What is new of a segment of the answer.
    fn segment(&mut self, segment: &Segment) -> io::Result<()>;
    fn activity(&mut self, state: ActivityState, name: &str, summary: &str) -> io::Result<()>;
    /// Something about the conversation.
    fn remark(&mut self, text: &str) -> io::Result<()>;
    /// What came of a turn that went well; said where there is room for it.
    fn note(&mut self, text: &str) -> io::Result<()>;
    /// What the person asked the chat itself for.
    fn say(&mut self, text: &str) -> io::Result<()>;
    /// Something the person has to decide; nothing is shown until then.
    fn question(&mut self, text: &str) -> io::Result<()>;
    /// What goes on.
    fn status(&mut self, about: &About<'_>) -> io::Result<()>;
    /// Nothing goes on any more.
    fn rest(&mut self) -> io::Result<()>;
}

/// What goes on in a turn.
pub(super) struct About<'a> {
    /// What runs, the newest last.
    pub(super) running: &'a [(String, String)],
    pub(super) since: Instant,
    /// Of this turn.
    pub(super) tokens: Tokens,
    pub(super) cancelling: bool,
}

impl About<'_> {
    /// What runs, how long, how many tokens, and how to end it.
    pub(super) fn line(&self, now: Instant) -> String {
        let what = match self.running {
            _ if self.cancelling => "cancelling".to_owned(),
            [] => "thinking".to_owned(),
            [.., (_, last)] if self.running.len() == 1 => last.clone(),
            [.., (_, last)] => format!("{last} (and {} more)", self.running.len() - 1),
        };
        let time = duration(now.saturating_duration_since(self.since).as_secs());
        let Tokens { input, output } = self.tokens;
        let tokens = match (input, output) {
            (0, 0) => String::new(),
            _ => format!(" · tokens {} in, {} out", short(input), short(output)),
        };
        let end = if self.cancelling {
            "Ctrl-C again leaves"
        } else {
            "Ctrl-C cancels"
        };
        // What matters stands first where the terminal is narrow.
        format!("{time}{tokens} · {what} · {end}")
    }
}

fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) if minutes < 60 => format!("{minutes} min {seconds:02} s"),
        (minutes, _) => format!("{} h {:02} min", minutes / 60, minutes % 60),
    }
}

/// A number of tokens as people read it.
pub(super) fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// One line on a call; summaries of tools mostly begin with the tool's name.
pub(super) fn about_call(name: &str, summary: &str) -> String {
    let named = summary
        .strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']));
    match summary {
        "" => name.to_owned(),
        summary if named => summary.to_owned(),
        summary => format!("{name}: {summary}"),
    }
}

/// What is new of a segment beyond what was shown, how much of its stream is shown then, and whether it takes the place of
/// what was: streamed words are shown up to the first hole, and the rest once the authoritative copy is here.
pub(super) fn new_text<'s>(
    segment: &'s Segment,
    shown: &HashMap<String, usize>,
) -> (&'s str, usize, bool) {
    let shown = shown.get(segment.message_id()).copied().unwrap_or(0);
    if !segment.is_settled() {
        let prefix = segment.prefix();
        return (prefix.get(shown..).unwrap_or_default(), prefix.len(), false);
    }
    let said = segment.streamed().get(..shown).unwrap_or_default();
    match segment.text().strip_prefix(said) {
        Some(rest) => (rest, shown, false),
        None => (segment.text(), shown, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_status_says_what_runs_how_long_and_how_many_tokens() {
        let since = Instant::now();
        let running = [("a", "read README.md"), ("b", "bash cargo")]
            .map(|(id, what)| (id.to_owned(), what.to_owned()));
        let line = |running, seconds, input, output, cancelling| {
            let about = About {
                running,
                since,
                tokens: Tokens { input, output },
                cancelling,
            };
            about.line(since + Duration::from_secs(seconds))
        };
        assert_eq!(line(&[], 0, 0, 0, false), "0 s · thinking · Ctrl-C cancels");
        assert_eq!(
            line(&running[..1], 75, 12_345, 678, false),
            "1 min 15 s · tokens 12.3k in, 678 out · read README.md · Ctrl-C cancels"
        );
        assert_eq!(
            line(&running, 7_320, 0, 2_500_000, true),
            "2 h 02 min · tokens 0 in, 2.5M out · cancelling · Ctrl-C again leaves"
        );
        assert!(line(&running, 1, 0, 0, false).contains("bash cargo (and 1 more)"));
    }
}
