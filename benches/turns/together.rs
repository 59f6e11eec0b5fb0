//! Sixteen turns at once: in one service process beside sixteen processes with one each. Prints figures; judges none.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Dialect, Place};
use crate::peer::{quantile, ratio};

/// As many as one process lets run.
const TURNS: usize = 16;
const ROUNDS: usize = 15;

/// Rounds in turns of both ways, each from the first request to the last terminal event.
pub(crate) fn together(program: &Path) {
    let command = r#"{"tool":"bash","input":{"command":"seq 20000 | sha256sum"}}"#;
    for (what, steps) in [
        (
            "2,000 deltas",
            r#"{"repeat":2000,"text":"x123456 "}"#.to_owned(),
        ),
        ("4 commands", [command; 4].join(",")),
    ] {
        let place = Place::with_steps(&steps);
        let mut one = Agent::start(program, &place, Dialect::Service);
        let mut sessions = vec![one.session.clone()];
        sessions.extend((1..TURNS).map(|_| one.another_session()));
        let mut many: Vec<_> = (0..TURNS)
            .map(|_| Agent::start(program, &place, Dialect::Service))
            .collect();
        let (mut in_one, mut in_many) = (Vec::new(), Vec::new());
        // The first round makes files and threads.
        for round in 0..=ROUNDS {
            let took = [in_one_process(&mut one, &sessions), in_processes(&mut many)];
            if round > 0 {
                in_one.push(took[0]);
                in_many.push(took[1]);
            }
        }
        let (a, b) = (quantile(&mut in_one, 0.5), quantile(&mut in_many, 0.5));
        println!(
            "{TURNS} turns of {what:<12} in one process {a:>9.2?}, in {TURNS} processes {b:>9.2?}: {:.2}x",
            ratio(a, b)
        );
        one.peer.end();
        many.into_iter().for_each(|agent| agent.peer.end());
    }
}

fn in_one_process(agent: &mut Agent, sessions: &[String]) -> Duration {
    let begun = Instant::now();
    for session in sessions {
        agent.send_turn(session);
    }
    let mut left = sessions.len();
    while left > 0 {
        left -= usize::from(agent.read_terminal());
    }
    begun.elapsed()
}

fn in_processes(agents: &mut [Agent]) -> Duration {
    let begun = Instant::now();
    for agent in &mut *agents {
        let session = agent.session.clone();
        agent.send_turn(&session);
    }
    std::thread::scope(|scope| {
        for agent in agents {
            scope.spawn(move || while !agent.read_terminal() {});
        }
    });
    begun.elapsed()
}
