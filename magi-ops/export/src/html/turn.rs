//! One turn of the page: what was said, rows of activities with their times, the timeline, the cost.

use std::io::{self, Write};

use agent::{Answerer, Call, Cost, Entry, Turn};

use super::escape::{Escaped, Told};
use super::timeline::{self, Kind};
use super::{dollars, markdown};
use crate::words::{duration, second, stamp, tokens};
use crate::{ExportError, MAX_DEPTH, Source, cost_words, ending};

pub(super) struct Page<'o> {
    pub(super) out: &'o mut dyn Write,
    /// Whether a price was shown.
    pub(super) priced: bool,
    depth: usize,
}

impl<'o> Page<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Self {
        Self {
            out,
            priced: false,
            depth: 0,
        }
    }

    pub(super) fn turn(&mut self, from: &Source<'_>, turn: &Turn) -> io::Result<()> {
        self.heading(from, turn)?;
        let mut entries = turn.entries.as_slice();
        while let Some((first, rest)) = entries.split_first() {
            if !matches!(first, Entry::Call(_)) {
                self.entry(first)?;
                entries = rest;
                continue;
            }
            self.out.write_all(b"<ul class=\"acts\">\n")?;
            while let Some((Entry::Call(call), rest)) = entries.split_first() {
                self.call(from, turn, call)?;
                entries = rest;
            }
            self.out.write_all(b"</ul>\n")?;
        }
        self.times(turn)?;
        self.out.write_all(b"</section>\n")
    }

    fn heading(&mut self, from: &Source<'_>, turn: &Turn) -> io::Result<()> {
        let n = turn.number;
        let out = &mut self.out;
        match (self.depth, n) {
            (0, 0) => return write!(out, "<section class=\"turn\">"),
            (0, _) => write!(
                out,
                "<section class=\"turn\" id=\"t{n}\"><header><h2><a href=\"#t{n}\">Turn {n}</a></h2>"
            )?,
            _ => {
                let profile = from.task.and_then(|task| task.profile.as_ref());
                let name = profile.map_or("Subagent", |name| name.as_str());
                write!(
                    out,
                    "<section class=\"turn\"><header><h2>{}</h2>",
                    Escaped(name)
                )?;
            }
        }
        let (began, took) = (turn.began_at, turn.ended_at.saturating_sub(turn.began_at));
        write!(
            out,
            "<time datetime=\"{}\">{}</time><span>{}</span>",
            stamp(began),
            second(began),
            duration(took)
        )?;
        if let Some(Answerer { model, .. }) = &turn.model {
            write!(out, "<span>{}</span>", Escaped(model.as_str()))?;
        }
        if let Some(word) = ending(turn) {
            write!(out, "<span class=\"tag {word}\">{word}")?;
            if let Some(code) = &turn.error_code {
                write!(out, ": {}", Escaped(code.as_str()))?;
            }
            out.write_all(b"</span>")?;
        }
        out.write_all(b"</header>\n")
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let out = &mut self.out;
        match entry {
            Entry::User(text) => {
                let text = Told(text.as_str().trim());
                writeln!(out, "<div class=\"user\" dir=\"auto\">{text}</div>")
            }
            Entry::Assistant { text, partial } => {
                let text = markdown::render(text.as_str());
                write!(out, "<div class=\"said\" dir=\"auto\">{text}")?;
                if *partial {
                    out.write_all(b"<p class=\"broke\">It broke off here.</p>")?;
                }
                out.write_all(b"</div>\n")
            }
            Entry::Reasoning(text) => {
                let text = markdown::render(text.as_str());
                writeln!(
                    out,
                    "<details class=\"thought\"><summary>Thinking</summary><div class=\"said\" dir=\"auto\">{text}</div></details>"
                )
            }
            Entry::Compaction {
                summary,
                tokens_before,
                tokens_after,
            } => {
                let (before, after) = (tokens(*tokens_before), tokens(*tokens_after));
                let text = markdown::render(summary.as_str());
                writeln!(
                    out,
                    "<details class=\"shortened\"><summary><span>Conversation shortened: {before} → {after} tokens</span></summary>\
                     <div class=\"said\" dir=\"auto\">{text}</div></details>"
                )
            }
            Entry::Diagnostic(text) => {
                let text = Told(text.as_str());
                writeln!(out, "<p class=\"note\" dir=\"auto\">{text}</p>")
            }
            // Rows stand in their list.
            Entry::Call(_) => Ok(()),
        }
    }

    fn call(&mut self, from: &Source<'_>, turn: &Turn, call: &Call) -> io::Result<()> {
        let kind = Kind::of(call);
        let state = match call.failed {
            None => "open",
            Some(_) => kind.class(),
        };
        let task = call.task.as_ref().filter(|_| self.depth < MAX_DEPTH);
        let has_body = task.is_some() || !call.input.is_empty() || !call.output.is_empty();
        let beneath = if call.beneath { " beneath" } else { "" };
        let (begin, end) = match has_body {
            true => ("<details><summary class=\"row", "</summary>"),
            false => ("<div class=\"row", "</div>"),
        };
        let (name, about) = (Told(call.name.as_str()), Told(call.about.as_str()));
        write!(
            self.out,
            "<li class=\"{state}\">{begin}{beneath}\"><span class=\"dot {state}\"></span>\
             <span class=\"what\"><span class=\"name\">{name}</span> <bdi class=\"about-it\">{about}</bdi></span>\
             <span class=\"track\" aria-hidden=\"true\">"
        )?;
        let took = match call.ended_at {
            Some(ended) => {
                timeline::bar(self.out, turn, kind, call.began_at, ended)?;
                duration(ended.saturating_sub(call.began_at))
            }
            None => "no end".to_owned(),
        };
        write!(self.out, "</span><span class=\"took\">{took}</span>{end}")?;
        if has_body {
            self.out.write_all(b"<div class=\"body\">")?;
            for (title, text) in [("Input", &call.input), ("Output", &call.output)] {
                if !text.is_empty() {
                    let text = Told(text.as_str());
                    write!(self.out, "<h3>{title}</h3><pre dir=\"auto\">{text}</pre>")?;
                }
            }
            if let Some(task) = task {
                self.depth += 1;
                let read = from.of_task(task);
                let read = read.turns(&mut |turn| self.turn(&read, &turn));
                self.depth -= 1;
                match read {
                    Err(ExportError::Write(error)) => return Err(error),
                    Err(ExportError::Read(_)) => self.out.write_all(
                        b"<p class=\"note\">What the subagent said can't be read.</p>",
                    )?,
                    Ok(()) => {}
                }
            }
            self.out.write_all(b"</div></details>")?;
        }
        self.out.write_all(b"</li>\n")
    }

    /// The timeline, what it comes to, and the cost.
    fn times(&mut self, turn: &Turn) -> io::Result<()> {
        if turn.number == 0 {
            return Ok(());
        }
        self.out.write_all(b"<div class=\"time\">")?;
        timeline::write(self.out, turn)?;
        self.out.write_all(b"<div class=\"legend\">")?;
        timeline::legend(self.out, turn)?;
        self.cost(turn.model.as_ref(), &turn.cost)?;
        self.out.write_all(b"</div></div>\n")
    }

    fn cost(&mut self, model: Option<&Answerer>, cost: &Cost) -> io::Result<()> {
        let dollars = dollars(model, cost);
        let Some(words) = cost_words(cost, dollars) else {
            return Ok(());
        };
        self.priced |= dollars.is_some();
        self.out.write_all(b"<div>")?;
        for word in words {
            write!(self.out, "<span>{word}</span>")?;
        }
        self.out.write_all(b"</div>")
    }
}
