//! A session as one JSON object, written turn by turn.

use std::io::{self, Write};

use agent::{Answerer, Cost, Entry, Turn, TurnEnd};
use serde_json::{Value, json};

use crate::words::stamp;
use crate::{ExportError, MAX_DEPTH, Source, prices};

pub(crate) fn write(from: &Source<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let counts = from.archive.counts(&from.session.id);
    let costs: Vec<Value> = counts
        .costs
        .iter()
        .map(|(model, cost)| usage(model.as_ref(), cost))
        .collect();
    let about = json!({
        "id": from.session.id.as_str(),
        "title": from.session.title.as_ref().map(|title| title.as_str()),
        "cwd": from.session.cwd.as_ref().map(|cwd| cwd.as_str()),
        "began_at": stamp(counts.began_at),
        "ended_at": stamp(counts.ended_at),
        "turns": counts.turns,
        "activities": counts.calls,
        "failed_activities": counts.failed_calls,
        "compactions": counts.compactions,
        "worked_ms": counts.worked_ms,
        "usage": costs,
        "prices": {"date": prices::PRICES.date, "source": prices::PRICES.source},
    });
    write!(out, "{{\"session\":{about},\"turns\":[")?;
    let read = turns(from, 0, out);
    let whole = match &read {
        Err(ExportError::Write(_)) => return read,
        Err(ExportError::Read(_)) => false,
        Ok(()) => true,
    };
    writeln!(out, "],\"whole\":{whole}}}")?;
    read
}

fn turns(from: &Source<'_>, depth: usize, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut first = true;
    from.turns(&mut |turn| {
        if !std::mem::take(&mut first) {
            out.write_all(b",")?;
        }
        write_turn(from, depth, &turn, out)
    })
}

fn write_turn(from: &Source<'_>, depth: usize, turn: &Turn, out: &mut dyn Write) -> io::Result<()> {
    let about = json!({
        "number": turn.number,
        "began_at": stamp(turn.began_at),
        "took_ms": turn.ended_at.saturating_sub(turn.began_at),
        "outcome": turn.end.map(|end| match end {
            TurnEnd::Completed => "completed",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Failed | TurnEnd::CompactionRequired => "failed",
        }),
        "error_code": turn.error_code.as_ref().map(|code| code.as_str()),
        "usage": (turn.cost.requests > 0).then(|| usage(turn.model.as_ref(), &turn.cost)),
        "responses": turn.responses.iter().map(|(from, to)| json!({
            "after_ms": from.saturating_sub(turn.began_at),
            "took_ms": to.saturating_sub(*from),
        })).collect::<Vec<_>>(),
    });
    let about = about.to_string();
    write!(out, "{},\"entries\":[", open(&about))?;
    for (at, entry) in turn.entries.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        write_entry(from, depth, turn, entry, out)?;
    }
    out.write_all(b"]}")
}

fn write_entry(
    from: &Source<'_>,
    depth: usize,
    turn: &Turn,
    entry: &Entry,
    out: &mut dyn Write,
) -> io::Result<()> {
    let value = match entry {
        Entry::User(text) => json!({"type": "user", "text": text.as_str()}),
        Entry::Assistant { text, partial } => {
            json!({"type": "assistant", "text": text.as_str(), "partial": partial})
        }
        Entry::Reasoning(text) => json!({"type": "reasoning_summary", "text": text.as_str()}),
        Entry::Compaction {
            summary,
            tokens_before,
            tokens_after,
        } => json!({
            "type": "compaction", "summary": summary.as_str(),
            "tokens_before": tokens_before, "tokens_after": tokens_after,
        }),
        Entry::Diagnostic(text) => json!({"type": "diagnostic", "text": text.as_str()}),
        Entry::Call(call) => {
            let activity = json!({
                "type": "activity",
                "tool": call.name.as_str(),
                "about": call.about.as_str(),
                "outcome": call.failed.map(|failed| if failed { "failed" } else { "completed" }),
                "after_ms": call.began_at.saturating_sub(turn.began_at),
                "took_ms": call.ended_at.map(|ended| ended.saturating_sub(call.began_at)),
                "beneath": call.beneath,
                "input": call.input.as_str(),
                "output": call.output.as_str(),
            });
            let Some(task) = call.task.as_ref().filter(|_| depth < MAX_DEPTH) else {
                return write!(out, "{activity}");
            };
            let profile = json!(task.profile.as_ref().map(|name| name.as_str()));
            let activity = activity.to_string();
            let activity = open(&activity);
            write!(
                out,
                "{activity},\"subagent\":{{\"profile\":{profile},\"turns\":["
            )?;
            let read = turns(&from.of_task(task), depth + 1, out);
            if let Err(ExportError::Write(error)) = read {
                return Err(error);
            }
            return write!(out, "],\"whole\":{}}}}}", read.is_ok());
        }
    };
    write!(out, "{value}")
}

/// An object without the brace that closes it.
fn open(object: &str) -> &str {
    object.strip_suffix('}').unwrap_or(object)
}

fn usage(model: Option<&Answerer>, cost: &Cost) -> Value {
    json!({
        "provider": model.map(|model| model.provider.as_str()),
        "model": model.map(|model| model.model.as_str()),
        "requests": cost.requests,
        "input_tokens": cost.input,
        "output_tokens": cost.output,
        "cache_read_tokens": cost.cache_read,
        "usd": prices::dollars(model, cost),
    })
}
