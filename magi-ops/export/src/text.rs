//! A session as plain text for a terminal and as Markdown: what was said, and a line for each activity.

use std::io::{self, Write};

use agent::{Call, Entry, Turn};

use crate::words::{counted, duration, harmless, second, span, tokens};
use crate::{ExportError, MAX_DEPTH, Source, cost_words, ending, prices};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Terminal,
    Markdown,
}

pub(crate) fn write(
    from: &Source<'_>,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let counts = from.archive.counts(&from.session.id);
    let cwd = from.session.cwd.as_ref().map(|cwd| harmless(cwd.as_str()));
    let cost = cost_words(&counts.cost(), prices::dollars_of(&counts));
    let mut about = vec![
        from.session.id.to_string(),
        span(counts.began_at, counts.ended_at),
        format!(
            "{}, {}, {} of work",
            counted(counts.turns, "turn", "turns"),
            counted(counts.calls, "activity", "activities"),
            duration(counts.worked_ms)
        ),
    ];
    about.extend(cost.map(|words| words.join(", ")));
    let mut paper = Paper {
        style,
        out,
        depth: 0,
    };
    match style {
        Style::Terminal => {
            writeln!(paper.out, "{}", from.title())?;
            about.extend(cwd);
            for line in about {
                writeln!(paper.out, "  {line}")?;
            }
        }
        Style::Markdown => {
            writeln!(paper.out, "# {}\n", escaped(&from.title()))?;
            about[0] = code(&about[0]);
            about.extend(cwd.map(|cwd| code(&cwd)));
            for line in about {
                writeln!(paper.out, "- {line}")?;
            }
        }
    }
    let read = from.turns(&mut |turn| paper.turn(from, &turn));
    if let Err(ExportError::Read(_)) = read {
        paper.line("What follows in this session can't be read.")?;
    }
    read
}

struct Paper<'o> {
    style: Style,
    out: &'o mut dyn Write,
    depth: usize,
}

impl Paper<'_> {
    fn turn(&mut self, from: &Source<'_>, turn: &Turn) -> io::Result<()> {
        let mut about = vec![
            second(turn.began_at),
            duration(turn.ended_at.saturating_sub(turn.began_at)),
        ];
        let model = turn.model.as_ref();
        about.extend(model.map(|model| harmless(model.model.as_str())));
        let why = turn.error_code.as_ref();
        about.extend(ending(turn).map(|end| match why {
            Some(why) => format!("{end}: {}", harmless(why.as_str())),
            None => end.to_owned(),
        }));
        let about = about.join(" · ");
        match (self.style, turn.number, self.depth) {
            (_, 0, _) => {}
            (Style::Terminal, n, 0) => writeln!(self.out, "\n── {n} ── {about}")?,
            (Style::Markdown, n, 0) => writeln!(self.out, "\n## Turn {n}\n\n{about}")?,
            _ => self.line(&format!("↳ subagent · {about}"))?,
        }
        let mut after_call = false;
        for entry in &turn.entries {
            let is_call = matches!(entry, Entry::Call(_));
            if !(is_call && after_call) {
                writeln!(self.out)?;
            }
            after_call = is_call;
            self.entry(from, entry)?;
        }
        let dollars = prices::dollars(model, &turn.cost);
        if let Some(cost) = cost_words(&turn.cost, dollars) {
            self.line(&cost.join(", "))?;
        }
        Ok(())
    }

    fn entry(&mut self, from: &Source<'_>, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::User(text) => self.lines("> ", &harmless(text.as_str())),
            Entry::Assistant { text, partial } => {
                self.lines("", &harmless(text.as_str()))?;
                match partial {
                    true => self.line("(it broke off here)"),
                    false => Ok(()),
                }
            }
            Entry::Reasoning(text) => {
                self.lines("> ", &format!("Thinking: {}", harmless(text.as_str())))
            }
            Entry::Call(call) => self.call(from, call),
            Entry::Compaction {
                summary,
                tokens_before,
                tokens_after,
            } => {
                let (before, after) = (tokens(*tokens_before), tokens(*tokens_after));
                self.line(&format!(
                    "The conversation was shortened from {before} to {after} tokens:"
                ))?;
                self.lines("> ", &harmless(summary.as_str()))
            }
            Entry::Diagnostic(text) => self.lines("! ", &harmless(text.as_str())),
        }
    }

    fn call(&mut self, from: &Source<'_>, call: &Call) -> io::Result<()> {
        let indent = "  ".repeat(self.depth + usize::from(call.beneath));
        let took = call
            .ended_at
            .map(|ended| duration(ended.saturating_sub(call.began_at)));
        let (mark, end) = match call.failed {
            Some(false) => ("•", took),
            Some(true) => ("✗", took.map(|took| format!("failed, {took}"))),
            None => ("○", Some("without an end".to_owned())),
        };
        let end = end.map(|end| format!(" ({end})")).unwrap_or_default();
        let name = harmless(call.name.as_str());
        let about = harmless(call.about.as_str());
        match self.style {
            Style::Terminal => writeln!(self.out, "{indent}{mark} {name} {about}{end}")?,
            Style::Markdown => {
                let mark = if mark == "•" { "" } else { "**✗** " };
                let line = code(format!("{name} {about}").trim());
                writeln!(self.out, "{indent}- {mark}{line}{end}")?;
            }
        }
        let task = call.task.as_ref().filter(|_| self.depth < MAX_DEPTH);
        if let Some(task) = task {
            self.depth += 1;
            let mut done = Ok(());
            let read = from.of_task(task).turns(&mut |turn| self.turn(from, &turn));
            match read {
                Err(ExportError::Write(error)) => done = Err(error),
                Err(ExportError::Read(_)) => {
                    done = self.line("What the subagent said can't be read.");
                }
                Ok(()) => {}
            }
            self.depth -= 1;
            return done;
        }
        Ok(())
    }

    /// A paragraph of its own.
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out)?;
        match self.style {
            Style::Terminal => self.lines("  ", text),
            Style::Markdown => self.lines("", &format!("*{text}*")),
        }
    }

    /// A text of many lines, each with a mark in front that is quoted.
    fn lines(&mut self, mark: &str, text: &str) -> io::Result<()> {
        let indent = match self.depth {
            0 => String::new(),
            depth => "  ".repeat(depth),
        };
        for line in text.trim_end().lines() {
            writeln!(self.out, "{indent}{}", format!("{mark}{line}").trim_end())?;
        }
        Ok(())
    }
}

/// As a span of code, whatever it holds.
fn code(text: &str) -> String {
    let mut longest = 0;
    for run in text.split(|c| c != '`') {
        longest = longest.max(run.len());
    }
    let ticks = "`".repeat(longest + 1);
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{ticks} {text} {ticks}"),
        false => format!("{ticks}{text}{ticks}"),
    }
}

/// A line of words that Markdown takes for nothing else.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "\\`*_{}[]<>#|&!~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_in_markdown() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(escaped("<img> *x*"), "\\<img\\> \\*x\\*");
    }
}
