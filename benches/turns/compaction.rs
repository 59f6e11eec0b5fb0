//! A session of a thousand turns that is made shorter: the turn that does it, and what opens and pages take before and
//! after. The offline model summarizes at once, so all of it is ours. Prints figures; judges none.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Dialect, Place, member};
use crate::peer::quantile;

const ROUNDS: usize = 9;
const TURNS: usize = 1000;
const SESSION: &str = "5d1f0c1e-6d3c-4f0e-9a53-8f2d1c7b9a10";

/// Each turn has a question, a call with two kilobytes of result, and an answer.
fn session() -> String {
    let mut out = String::new();
    let mut n = 0_u64;
    let mut line = |turn: usize, body: &str| {
        n += 1;
        let at = 1_700_000_000_000 + n;
        let turn = match turn {
            0 => String::new(),
            turn => format!(r#""turn":"2b9e6c1e-6d3c-4f0e-9a53-{turn:012}","#),
        };
        let _ = writeln!(
            out,
            r#"{{"v":1,"n":{n},"session":"{SESSION}","at":{at},{turn}"body":{body}}}"#
        );
    };
    line(0, r#"{"type":"session","created_at":1,"cwd":""}"#);
    let result = "A line of a file, as a tool showed it to the model.\\n".repeat(40);
    let answer = "Some words of an answer, as models give them. ".repeat(10);
    for turn in 1..=TURNS {
        let call = format!(r#""activity_id":"a{turn}","call_id":"c{turn}""#);
        let message = format!(r#""message_id":"4c7d0a1e-6d3c-4f0e-9a53-{turn:012}","response":1"#);
        for body in [
            format!(
                r#"{{"type":"user_input","message_id":"u{turn}","text":"Question {turn} of a long session."}}"#
            ),
            format!(
                r#"{{"type":"tool_started",{call},"response":0,"name":"read","input":{{"path":"src/lib.rs"}}}}"#
            ),
            format!(
                r#"{{"type":"tool_finished",{call},"name":"read","is_error":false,"summary":"read src/lib.rs","content":"{result}"}}"#
            ),
            format!(r#"{{"type":"assistant_text",{message},"text":"{answer}"}}"#),
            format!(r#"{{"type":"assistant_message",{message}}}"#),
            r#"{"type":"turn_finished","outcome":"completed"}"#.to_owned(),
        ] {
            line(turn, &body);
        }
    }
    out
}

/// A place whose offline model has this window.
fn place(window: usize) -> Place {
    let place = Place::with_steps(r#"{"text":"x123456 "}"#);
    let file = place.home().join("settings.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let windowed = text.replace(
        r#""fixture":{"#,
        &format!(r#""fixture":{{"context_window":{window},"#),
    );
    std::fs::write(&file, windowed).unwrap();
    place
}

/// Opens and the first page, by a new process of either dialect.
fn first_pages(program: &Path, place: &Place, into: &mut [Vec<Duration>]) {
    let mut agent = Agent::bare(program, place, Dialect::LocalAgent);
    let begun = Instant::now();
    let opened = agent.request(
        "session.open",
        None,
        &format!(r#"{{"session_id":"{SESSION}"}}"#),
    );
    into[0].push(begun.elapsed());
    let revision = member(opened, "revision").to_owned();
    let page = format!(r#"{{"session_id":"{SESSION}","revision":"{revision}","cursor":null}}"#);
    let begun = Instant::now();
    agent.request("history.page", None, &page);
    into[1].push(begun.elapsed());
    agent.peer.end();
    let mut service = Agent::bare(program, place, Dialect::Service);
    let begun = Instant::now();
    service.request(
        "session.replay",
        Some(SESSION),
        r#"{"after":null,"limit":32}"#,
    );
    into[2].push(begun.elapsed());
    service.peer.end();
}

pub(crate) fn compaction(program: &Path) {
    let text = session();
    // The first is never full, the second is from the first request on.
    let places = [place(100_000_000), place(300_000)];
    let mut turns = [vec![], vec![], vec![], vec![]];
    let mut before = [vec![], vec![], vec![]];
    let mut after = [vec![], vec![], vec![]];
    for _ in 0..ROUNDS {
        for (at, place) in places.iter().enumerate() {
            let path = place.home().join(format!("sessions/{SESSION}.jsonl"));
            Agent::bare(program, place, Dialect::LocalAgent).peer.end();
            std::fs::write(&path, &text).unwrap();
            std::fs::File::open(&path).unwrap().sync_all().unwrap();
            if at == 1 {
                first_pages(program, place, &mut before);
            }
            let mut agent = Agent::bare(program, place, Dialect::LocalAgent);
            let open = format!(r#"{{"session_id":"{SESSION}"}}"#);
            agent.request("session.open", None, &open);
            agent.session = SESSION.to_owned();
            turns[2 * at].push(agent.turn().took);
            turns[2 * at + 1].push(agent.turn().took);
            agent.peer.end();
            let stored = std::fs::read_to_string(&path).unwrap();
            assert_eq!(stored.contains(r#""type":"checkpoint""#), at == 1);
            if at == 1 {
                first_pages(program, place, &mut after);
            }
        }
    }
    let [whole, next, compacting, short] = turns.map(|mut times| quantile(&mut times, 0.5));
    println!(
        "session of {TURNS} turns, {:.1} MiB: a turn {whole:.2?} and the next {next:.2?}; a turn that makes it shorter {compacting:.2?} and the next {short:.2?}",
        text.len() as f32 / 1_048_576.0
    );
    let names = ["session.open", "first history page", "first replay page"];
    for ((name, before), after) in names.iter().zip(&mut before).zip(&mut after) {
        println!(
            "    {name:<20} before {:>9.2?}, after {:>9.2?}",
            quantile(before, 0.5),
            quantile(after, 0.5)
        );
    }
}
