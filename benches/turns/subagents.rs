//! Turns that give tasks to subagents: none, one, and four that work at once. Prints figures; judges none.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, DIALECTS, Place};
use crate::peer::{quantile, ratio};

const ROUNDS: usize = 40;
/// How long the model of a subagent takes, whatever is done meanwhile.
const MODEL: Duration = Duration::from_millis(100);

/// Each subagent says a hundred words, lists the workspace and answers. The turn less what its subagents' model takes.
pub(crate) fn subagents(program: &Path) {
    let task = r#"{"tool":"task","input":{"prompt":"Task"}"#;
    let wait = MODEL.as_millis();
    let child = format!(
        r#"{{"wait_ms":{wait}}},{{"repeat":100,"text":"x123456 "}},{{"tool":"list"}},{{"text":"Done."}}"#
    );
    for dialect in DIALECTS {
        let mut medians = Vec::new();
        for count in [0, 1, 4] {
            let together =
                format!(r#"{task},"together":true}},"#).repeat(usize::saturating_sub(count, 1));
            let last = if count > 0 {
                format!("{task}}},")
            } else {
                String::new()
            };
            let steps = format!(r#"{together}{last}{{"text":"Done."}}"#);
            let place = Place::with_script(&format!(
                r#"{{"turns":[{{"steps":[{steps}]}}],"tasks":[{{"prompt":"Task","turns":[{{"steps":[{child}]}}]}}]}}"#
            ));
            let mut agent = Agent::start(program, &place, dialect);
            let mut took = Vec::new();
            // The first makes files and folders.
            for round in 0..=ROUNDS {
                let begun = Instant::now();
                agent.begin();
                while !agent.read_terminal() {}
                if round > 0 {
                    let model = if count > 0 { MODEL } else { Duration::ZERO };
                    took.push(begun.elapsed().saturating_sub(model));
                }
            }
            medians.push(quantile(&mut took, 0.5));
            agent.peer.end();
        }
        let (own, one, four) = (medians[0], medians[1], medians[2]);
        println!(
            "{:<12} beyond the model: no subagent {own:>9.2?}, one {one:>9.2?}, four {four:>9.2?}: {:.2}x of one",
            dialect.name(),
            ratio(four, one)
        );
    }
}
