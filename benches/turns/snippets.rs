//! Code Mode in a turn: the first snippet of a process, a later one, and a call from one beside the same call made by the
//! model. Prints figures; judges none.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, Dialect, Place};
use crate::peer::quantile;

const ROUNDS: usize = 30;
/// Calls of one turn; a response may hold as many.
const CALLS: u32 = 50;

fn script(steps: &[Value]) -> Place {
    let mut steps = steps.to_vec();
    steps.push(json!({"text": "Done."}));
    Place::with_script(&json!({"turns": [{"steps": steps}]}).to_string())
}

fn snippet(source: &str) -> Value {
    json!({"tool": "code", "input": {"source": source}})
}

pub(crate) fn snippets(program: &Path) {
    let turn_of = |steps: &[Value]| script(steps);
    let list = json!({"tool": "list"});
    let mut together = vec![json!({"tool": "list", "together": true}); CALLS as usize - 1];
    together.push(list.clone());
    let places = [
        turn_of(&[list]),
        turn_of(&[snippet("return 1")]),
        turn_of(&together),
        turn_of(&[snippet(&format!(
            "for (let i = 0; i < {CALLS}; i++) await tools.list({{}})"
        ))]),
        turn_of(&[snippet(&format!(
            "await Promise.all(Array.from({{length: {CALLS}}}, () => tools.list({{}})))"
        ))]),
    ];
    let mut times = [(); 5].map(|()| Vec::new());
    let mut firsts = [Vec::new(), Vec::new()];
    let mut agents = places
        .each_ref()
        .map(|place| Agent::start(program, place, Dialect::LocalAgent));
    for round in 0..=ROUNDS {
        for (agent, times) in agents.iter_mut().zip(&mut times) {
            let took = agent.turn().took;
            if round > 0 {
                times.push(took);
            }
        }
        for (place, times) in places.iter().zip(&mut firsts) {
            let mut agent = Agent::start(program, place, Dialect::LocalAgent);
            let begun = Instant::now();
            agent.begin();
            while !agent.read_terminal() {}
            times.push(begun.elapsed());
            agent.peer.end();
        }
    }
    agents.into_iter().for_each(|agent| agent.peer.end());
    let [list, one, together, row, side] = times.map(|mut times| quantile(&mut times, 0.5));
    let [first_list, first] = firsts.map(|mut times| quantile(&mut times, 0.5));
    let beyond = |a: Duration, b: Duration| a.saturating_sub(b);
    println!(
        "a snippet instead of a call of `list`: the first of a process {:.2?} more, a later one {:.2?}",
        beyond(first, first_list),
        beyond(one, list),
    );
    let each = |turn, without| beyond(turn, without) / (CALLS - 1);
    println!(
        "a call of `list`: by the model, {CALLS} in a response, {:.2?}; from a snippet, one after another {:.2?}, side by side {:.2?}",
        each(together, list),
        beyond(row, one) / CALLS,
        beyond(side, one) / CALLS,
    );
}
