//! Turns: what they cost beyond the model, how soon a word is out, how soon a cancelled one ends, what stays in memory.
//! Prints figures; judges none.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, DIALECTS, Place, Turn, member};
use crate::model::{Model, Plan, Wire};
use crate::peer::{Peer, quantile, ratio};

/// What a delta of the measured turns says.
const WORD: &str = "x123456 ";

/// The turn in the middle by time, and what the child's processors did for each.
fn turns(agent: &mut Agent, mut between: impl FnMut()) -> (Turn, Duration) {
    const TURNS: u32 = 40;
    // The first one makes files and connections.
    agent.turn();
    let before = agent.processor_time();
    let mut turns: Vec<_> = (0..TURNS)
        .map(|_| {
            between();
            agent.turn()
        })
        .collect();
    let processor = agent.processor_time() - before;
    turns.sort_unstable_by_key(|turn| turn.took);
    (turns.swap_remove(turns.len() / 2), processor / TURNS)
}

/// Turns of the offline provider and over both wires, the flushed append included; over a wire beside a
/// bare client of the same server, in turns.
pub(crate) fn overhead(program: &Path) {
    let model = Model::start();
    for dialect in DIALECTS {
        for wire in [None, Some(Wire::OpenaiChat), Some(Wire::Anthropic)] {
            let mut short = Duration::ZERO;
            for deltas in [1, 2000] {
                let place = match wire {
                    None => Place::with_steps(&format!(r#"{{"repeat":{deltas},"text":"{WORD}"}}"#)),
                    Some(wire) => Place::with_settings(&model.settings(wire)),
                };
                model.play(Plan {
                    texts: vec![WORD.to_owned(); deltas],
                    pace: None,
                });
                let mut agent = Agent::start(program, &place, dialect);
                let mut bare = model.connect();
                let (mut floor, mut flushes) = (vec![Duration::ZERO], Vec::new());
                let mut file = std::fs::File::create(place.home().join("bare")).unwrap();
                let (turn, processor) = turns(&mut agent, || {
                    floor.extend(wire.map(|wire| bare.exchange(wire)));
                    flushes.push(flushed_append(&mut file));
                });
                let (floor, flush) = (quantile(&mut floor, 0.5), quantile(&mut flushes, 0.5));
                let over = turn.took.saturating_sub(floor);
                println!(
                    "turn of {deltas:>4}, {:<11} {:<11} {over:>9.2?} beyond the model's {floor:>8.2?}; a bare flushed append {flush:>8.2?}; processor {processor:>8.2?}; {} events of {} B, {} B in all",
                    dialect.name(),
                    wire.map_or("fixture", Wire::api),
                    turn.deltas,
                    turn.delta_bytes / turn.deltas.max(1),
                    turn.bytes,
                );
                match deltas {
                    1 => short = over,
                    _ => println!("    {:.2?} a delta more", over.saturating_sub(short) / 1999),
                }
                agent.peer.end();
            }
        }
    }
}

/// What the disk asks for one record; a turn asks for two.
fn flushed_append(file: &mut std::fs::File) -> Duration {
    let begun = Instant::now();
    file.write_all(&[b'x'; 512]).unwrap();
    file.sync_data().unwrap();
    begun.elapsed()
}

/// From the moment a word's event is written to the server's socket to the moment its delta is read from
/// standard output, beside a bare process that hands a line on.
pub(crate) fn latency(program: &Path, bare: &Path) {
    const WORDS: usize = 2000;
    let mut peer = Peer::start(&mut std::process::Command::new(bare));
    let mut floor: Vec<_> = (0..WORDS)
        .map(|n| {
            std::thread::sleep(Duration::from_millis(1));
            let begun = Instant::now();
            peer.ask(format!("w{n:05} \n").as_bytes());
            begun.elapsed()
        })
        .collect();
    peer.end();
    let (f50, f99) = (quantile(&mut floor, 0.5), quantile(&mut floor, 0.99));
    println!("bare process, line in to line out      p50 {f50:>9.2?}  p99 {f99:>9.2?}");
    let model = Model::start();
    for dialect in DIALECTS {
        for wire in [Wire::OpenaiChat, Wire::Anthropic] {
            model.play(Plan {
                texts: (0..WORDS).map(|n| format!("w{n:05} ")).collect(),
                pace: Some(Duration::from_millis(1)),
            });
            let place = Place::with_settings(&model.settings(wire));
            let mut agent = Agent::start(program, &place, dialect);
            let mut read = Vec::with_capacity(WORDS);
            agent.turn_with(|line, at| {
                // A delta may hold several words: each came out now.
                let words = member(line, "text").split_whitespace().count();
                read.extend(std::iter::repeat_n(at, words));
            });
            let written = model.written();
            assert_eq!((read.len(), written.len()), (WORDS, WORDS));
            let mut times: Vec<_> = written
                .iter()
                .zip(&read)
                .map(|(written, read)| read.saturating_duration_since(*written))
                .collect();
            let (p50, p99) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
            println!(
                "byte in to byte out, {:<11} {:<11} p50 {p50:>8.2?} {:.1}x  p99 {p99:>8.2?} {:.1}x",
                dialect.name(),
                wire.api(),
                ratio(p50, f50),
                ratio(p99, f99),
            );
            agent.peer.end();
        }
    }
}

/// From the request to cancel to the terminal event: while words come, while the model is silent, in a
/// command that ends when asked and in one that does not.
pub(crate) fn cancel(program: &Path) {
    const TIMES: usize = 20;
    let cases = [
        (
            "words are coming",
            r#"{"repeat":1000000,"text":"x123456 ","delay_ms":1}"#,
        ),
        (
            "the model is silent",
            r#"{"text":"x123456 "},{"wait_ms":60000}"#,
        ),
        (
            "a command runs",
            r#"{"text":"x123456 "},{"tool":"bash","input":{"command":"sleep 600"}},{"text":"end"}"#,
        ),
        (
            "it ignores SIGTERM",
            r#"{"text":"x123456 "},{"tool":"bash","input":{"command":"trap '' TERM; while :; do sleep 600; done"}},{"text":"end"}"#,
        ),
    ];
    for dialect in DIALECTS {
        for (name, steps) in cases {
            let place = Place::with_steps(steps);
            let mut agent = Agent::start(program, &place, dialect);
            let mut times: Vec<_> = (0..TIMES)
                .map(|_| {
                    let id = agent.begin();
                    agent.wait_for_delta();
                    if steps.contains("bash") {
                        wait_for_command(&agent);
                    }
                    let took = agent.cancel(&id);
                    agent.settle();
                    took
                })
                .collect();
            println!(
                "cancel to terminal, {:<11} {name:<20} p50 {:>9.2?}  most {:>9.2?}",
                dialect.name(),
                quantile(&mut times, 0.5),
                quantile(&mut times, 1.0),
            );
            agent.peer.end();
        }
    }
}

/// Until `sleep` runs below the child. Not before: a cancelled start is another matter.
fn wait_for_command(agent: &Agent) {
    let until = Instant::now() + Duration::from_secs(20);
    while !descends(agent.peer.child.id(), 0) {
        assert!(Instant::now() < until, "the command does not start");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a `sleep` runs below `pid`.
fn descends(pid: u32, depth: usize) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    tasks.flatten().any(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().any(|child| {
            let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            name.trim() == "sleep"
                || (depth < 8 && child.parse().is_ok_and(|pid| descends(pid, depth + 1)))
        })
    })
}

/// A thousand turns of one session: what stays, beside the words that were said, and what the last turns
/// cost beside the first.
pub(crate) fn memory(program: &Path) {
    const WORDS: usize = 20;
    for dialect in DIALECTS {
        let place = Place::with_steps(&format!(r#"{{"repeat":{WORDS},"text":"{WORD}"}}"#));
        let mut agent = Agent::start(program, &place, dialect);
        let mut resident = Vec::new();
        let (mut costs, mut processor) = (Vec::new(), Vec::new());
        let mut times = Vec::new();
        let mut before = Duration::ZERO;
        for turn in 1..=1000 {
            times.push(agent.turn().took);
            if [50, 450, 950].contains(&turn) {
                before = agent.processor_time();
            }
            if [100, 500, 1000].contains(&turn) {
                processor.push((agent.processor_time() - before) / 50);
                resident.push(agent.peer.rss_kib());
                let last = times.len().saturating_sub(50);
                costs.push(quantile(&mut times[last..], 0.5));
            }
        }
        let file = std::fs::read_dir(place.home().join("sessions"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
            .map(|entry| entry.metadata().unwrap().len())
            .sum::<u64>();
        println!(
            "resident after 100, 500, 1000 turns, {:<11} {resident:?} KiB; {} B of words a turn, file {} KiB; of the last 50, a turn {costs:.2?}, processor {processor:.2?}",
            dialect.name(),
            WORDS * WORD.len() + "go".len(),
            file / 1024,
        );
        agent.peer.end();
    }
}
