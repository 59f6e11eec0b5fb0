//! Faults that each dialect meets alike: two children on one session, a full disk, a file that is taken away in a
//! turn. Driven through [`Driver`]; what one dialect alone says of them is in the files beside.

use std::sync::Arc;

use serde_json::json;

use crate::driver::{Driver, History, Kind, NotOpened, Seen, holds};
use crate::support::{Place, wait_for};

/// The first turn ends at once, the second waits in the middle, the others end.
fn place() -> Arc<Place> {
    Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Whole."}]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}]},
        {"steps": [{"text": "Whole again."}]}
    ]}))
}

/// The test of each dialect that is linked.
macro_rules! for_each_dialect {
    ($($name:ident: $test:ident;)*) => {
        mod local_agent_dialect {
            $(#[test] fn $name() { super::$test::<crate::local_agent::LocalAgent>(); })*
        }
        #[cfg(feature = "application-service")]
        mod application_service_dialect {
            $(#[test] fn $name() { super::$test::<crate::service::Service>(); })*
        }
    };
}

for_each_dialect! {
    killed_holder_frees_the_session_at_once: killed_holder;
    of_many_children_one_gets_the_session: many_children;
    file_harmed_in_a_turn_is_not_written_over_and_nothing_called_stored: harmed_in_a_turn;
}

fn killed_holder<D: Driver>() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "Half of "}, {"wait_ms": 60000}
    ]}]}));
    let mut holder = D::ready(&place);
    let session = holder.create();
    for round in 1..=15 {
        // In the middle of a turn, whose worker writes.
        holder.begin(&session, "go");
        holder.until_text();
        let mut next = D::ready(&place);
        assert_eq!(next.open(&session).unwrap_err(), NotOpened::Busy);
        holder.kill();
        let history = next.open(&session).expect("the lease died with its holder");
        assert_eq!(history.texts(Kind::User).len(), round);
        holder = next;
    }
    holder.end();
}

fn many_children<D: Driver + Send>() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut first = D::ready(&place);
    let session = first.create();
    first.turn(&session, "first");
    first.end();
    let mut children: Vec<_> = (0..6).map(|_| D::ready(&place)).collect();
    while children.len() > 1 {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let tries: Vec<_> = children
                .iter_mut()
                .map(|child| scope.spawn(|| child.open(&session).map(|_| ())))
                .collect();
            tries.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let mut won = answers.iter().enumerate().filter(|(_, a)| a.is_ok());
        let (winner, _) = won.next().expect("one of them gets it");
        assert!(won.next().is_none(), "two have it: {answers:?}");
        let refused = answers.iter().filter(|a| **a == Err(NotOpened::Busy));
        assert_eq!(refused.count(), children.len() - 1, "{answers:?}");
        // The winner works, and its death or its end makes room for the next.
        let mut winner = children.remove(winner);
        winner.turn(&session, "mine");
        match children.len() % 2 {
            0 => drop(winner.kill()),
            _ => winner.end(),
        }
    }
    let history = children[0].open(&session).unwrap();
    assert!(history.complete);
    assert_eq!(history.texts(Kind::User).len(), 6);
}

/// The end of a turn that could not be stored.
#[track_caller]
fn assert_not_stored(seen: &[Seen]) {
    let end = seen.last().unwrap();
    assert!(
        matches!(end, Seen::Ended { durable: false, .. }),
        "{seen:?}"
    );
}

fn harmed_in_a_turn<D: Driver>() {
    for harm in crate::files::HARMS {
        let place = place();
        let mut driver = D::ready(&place);
        let session = driver.create();
        driver.turn(&session, "first");
        let file = D::session_file(&place, &session);
        driver.begin(&session, "second");
        driver.until_text();
        wait_for("the partial reply on disk", || holds(&file, "Half of "));
        harm.inflict(&file);
        let before = crate::files::folder(&place);
        driver.cancel(&session);
        assert_not_stored(&driver.rest());
        assert_eq!(
            crate::files::folder(&place),
            before,
            "{harm:?}: somebody's file was touched"
        );
        driver.end();
        assert_eq!(crate::files::folder(&place), before, "{harm:?}");
    }
}

#[cfg(target_os = "linux")]
mod full {
    use super::*;
    use crate::disk::limit_files_of;

    for_each_dialect! {
        full_disk_between_turns_stores_nothing_and_says_so: between_turns;
        disk_that_fills_in_a_turn_is_told: in_a_turn;
    }

    fn size(file: &std::path::Path) -> u64 {
        std::fs::metadata(file).unwrap().len()
    }

    fn reopened<D: Driver>(place: &Arc<Place>, session: &str) -> (D, History) {
        let mut driver = D::ready(place);
        let history = driver.open(session).expect("the session opens");
        (driver, history)
    }

    fn between_turns<D: Driver>() {
        let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
        let mut driver = D::ready(&place);
        let session = driver.create();
        driver.turn(&session, "first");
        let file = D::session_file(&place, &session);
        let before = std::fs::read(&file).unwrap();
        for room in [0, 1, 40] {
            limit_files_of(driver.pid(), Some(before.len() as u64 + room));
            driver.begin(&session, "lost");
            let seen = driver.rest();
            assert_not_stored(&seen);
            // The provider was never asked.
            let text = |thing: &Seen| matches!(thing, Seen::Text { .. } | Seen::InputStored);
            assert!(!seen.iter().any(text), "{seen:?}");
            assert_eq!(std::fs::read(&file).unwrap(), before, "{room} bytes");
        }
        limit_files_of(driver.pid(), None);
        driver.turn(&session, "second");
        driver.end();
        let (driver, history) = reopened::<D>(&place, &session);
        assert_eq!(history.texts(Kind::User), ["first", "second"]);
        assert!(history.complete);
        driver.end();
    }

    fn in_a_turn<D: Driver>() {
        let place = place();
        let mut driver = D::ready(&place);
        let session = driver.create();
        driver.turn(&session, "first");
        let file = D::session_file(&place, &session);
        driver.begin(&session, "second");
        driver.until_text();
        wait_for("the partial reply on disk", || holds(&file, "Half of "));
        limit_files_of(driver.pid(), Some(size(&file)));
        driver.cancel(&session);
        assert_not_stored(&driver.rest());
        limit_files_of(driver.pid(), None);
        driver.kill();
        let (mut driver, history) = reopened::<D>(&place, &session);
        assert_eq!(history.texts(Kind::User), ["first", "second"]);
        assert_eq!(history.texts(Kind::Assistant), ["Whole.", "Half of "]);
        assert!(!history.complete, "{history:?}");
        driver.turn(&session, "third");
        driver.end();
    }
}
