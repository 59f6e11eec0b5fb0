//! Stored sessions over the wire: opening and paging long ones, listing many. Each beside the least that a program
//! could do with the same files.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Dialect, Place, member};
use crate::peer::{quantile, ratio};

const SESSION: &str = "5d1f0c1e-6d3c-4f0e-9a53-8f2d1c7b9a10";

/// A session of about `bytes` in about `bytes / 671` lines: 64 MiB are 100,000 lines. Answers in pieces, as a slow model
/// leaves them, and tools whose results history does not show, so that the history of the longest is within its bounds.
fn session(bytes: usize) -> String {
    const PIECES: usize = 50;
    const TOOLS: usize = 3;
    let mut out = String::with_capacity(bytes + 64 * 1024);
    let mut n = 0;
    let mut line = |turn: Option<usize>, body: &str| {
        n += 1;
        let turn = turn.map_or(String::new(), |turn| {
            format!(r#""turn":"2b9e6c1e-6d3c-4f0e-9a53-{turn:012}","#)
        });
        let at = 1_700_000_000_000_u64 + n;
        let _ = writeln!(
            out,
            r#"{{"v":1,"n":{n},"session":"{SESSION}","at":{at},{turn}"body":{body}}}"#
        );
        (n, out.len())
    };
    line(None, r#"{"type":"session","created_at":1,"cwd":""}"#);
    let result = "A line of a file, as a tool showed it to the model.\\n".repeat(166);
    let mut turn = 0;
    loop {
        turn += 1;
        let t = Some(turn);
        line(
            t,
            &format!(
                r#"{{"type":"user_input","message_id":"u{turn}","text":"Question {turn} of a long session."}}"#
            ),
        );
        for tool in 0..TOOLS {
            let call = format!(r#""activity_id":"a{turn}-{tool}","call_id":"c{turn}-{tool}""#);
            line(
                t,
                &format!(
                    r#"{{"type":"tool_started",{call},"response":{tool},"name":"read","input":{{"path":"src/lib.rs","offset":{turn}}}}}"#
                ),
            );
            line(
                t,
                &format!(
                    r#"{{"type":"tool_finished",{call},"name":"read","is_error":false,"summary":"read src/lib.rs","content":"{result}"}}"#
                ),
            );
        }
        let message = format!(r#""message_id":"4c7d0a1e-6d3c-4f0e-9a53-{turn:012}","response":9"#);
        for piece in 0..PIECES {
            line(
                t,
                &format!(
                    r#"{{"type":"assistant_text",{message},"text":"Piece {piece} of an answer, some words. "}}"#
                ),
            );
        }
        line(t, &format!(r#"{{"type":"assistant_message",{message}}}"#));
        let (lines, len) = line(t, r#"{"type":"turn_finished","outcome":"completed"}"#);
        // Room for the turns that follow.
        if len + 128 * 1024 > bytes || lines + 1000 > 100_000 {
            return out;
        }
    }
}

/// Reads a file and parses each of its lines into a value: the least that opening it could be.
fn parse_once(path: &Path) -> Duration {
    let begun = Instant::now();
    let bytes = std::fs::read(path).unwrap();
    for line in bytes.split(|&byte| byte == b'\n').filter(|l| !l.is_empty()) {
        black_box(serde_json::from_slice::<serde_json::Value>(line).unwrap());
    }
    begun.elapsed()
}

/// Opens of sessions of three sizes, the first page of their history and the later ones, and a turn.
pub(crate) fn open(program: &Path) {
    for mib in [1, 16, 64] {
        let place = Place::with_steps(r#"{"text":"x123456 "}"#);
        let mut agent = Agent::bare(program, &place, Dialect::LocalAgent);
        let mut service = Agent::bare(program, &place, Dialect::Service);
        let path = place.home().join(format!("sessions/{SESSION}.jsonl"));
        let text = session(mib * 1024 * 1024);
        std::fs::write(&path, &text).unwrap();
        // Else the first turn's flush would write all of it.
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        println!(
            "session of {:.1} MiB, {} lines",
            text.len() as f32 / 1_048_576.0,
            text.lines().count()
        );
        drop(text);
        let params = format!(r#"{{"session_id":"{SESSION}"}}"#);
        let (mut floor, mut opens, mut firsts, mut later) = (vec![], vec![], vec![], vec![]);
        let mut pages = 0;
        for _ in 0..7 {
            floor.push(parse_once(&path));
            let begun = Instant::now();
            let answer = agent.request("session.open", None, &params);
            opens.push(begun.elapsed());
            let revision = member(answer, "revision").to_owned();
            let mut cursor = "null".to_owned();
            pages = 0;
            loop {
                let begun = Instant::now();
                let page = agent.request(
                    "history.page",
                    None,
                    &format!(
                        r#"{{"session_id":"{SESSION}","revision":"{revision}","cursor":{cursor}}}"#
                    ),
                );
                let took = begun.elapsed();
                if pages == 0 { &mut firsts } else { &mut later }.push(took);
                pages += 1;
                if page.contains(r#""next_cursor":null"#) {
                    break;
                }
                cursor = format!("\"{}\"", member(page, "next_cursor"));
            }
        }
        let floor = quantile(&mut floor, 0.5);
        for (name, times) in [
            ("session.open", &mut opens),
            ("first history page", &mut firsts),
            ("a later page", &mut later),
        ] {
            if times.is_empty() {
                continue;
            }
            let (p50, most) = (quantile(times, 0.5), quantile(times, 1.0));
            println!(
                "    {name:<22} p50 {p50:>9.2?} {:.2}x  most {most:>9.2?}",
                ratio(p50, floor)
            );
        }
        println!(
            "    read and parsed once       {floor:>9.2?}; {pages} pages; resident {} KiB",
            agent.peer.rss_kib()
        );
        replay(&mut service, floor);
        agent.session = SESSION.to_owned();
        turns("local-agent, attached", &mut agent, floor);
        agent.peer.end();
        service.session = SESSION.to_owned();
        turns("service, each attaches", &mut service, floor);
        service.request("session.open", Some(SESSION), "{}");
        turns("service, attached", &mut service, floor);
        service.peer.end();
    }
}

fn replay(service: &mut Agent, floor: Duration) {
    let mut times = Vec::new();
    let mut after = "null".to_owned();
    for _ in 0..40 {
        let payload = format!(r#"{{"after":{after},"limit":32}}"#);
        let begun = Instant::now();
        let page = service.request("session.replay", Some(SESSION), &payload);
        times.push(begun.elapsed());
        after = format!("\"{}\"", member(page, "next_cursor"));
    }
    let first = times.remove(0);
    println!(
        "    first replay page          {first:>9.2?} {:.2}x",
        ratio(first, floor)
    );
    println!(
        "    a later replay page    p50 {:>9.2?}",
        quantile(&mut times, 0.5)
    );
}

fn turns(name: &str, agent: &mut Agent, floor: Duration) {
    // Whatever is read once for all turns is read now.
    agent.turn();
    let mut times: Vec<_> = (0..9).map(|_| agent.turn().took).collect();
    let p50 = quantile(&mut times, 0.5);
    println!(
        "    1-delta turn, {name:<22} p50 {p50:>9.2?} {:.2}x",
        ratio(p50, floor)
    );
}

/// Pages of the list over as many entries as are looked at, beside reading the directory once.
pub(crate) fn list(program: &Path) {
    const ENTRIES: usize = 20_000;
    let place = Place::with_settings("{}");
    let mut service = Agent::bare(program, &place, Dialect::Service);
    let dir = place.home().join("sessions");
    let here = std::fs::read_dir(&dir).unwrap().count();
    for n in 0..ENTRIES - here {
        let id = format!("session-{n:05}");
        let line = format!(
            r#"{{"v":1,"n":1,"session":"{id}","at":1,"body":{{"type":"user_input","message_id":"m","text":"Question {n}"}}}}"#
        );
        std::fs::write(dir.join(format!("{id}.jsonl")), line + "\n").unwrap();
    }
    let (mut floor, mut pages) = (Vec::new(), Vec::new());
    let mut after = "null".to_owned();
    let mut count = 0;
    loop {
        let begun = Instant::now();
        let names = std::fs::read_dir(&dir).unwrap();
        let bytes: usize = names.map(|entry| entry.unwrap().file_name().len()).sum();
        floor.push(begun.elapsed());
        black_box(bytes);
        let payload = format!(r#"{{"after":{after},"limit":32}}"#);
        let begun = Instant::now();
        let page = service.request("session.list", None, &payload);
        pages.push(begun.elapsed());
        count += 1;
        if page.contains(r#""next_after":null"#) {
            break;
        }
        after = format!("\"{}\"", member(page, "next_after"));
    }
    let (floor, p50, p99) = (
        quantile(&mut floor, 0.5),
        quantile(&mut pages, 0.5),
        quantile(&mut pages, 0.99),
    );
    println!(
        "session.list over {ENTRIES} entries, {count} pages: p50 {p50:.2?} {:.2}x, p99 {p99:.2?}; reading the directory once {floor:.2?}",
        ratio(p50, floor)
    );
    service.peer.end();
}
