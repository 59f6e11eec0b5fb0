//! Where the time of a turn went, as lanes of bars: what overlaps stands below each other.

use std::io::{self, Write};

use agent::{Entry, Turn};

use crate::words::duration;

/// Most lanes; what finds no room shares the last one.
const MAX_LANES: usize = 6;
/// What ends nearer than this before the next of its kind is drawn as one, in thousandths of the turn.
const NEAR: u64 = 1;

/// What a bar stands for, as the style has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Model,
    Tool,
    Subagent,
    Failed,
}

impl Kind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Subagent => "agent",
            Self::Failed => "failed",
        }
    }

    pub(super) fn of(call: &agent::Call) -> Self {
        match (call.failed, &call.task) {
            (Some(true), _) => Self::Failed,
            (_, Some(_)) => Self::Subagent,
            _ => Self::Tool,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bar {
    kind: Kind,
    from: u64,
    to: u64,
}

/// The place of a stretch of time in a turn, in percent: where it begins and how wide it is.
pub(super) fn place(turn: &Turn, from: u64, to: u64) -> (f64, f64) {
    let whole = turn.ended_at.saturating_sub(turn.began_at).max(1) as f64;
    let at = |moment: u64| {
        let since = moment.clamp(turn.began_at, turn.ended_at.max(turn.began_at)) - turn.began_at;
        since as f64 / whole * 100.0
    };
    (at(from), at(to) - at(from))
}

/// A bar in a track.
pub(super) fn bar(
    out: &mut dyn Write,
    turn: &Turn,
    kind: Kind,
    from: u64,
    to: u64,
) -> io::Result<()> {
    let (left, width) = place(turn, from, to);
    let class = kind.class();
    write!(
        out,
        "<i class=\"{class}\" style=\"left:{left:.2}%;width:{width:.2}%\"></i>"
    )
}

/// The lanes, and what they come to; nothing of a turn that took no time.
pub(super) fn write(out: &mut dyn Write, turn: &Turn) -> io::Result<()> {
    let lanes = lanes(turn);
    if lanes.is_empty() || turn.ended_at <= turn.began_at {
        return Ok(());
    }
    out.write_all(b"<div class=\"lanes\" aria-hidden=\"true\">")?;
    for lane in &lanes {
        out.write_all(b"<div class=\"track\">")?;
        for one in lane {
            bar(out, turn, one.kind, one.from, one.to)?;
        }
        out.write_all(b"</div>")?;
    }
    out.write_all(b"</div>")
}

/// How long a model, tools and subagents were at work, each with its mark.
pub(super) fn legend(out: &mut dyn Write, turn: &Turn) -> io::Result<()> {
    out.write_all(b"<div>")?;
    for (kind, name) in [
        (Kind::Model, "model"),
        (Kind::Tool, "tools"),
        (Kind::Subagent, "subagents"),
    ] {
        let mut stretches: Vec<(u64, u64)> = bars(turn)
            .filter(|bar| match bar.kind {
                Kind::Failed => kind == Kind::Tool,
                own => own == kind,
            })
            .map(|bar| (bar.from, bar.to))
            .collect();
        if !stretches.is_empty() {
            let (class, took) = (kind.class(), duration(covered(&mut stretches)));
            write!(out, "<span><i class=\"{class}\"></i>{name} {took}</span>")?;
        }
    }
    out.write_all(b"</div>")
}

/// How long at least one of these lasted.
fn covered(stretches: &mut [(u64, u64)]) -> u64 {
    stretches.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (from, to) in stretches {
        let from = until.max(*from);
        sum += to.saturating_sub(from);
        until = until.max(*to);
    }
    sum
}

fn bars(turn: &Turn) -> impl Iterator<Item = Bar> {
    let responses = turn.responses.iter().map(|(from, to)| Bar {
        kind: Kind::Model,
        from: *from,
        to: *to,
    });
    let calls = turn.entries.iter().filter_map(|entry| match entry {
        // What another call made stands within that.
        Entry::Call(call) if !call.beneath && call.began_at > 0 => Some(Bar {
            kind: Kind::of(call),
            from: call.began_at,
            to: call.ended_at.unwrap_or(turn.ended_at),
        }),
        _ => None,
    });
    responses.chain(calls)
}

fn lanes(turn: &Turn) -> Vec<Vec<Bar>> {
    let mut all: Vec<Bar> = bars(turn).collect();
    all.sort_by_key(|bar| (bar.from, bar.to));
    let near = (turn.ended_at.saturating_sub(turn.began_at)) * NEAR / 1000;
    let mut lanes: Vec<Vec<Bar>> = Vec::new();
    for bar in all {
        let free = |lane: &&mut Vec<Bar>| lane.last().is_none_or(|last| last.to <= bar.from);
        let at = lanes.iter_mut().position(|lane| free(&lane));
        let lane = match at {
            Some(at) => at,
            None if lanes.len() < MAX_LANES => {
                lanes.push(Vec::new());
                lanes.len() - 1
            }
            None => MAX_LANES - 1,
        };
        let lane = &mut lanes[lane];
        match lane.last_mut() {
            // So many bars would be drawn over each other.
            Some(last)
                if last.kind == bar.kind
                    && bar.from.saturating_sub(last.to) < near.max(1)
                    && bar.to - bar.from < near =>
            {
                last.to = last.to.max(bar.to);
            }
            _ => lane.push(bar),
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(responses: Vec<(u64, u64)>) -> Turn {
        Turn {
            began_at: 1000,
            ended_at: 2000,
            responses,
            ..Turn::default()
        }
    }

    #[test]
    fn what_overlaps_stands_below() {
        let lanes = lanes(&turn(vec![
            (1000, 1500),
            (1400, 1600),
            (1500, 2000),
            (1450, 1460),
        ]));
        let times = |lane: &Vec<Bar>| {
            lane.iter()
                .map(|bar| (bar.from, bar.to))
                .collect::<Vec<_>>()
        };
        let times: Vec<_> = lanes.iter().map(times).collect();
        assert_eq!(
            times,
            [
                vec![(1000, 1500), (1500, 2000)],
                vec![(1400, 1600)],
                vec![(1450, 1460)]
            ]
        );
    }

    #[test]
    fn bars_are_bounded_and_within_their_turn() {
        let many = (0..100_000)
            .map(|n| (1000 + n / 100, 1000 + n / 100))
            .collect();
        let lanes = lanes(&turn(many));
        assert!(lanes.iter().map(Vec::len).sum::<usize>() <= MAX_LANES * 1001);
        assert_eq!(place(&turn(vec![]), 500, 5000), (0.0, 100.0));
        assert_eq!(place(&Turn::default(), 5, 6), (0.0, 0.0));
        assert_eq!(covered(&mut [(10, 20), (0, 5), (15, 30)]), 25);
    }
}
