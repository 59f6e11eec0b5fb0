//! Summaries that do not come about: what becomes of the turn, and what is not tried again.

use super::*;

/// A talk whose second turn needs a summary, which comes as `summary` says; `used` tokens of 1,000.
async fn failing(used: u64, summary: Answer) -> (Talk, Vec<RunEvent>) {
    let talk = Talk::new(Some(1000), move |request| match request.purpose {
        Purpose::Summary => summary.clone(),
        Purpose::Answer => said("Answer.", used),
    })
    .await;
    talk.turn("one").await;
    talk.asked();
    let events = talk.turn("two").await;
    (talk, events)
}

#[tokio::test]
async fn without_a_summary_the_conversation_stays_and_goes_on_while_it_fits() {
    let cut = |words| vec![Ok(text(words)), Ok(Chunk::Cut)];
    for (summary, requests, says) in [
        (vec![Err(ErrorKind::Overloaded.into())], 2, "overloaded"),
        (vec![Err(ErrorKind::Filtered.into())], 2, "withheld"),
        (said("", 1), 2, "gave no summary"),
        (said(" \n ", 1), 2, "gave no summary"),
        (said("\u{200b}\u{200b} \u{2800}", 1), 2, "gave no summary"),
        // Asked once more without a bound.
        (cut(" \n"), 3, "is cut off"),
        (cut("Short, and in the mid"), 3, "is cut off"),
        (said(&"no ".repeat(20), 1), 2, "no shorter than"),
        (said(&"x".repeat(70_000), 1), 2, "too long"),
        (vec![Ok(read_a("a"))], 2, "gave no summary"),
        // There is nothing to be told in half of it.
        (refused(), 2, "longer than the model takes"),
    ] {
        let (talk, events) = failing(850, summary.clone()).await;
        assert_eq!(outcome(&events), COMPLETED, "{says}");
        assert_eq!(states(&events), FAILED, "{says}");
        let told = events.iter().any(|event| {
            matches!(event, RunEvent::MustArrive(MustArrive::Diagnostic { summary, .. })
                if summary.as_str().contains(says))
        });
        assert!(told, "{says}: {events:?}");
        let asked = talk.asked();
        assert_eq!(asked.len(), requests, "{says}");
        assert_eq!(users(&asked.last().unwrap().1), ["one", "Answer.+0", "two"]);
        assert!(talk.checkpoints().is_empty());

        let (talk, events) = failing(1000, summary).await;
        assert_eq!(outcome(&events), REQUIRED, "{says}");
        let asked = talk.asked();
        assert!(
            asked
                .iter()
                .all(|(purpose, _)| *purpose == Purpose::Summary)
        );
    }
}

#[tokio::test]
async fn a_request_for_a_summary_that_is_refused_for_its_length_is_halved_four_times_at_most() {
    for (refusals, outcome_, requests) in [(4, COMPLETED, 5), (5, REQUIRED, 5)] {
        let mut left = refusals;
        let talk = Talk::new(Some(100_000), move |request| match request.purpose {
            // Twenty turns, of which the last one fills the window.
            Purpose::Answer if request.messages.len() < 39 => {
                said(&"Many words. ".repeat(450), 9000)
            }
            Purpose::Answer => said("Answer.", 101_000),
            Purpose::Summary if left > 0 => {
                left -= 1;
                refused()
            }
            Purpose::Summary => said("In short.", 7),
        })
        .await;
        for _ in 0..20 {
            talk.turn("go").await;
        }
        talk.asked();
        let events = talk.turn("two").await;
        assert_eq!(outcome(&events), outcome_);
        let asked = talk.asked();
        let sizes: Vec<_> = asked
            .iter()
            .filter(|(purpose, _)| *purpose == Purpose::Summary)
            .map(|(_, messages)| match &messages[..] {
                [Message::User { text }] => text.len(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sizes.len(), requests);
        for pair in sizes.windows(2) {
            assert!(pair[1] <= pair[0] / 2 + 8, "{sizes:?}");
            // And not far below, as long as there are many messages: what fits is told.
            assert!(pair[1] >= pair[0] / 3 || pair[0] < 8192, "{sizes:?}");
        }
    }
}

#[tokio::test]
async fn a_summary_that_cannot_be_stored_is_no_fault_of_the_provider() {
    let hand = Arc::new(std::sync::OnceLock::<(MemorySessions, SessionId)>::new());
    let own = Arc::clone(&hand);
    let talk = Talk::new(Some(1000), move |request| match request.purpose {
        Purpose::Summary => {
            // Somebody else writes there meanwhile.
            let (sessions, id) = own.get().unwrap();
            sessions.edit(id, |_| {});
            said("In short.", 7)
        }
        Purpose::Answer => said("Answer.", 850),
    })
    .await;
    hand.set((talk.sessions.clone(), talk.session.clone()))
        .unwrap();
    talk.turn("one").await;
    let events = talk.turn("two").await;
    let codes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MustArrive(MustArrive::Diagnostic { code, summary }) => Some((
                *code,
                summary.as_str().contains("could not be made shorter"),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        codes[0],
        (RunErrorCode::PersistenceFailed, true),
        "{events:?}"
    );
}

#[tokio::test]
async fn after_a_summary_that_failed_a_refusal_for_length_asks_for_no_other() {
    let talk = Talk::new(Some(1000), |request| match request.purpose {
        Purpose::Summary => said("", 1),
        Purpose::Answer if request.messages.len() > 1 => refused(),
        Purpose::Answer => said("Answer.", 850),
    })
    .await;
    talk.turn("one").await;
    talk.asked();
    let events = talk.turn("two").await;
    assert_eq!(outcome(&events), REQUIRED);
    let purposes: Vec<_> = talk.asked().iter().map(|(purpose, _)| *purpose).collect();
    assert_eq!(purposes, [Purpose::Summary, Purpose::Answer]);
}

#[tokio::test]
async fn a_cancelled_summary_changes_nothing() {
    let (talk, mut run) = {
        let talk = Talk::new(Some(1000), |request| match request.purpose {
            Purpose::Summary => Vec::new(),
            Purpose::Answer => said("Answer.", 900),
        })
        .await;
        talk.turn("one").await;
        let run = talk.start("two");
        (talk, run)
    };
    let mut events = Vec::new();
    while let Some(event) = run.events.recv().await {
        if states(std::slice::from_ref(&event)) == [WHOLE[1]] {
            talk.engine.run(&run.run_id).unwrap().cancel();
        }
        events.push(event);
    }
    assert_eq!(outcome(&events), (Outcome::Cancelled, None));
    assert_eq!(
        states(&events).pop(),
        Some((CompactionState::Cancelled, false))
    );
    assert!(talk.checkpoints().is_empty());
}

#[tokio::test]
async fn a_summary_that_is_of_no_use_is_not_asked_for_again_in_the_same_turn() {
    let mut calls = 0;
    let talk = Talk::new(Some(1000), move |request| {
        if request.purpose == Purpose::Summary {
            return said("In short.", 7);
        }
        calls += 1;
        let mut answer = said("Look.", 5000);
        if calls < 6 {
            answer.insert(0, Ok(read_a(&calls.to_string())));
        }
        answer
    })
    .await;
    let events = talk.turn("go").await;
    assert_eq!((outcome(&events), states(&events).len()), (COMPLETED, 3));
}
