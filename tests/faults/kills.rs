//! SIGKILL at random moments of scripted turns, then another child on the same session: what was
//! acknowledged is there, what is there is whole, the session goes on, and no process is left behind. What the turns
//! of each test do stands in plans.rs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use crate::driver::{Driver, History, Kind, Message, NotOpened, Seen, holds};
use crate::local_agent::LocalAgent;
use crate::plans::{PLAIN, Plan, Scripted};
use crate::processes::{assert_gone, beneath};
use crate::seeded::{Random, number_from, seed};
use crate::support::{Place, wait_for};

/// Deaths of a run; `MC_FAULT_KILLS` asks for another number.
const KILLS: u64 = 1000;
/// Of the second dialect, whose engine is the same.
const SERVICE_KILLS: u64 = 300;
/// A run of so many meets every moment.
const MANY: u64 = 300;
/// Children at a time.
const LANES: u64 = 2;
/// Prompts of one session before a new one begins: each death reads them all again.
const PROMPTS: usize = 24;

impl Scripted {
    /// Whether nothing more is to come.
    fn is_said(&self, seen: &[Seen]) -> bool {
        let ended = matches!(seen.last(), Some(Seen::Ended { .. }));
        ended || self.waits && shown(seen) == self.says[0]
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
    /// The turns did what they are about.
    worked: bool,
}

/// One session after another in a place of its own, one death after another.
struct Lane<D> {
    plan: Plan,
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
    fn new(plan: Plan, seed: u64) -> Self {
        Self {
            plan,
            place: plan.place(PROMPTS),
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
            let processes = beneath(driver.pid());
            driver.kill();
            assert_gone(&processes);
            self.tally.starting += 1;
            return;
        }
        let mut driver = D::ready(&self.place);
        let session = self.attach(&mut driver);
        let script = (self.plan.turn)(self.sent.len());
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
        match self.random.below(5) {
            // At a moment.
            0 | 1 => self.pause(),
            // At a moment of its work.
            2 => {
                while !script.is_said(&seen) && seen.last() != Some(&Seen::InputStored) {
                    seen.push(driver.next());
                }
                self.pause();
            }
            // After so many words of the child.
            3 => {
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
        let processes = beneath(driver.pid());
        seen.extend(driver.kill());
        assert_gone(&processes);
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
                    self.verify(&session, &history);
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

    fn verify(&mut self, session: &str, history: &History) {
        let before = &self.known;
        // Where a summary stands for them, what came before its cutoff is not shown any more.
        let is_cut = matches!(history.messages.first(), Some(first) if first.kind == Kind::Summary);
        let messages = &history.messages[usize::from(is_cut)..];
        assert!(
            is_cut
                || messages.len() >= before.len()
                    && messages.iter().zip(before).all(|(now, then)| {
                        // Ids are of the revision; the rest of what was there does not change.
                        (now.kind, &now.text, now.partial) == (then.kind, &then.text, then.partial)
                    }),
            "what was in the history changed: {history:#?}, before: {before:#?}"
        );
        let mut turns: Vec<(&str, Vec<&Message>)> = Vec::new();
        for message in messages {
            match message.kind {
                Kind::User => turns.push((&message.text, Vec::new())),
                _ => turns.last_mut().expect("a prompt first").1.push(message),
            }
        }
        let file = D::session_file(&self.place, session);
        let mut stored = turns.iter().peekable();
        let mut hidden = 0;
        self.sent.retain(|sent| {
            let is_shown = stored
                .next_if(|(prompt, _)| *prompt == sent.prompt)
                .is_some();
            // It is in the file all the same: nothing is deleted.
            let is_hidden = is_cut && !is_shown && holds(&file, &format!("\"{}\"", sent.prompt));
            assert!(
                is_shown || is_hidden || !sent.acknowledged,
                "an acknowledged input is lost: {}",
                sent.prompt
            );
            hidden += usize::from(is_hidden);
            is_shown || is_hidden
        });
        assert!(stored.next().is_none(), "a prompt that nobody sent");
        let shown = self.sent.iter().enumerate().skip(hidden);
        for ((index, sent), (prompt, messages)) in shown.zip(&turns) {
            assert_eq!(
                sent.prompt, *prompt,
                "a prompt is missing behind the cutoff"
            );
            verify_turn(&(self.plan.turn)(index), sent, messages);
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

fn run<D: Driver>(plan: Plan, kills: u64) {
    let (kills, seed) = (number_from("MC_FAULT_KILLS", kills), seed());
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            std::thread::spawn(move || {
                let mut state = Lane::<D>::new(plan, seed.wrapping_add(lane));
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
                let sessions = std::fs::read_dir(state.place.mc_home().join("sessions"));
                let files = sessions
                    .expect("sessions")
                    .map(|entry| entry.expect("a file").path());
                state.tally.worked = files.into_iter().any(|file| holds(&file, plan.leaves));
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
        all.worked |= tally.worked;
    }
    // A run that kills only idle children proves nothing.
    let is_spread = all.starting > 0 && all.before_input > 0;
    assert!(
        all.worked && all.in_turn as u64 * 5 >= kills && (is_spread || kills < MANY),
        "the deaths are not spread: {all:?}"
    );
}

macro_rules! kills {
    ($($(#[$when:meta])* $name:ident: $plan:expr, $kills:expr;)*) => {
        mod local_agent_dialect {
            $($(#[$when])* #[test] fn $name() {
                super::run::<crate::local_agent::LocalAgent>($plan, $kills);
            })*
        }
        #[cfg(feature = "application-service")]
        mod application_service_dialect {
            $($(#[$when])* #[test] fn $name() {
                super::run::<crate::service::Service>($plan, $kills);
            })*
        }
    };
}

kills! {
    #[cfg(feature = "mcp")]
    sigkill_at_random_points_of_calls_of_servers: crate::plans::SERVERS, 40;
    #[cfg(feature = "code-mode")]
    sigkill_at_random_points_of_snippets: crate::plans::SNIPPETS, 100;
    sigkill_at_random_points_of_tasks: crate::plans::TASKS, 100;
    sigkill_at_random_points_of_compactions: crate::plans::COMPACTIONS, 100;
}

#[test]
fn sigkill_at_random_points_loses_nothing_acknowledged() {
    run::<LocalAgent>(PLAIN, KILLS);
}

#[cfg(feature = "application-service")]
#[test]
fn sigkill_of_a_service_loses_nothing_acknowledged() {
    run::<crate::service::Service>(PLAIN, SERVICE_KILLS);
}
