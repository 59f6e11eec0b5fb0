//! SIGKILL at random moments of scripted turns, then another child on the same session: what was
//! acknowledged is there, what is there is whole, and the session goes on.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{Driver, History, Kind, Message, NotOpened, Seen, holds};
use crate::local_agent::LocalAgent;
use crate::seeded::{Random, number_from, seed};
use crate::support::{Place, wait_for};

/// Deaths of a run; `MC_FAULT_KILLS` asks for another number.
const KILLS: u64 = 1000;
/// Of the second dialect, whose engine is the same.
const SERVICE_KILLS: u64 = 300;
/// Children at a time.
const LANES: u64 = 2;
/// Prompts of one session before a new one begins: each death reads them all again.
const PROMPTS: usize = 24;

/// One scripted turn and what it says, in order and without its tools: less than any dialect bounds.
struct Scripted {
    steps: Value,
    /// The whole text of each assistant message.
    says: Vec<String>,
    /// It says its text and then waits for longer than any test.
    waits: bool,
    /// It ends with a provider's failure.
    fails: bool,
}

impl Scripted {
    /// Whether nothing more is to come.
    fn is_said(&self, seen: &[Seen]) -> bool {
        let ended = matches!(seen.last(), Some(Seen::Ended { .. }));
        ended || self.waits && shown(seen) == self.says[0]
    }
}

fn sentence(turn: usize, words: usize) -> String {
    (0..words)
        .map(|word| format!("turn{turn}word{word} "))
        .collect()
}

fn scripted(turn: usize) -> Scripted {
    let plain = |steps, says| Scripted {
        steps,
        says,
        waits: false,
        fails: false,
    };
    match turn % 6 {
        0 => {
            let text = sentence(turn, 40);
            plain(
                json!([{"text": text, "chunks": 20, "delay_ms": 1}]),
                vec![text],
            )
        }
        1 => {
            let (before, after) = (sentence(turn, 10), sentence(turn + 1000, 10));
            plain(
                json!([
                    {"text": before, "chunks": 5},
                    {"tool": "read", "input": {"path": "a.txt"}},
                    {"text": after, "chunks": 10, "delay_ms": 1}
                ]),
                vec![before, after],
            )
        }
        2 => {
            let text = sentence(turn, 12);
            plain(
                json!([
                    {"reasoning": "A summary.", "provider_summary": true},
                    {"reasoning": "raw", "provider_summary": false},
                    {"text": text, "chunks": 6, "delay_ms": 2},
                    {"usage": {"input": 10, "output": 5}}
                ]),
                vec![text],
            )
        }
        3 => {
            let piece = sentence(turn, 3);
            plain(
                json!([{"text": piece, "repeat": 400}]),
                vec![piece.repeat(400)],
            )
        }
        4 => {
            let text = sentence(turn, 8);
            Scripted {
                waits: true,
                ..plain(
                    json!([{"text": text, "chunks": 4, "delay_ms": 1}, {"wait_ms": 60000}]),
                    vec![text],
                )
            }
        }
        _ => {
            let (before, after) = (sentence(turn, 6), sentence(turn + 1000, 6));
            Scripted {
                fails: true,
                ..plain(
                    json!([
                        {"tool": "list", "input": {}},
                        {"text": before, "chunks": 3, "delay_ms": 1},
                        {"tool": "grep", "input": {"pattern": "content"}},
                        {"text": after, "chunks": 3},
                        {"error": "network"}
                    ]),
                    vec![before, after],
                )
            }
        }
    }
}

/// One prompt that was sent, and what the client knew of it when the child died.
struct Sent {
    prompt: String,
    acknowledged: bool,
    /// The turn ended, and all of it was said to be on the disk.
    durable: bool,
    /// Text that must be in the history, whatever else is.
    promised: String,
}

impl Sent {
    /// The causal promises in what the client saw; the promise in time (written within 50 ms or
    /// 4 KiB of its acceptance) is tested by waiting for it.
    fn learn(&mut self, seen: &[Seen]) {
        let mut shown: Vec<(&str, String)> = Vec::new();
        let mut settled = String::new();
        for thing in seen {
            match thing {
                Seen::InputStored => self.acknowledged = true,
                Seen::Text { message, text } => {
                    if shown.last().is_none_or(|(last, _)| last != message) {
                        // Results of tools were stored before the provider was asked again: all
                        // that came before this message was written.
                        settled = shown.iter().map(|(_, text)| text.as_str()).collect();
                        shown.push((message, String::new()));
                    }
                    shown.last_mut().unwrap().1 += text;
                }
                Seen::Ended { durable, .. } => self.durable = *durable,
                _ => {}
            }
        }
        assert!(
            self.acknowledged || shown.is_empty(),
            "text before the input was stored: {seen:?}"
        );
        if settled.len() > self.promised.len() {
            self.promised = settled;
        }
    }
}

/// Where the deaths fell.
#[derive(Debug, Default)]
struct Tally {
    starting: usize,
    before_input: usize,
    in_turn: usize,
    after_end: usize,
}

/// One session after another in a place of its own, one death after another.
struct Lane<D> {
    place: Arc<Place>,
    random: Random,
    session: Option<String>,
    sent: Vec<Sent>,
    /// The messages as they were read last.
    known: Vec<Message>,
    prompts: u64,
    tally: Tally,
    driver: std::marker::PhantomData<D>,
}

impl<D: Driver> Lane<D> {
    fn new(seed: u64) -> Self {
        let turns: Vec<Value> = (0..PROMPTS)
            .map(|turn| json!({"steps": scripted(turn).steps}))
            .collect();
        let place = Place::with_script(&json!({ "turns": turns }));
        place.write_file("a.txt", "some content\nand more content\n");
        Self {
            place,
            random: Random::new(seed),
            session: None,
            sent: Vec::new(),
            known: Vec::new(),
            prompts: 0,
            tally: Tally::default(),
            driver: std::marker::PhantomData,
        }
    }

    fn pause(&mut self) {
        let longest = [500, 5_000, 20_000, 60_000][self.random.below(4) as usize];
        // The moment of the fault, not a wait for something.
        std::thread::sleep(Duration::from_micros(self.random.below(longest)));
    }

    /// One child, from its start to its violent end.
    fn death(&mut self) {
        if let Some(session) = self.session.clone()
            && self.random.below(10) == 0
        {
            let mut driver = D::spawn(&self.place);
            driver.open_blindly(&session);
            self.pause();
            driver.kill();
            self.tally.starting += 1;
            return;
        }
        let mut driver = D::ready(&self.place);
        let session = self.attach(&mut driver);
        let script = scripted(self.sent.len());
        self.prompts += 1;
        let prompt = format!("prompt {}", self.prompts);
        let mut sent = Sent {
            prompt: prompt.clone(),
            acknowledged: false,
            durable: false,
            promised: String::new(),
        };
        driver.begin(&session, &prompt);
        let mut seen = Vec::new();
        match self.random.below(4) {
            // At a moment.
            0 | 1 => self.pause(),
            // After so many words of the child.
            2 => {
                let most = self.random.below(16) as usize;
                while seen.len() < most && !script.is_said(&seen) {
                    seen.push(driver.next());
                }
            }
            // When all that was shown has had its time to be written; or after the end.
            _ => {
                while !script.is_said(&seen) {
                    seen.push(driver.next());
                }
                if script.waits {
                    let file = D::session_file(&self.place, &session);
                    let last = script.says[0].split_whitespace().last().unwrap();
                    wait_for("the shown text in the file", || holds(&file, last));
                    sent.promised.clone_from(&script.says[0]);
                }
            }
        }
        seen.extend(driver.kill());
        sent.learn(&seen);
        match seen.last() {
            Some(Seen::Ended { .. }) => self.tally.after_end += 1,
            _ if sent.acknowledged => self.tally.in_turn += 1,
            _ => self.tally.before_input += 1,
        }
        self.sent.push(sent);
    }

    /// Opens the session and checks all of it; begins a new one when it is long enough, or when
    /// it was never acknowledged and does not exist.
    fn attach(&mut self, driver: &mut D) -> String {
        if let Some(session) = self.session.take() {
            match driver.open(&session) {
                Ok(history) => {
                    self.verify(&history);
                    self.known = history.messages;
                    if self.sent.len() < PROMPTS {
                        self.session = Some(session.clone());
                        return session;
                    }
                }
                Err(NotOpened::Missing) => assert!(
                    !self.sent.iter().any(|sent| sent.acknowledged),
                    "an acknowledged session is missing"
                ),
                Err(other) => panic!("the session does not open: {other:?}"),
            }
        }
        self.sent.clear();
        self.known.clear();
        let session = driver.create();
        self.session = Some(session.clone());
        session
    }

    fn verify(&mut self, history: &History) {
        let before = &self.known;
        assert!(
            history.messages.iter().zip(before).all(|(now, then)| {
                // Ids are of the revision; the rest of what was there does not change.
                (now.kind, &now.text, now.partial) == (then.kind, &then.text, then.partial)
            }) && history.messages.len() >= before.len(),
            "what was in the history changed: {history:#?}, before: {before:#?}"
        );
        let mut turns: Vec<(&str, Vec<&Message>)> = Vec::new();
        for message in &history.messages {
            match message.kind {
                Kind::User => turns.push((&message.text, Vec::new())),
                _ => turns.last_mut().expect("a prompt first").1.push(message),
            }
        }
        let mut stored = turns.iter().peekable();
        self.sent.retain(|sent| {
            let there = stored.next_if(|(prompt, _)| *prompt == sent.prompt);
            assert!(
                there.is_some() || !sent.acknowledged,
                "an acknowledged input is lost: {}",
                sent.prompt
            );
            there.is_some()
        });
        assert!(stored.next().is_none(), "a prompt that nobody sent");
        for (index, (sent, (_, messages))) in self.sent.iter().zip(&turns).enumerate() {
            verify_turn(&scripted(index), sent, messages);
        }
    }
}

fn shown(seen: &[Seen]) -> String {
    seen.iter()
        .filter_map(|thing| match thing {
            Seen::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn verify_turn(script: &Scripted, sent: &Sent, messages: &[&Message]) {
    let of = |kind| messages.iter().filter(move |message| message.kind == kind);
    let text: String = of(Kind::Assistant)
        .map(|message| message.text.as_str())
        .collect();
    let whole = script.says.concat();
    assert!(
        whole.starts_with(&text),
        "not what was said: {text:.200} of {whole:.200}"
    );
    assert!(
        text.starts_with(&sent.promised),
        "accepted text is lost: {:?} of {:?}",
        text,
        sent.promised
    );
    let interrupted = of(Kind::Diagnostic)
        .filter(|message| message.partial)
        .count();
    if sent.durable {
        assert_eq!((text.as_str(), interrupted), (whole.as_str(), 0));
        let failures = of(Kind::Diagnostic).count();
        assert_eq!(failures, usize::from(script.fails), "{messages:?}");
    }
    assert!(interrupted <= 1, "{messages:?}");
    if text != whole || script.waits {
        assert_eq!(interrupted, 1, "no partial diagnostic: {messages:?}");
    }
    if interrupted == 0 {
        // The provider's failure leaves its last message partial.
        let last = usize::from(script.fails);
        let partial = messages.iter().filter(|message| message.partial).count();
        assert_eq!(partial, last, "partial in a turn that ended: {messages:?}");
    }
}

fn run<D: Driver>(kills: u64) {
    let (kills, seed) = (number_from("MC_FAULT_KILLS", kills), seed());
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            std::thread::spawn(move || {
                let mut state = Lane::<D>::new(seed.wrapping_add(lane));
                for kill in 0..kills.div_ceil(LANES) {
                    let done = std::panic::catch_unwind(AssertUnwindSafe(|| state.death()));
                    assert!(
                        done.is_ok(),
                        "see above; MC_FAULT_SEED={seed}, lane {lane}, death {kill}"
                    );
                }
                // The last death is looked at too, and the session still goes on.
                let mut driver = D::ready(&state.place);
                let session = state.attach(&mut driver);
                driver.begin(&session, "the last prompt");
                while driver.next() != Seen::InputStored {}
                driver.kill();
                state.tally
            })
        })
        .collect();
    let mut all = Tally::default();
    for lane in lanes {
        let tally = lane.join().expect("a lane");
        all.starting += tally.starting;
        all.before_input += tally.before_input;
        all.in_turn += tally.in_turn;
        all.after_end += tally.after_end;
    }
    // A run that kills only idle children proves nothing.
    assert!(
        all.in_turn as u64 * 5 >= kills && all.starting > 0 && all.before_input > 0,
        "the deaths are not spread: {all:?}"
    );
}

#[test]
fn sigkill_at_random_points_loses_nothing_acknowledged() {
    run::<LocalAgent>(KILLS);
}

#[cfg(feature = "application-service")]
#[test]
fn sigkill_of_a_service_loses_nothing_acknowledged() {
    run::<crate::service::Service>(SERVICE_KILLS);
}
