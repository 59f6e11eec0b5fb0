//! A session as one page of HTML that needs nothing else: no script, no request, its own styles. Written turn by turn;
//! texts of the session come into it escaped or through `markdown` only.

use std::io::{self, Write};

use agent::{Cost, Counts};

use crate::words::{counted, duration, harmless, money, span, tokens};
use crate::{ExportError, Source, prices};

mod escape;
mod markdown;
mod timeline;
mod turn;

use escape::Escaped;
use turn::Page;

static STYLE: &str = include_str!("page.css");

pub(crate) fn write(from: &Source<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let counts = from.archive.counts(&from.session.id);
    begin(from, &counts, out)?;
    let mut page = Page::new(out);
    let read = from.turns(&mut |turn| page.turn(from, &turn));
    let Page { out, priced, .. } = page;
    if let Err(ExportError::Read(_)) = read {
        out.write_all(b"<p class=\"note failed\">What follows in this session can't be read.</p>")?;
    }
    end(priced, out)?;
    read
}

fn begin(from: &Source<'_>, counts: &Counts, out: &mut dyn Write) -> io::Result<()> {
    let title = from.title();
    let title = Escaped(&title);
    // The style is the page's own, and there is nothing else that a browser may do.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )?;
    // One turn needs no list.
    let lists = counts.lines.len() > 1;
    let class = if lists { "frame has-turns" } else { "frame" };
    writeln!(out, "<div class=\"{class}\">")?;
    if lists {
        out.write_all(b"<nav class=\"turns\" aria-label=\"Turns\"><h2>Turns</h2><ol>\n")?;
        for (at, (line, failed)) in counts.lines.iter().enumerate() {
            let n = at + 1;
            let class = if *failed { " class=\"failed\"" } else { "" };
            let line = harmless(line.as_str());
            let line = Escaped(&line);
            writeln!(
                out,
                "<li><a href=\"#t{n}\"{class}><span>{n}</span><bdi>{line}</bdi></a></li>"
            )?;
        }
        out.write_all(b"</ol></nav>\n")?;
    }
    write!(
        out,
        "<main class=\"page\">\n<h1 dir=\"auto\">{title}</h1>\n<p class=\"about\">"
    )?;
    if let Some(cwd) = &from.session.cwd {
        let cwd = harmless(cwd.as_str());
        write!(out, "<bdi>{}</bdi>", Escaped(&cwd))?;
    }
    writeln!(
        out,
        "<span>{}</span><span class=\"id\">{}</span></p>",
        span(counts.began_at, counts.ended_at),
        from.session.id
    )?;
    figures(counts, out)
}

/// What the session comes to.
fn figures(counts: &Counts, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<dl class=\"figures\">")?;
    let mut figure = |name: &str, value: &str, beside: Option<String>| {
        let beside = beside.map(|beside| format!("<small>{beside}</small>"));
        let beside = beside.unwrap_or_default();
        write!(out, "<div><dt>{name}</dt><dd>{value}{beside}</dd></div>")
    };
    let shortened =
        (counts.compactions > 0).then(|| counted(counts.compactions, "compaction", "compactions"));
    figure("Turns", &counts.turns.to_string(), shortened)?;
    figure("Time worked", &duration(counts.worked_ms), None)?;
    let failed = (counts.failed_calls > 0).then(|| format!("{} failed", counts.failed_calls));
    figure("Activities", &counts.calls.to_string(), failed)?;
    let cost = counts.cost();
    if cost.requests > 0 {
        let cached = cost.cache_read.filter(|read| *read > 0);
        let cached = cached.map(|read| format!("{} cached", tokens(read)));
        figure("Tokens in", &tokens(cost.input), cached)?;
        figure("Tokens out", &tokens(cost.output), None)?;
    }
    if let Some(dollars) = prices::dollars_of(counts) {
        figure("Cost", &money(dollars), None)?;
    }
    out.write_all(b"</dl>\n")
}

/// `priced`: something of the page is a price.
fn end(priced: bool, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<footer>")?;
    if priced {
        let (date, source) = (&prices::PRICES.date, &prices::PRICES.source);
        write!(
            out,
            "<p>Costs are tokens at the list prices of {date} \
             (<a href=\"{source}\" rel=\"noreferrer\">source</a>), without what is taken for writing a cache, for long \
             conversations and for speed.</p>",
        )?;
    }
    out.write_all(b"<p>Times are UTC. Written by magi-code.</p></footer>\n</main>\n</div>\n</body>\n</html>\n")
}

/// Whether a price is known and shown of it.
fn dollars(model: Option<&agent::Answerer>, cost: &Cost) -> Option<f64> {
    prices::dollars(model, cost)
}
