//! Tests of sessions that are full, and go on in another part.

use super::*;

/// So many records that no more than a quarter of a part is left.
fn fill(talk: &Talk, records: usize) {
    talk.sessions.edit(&talk.session, |all| {
        let last = all.last().unwrap().clone();
        while all.len() < records {
            let mut record = last.clone();
            record.n = all.len() as u64 + 1;
            record.body = Body::Diagnostic {
                code: "c".into(),
                summary: String::new(),
            };
            all.push(record);
        }
    });
}

#[tokio::test]
async fn a_session_that_is_nearly_full_goes_on_in_another_part() {
    let talk = Talk::new(None, |request| match request.purpose {
        Purpose::Summary => said("In short.", 7),
        Purpose::Answer => said("Answer.", 5),
    })
    .await;
    talk.turn("one").await;
    fill(&talk, 80_000);
    talk.reopen().await;
    talk.asked();
    let events = talk.turn("two").await;
    assert_eq!(
        (outcome(&events), &states(&events)[..]),
        (COMPLETED, &WHOLE[..])
    );
    let first = events.first();
    let stored = RunEvent::MustArrive(MustArrive::InputPersisted {
        message_id: String::new(),
        revision: String::new(),
    });
    assert_eq!(
        first.map(std::mem::discriminant),
        Some(std::mem::discriminant(&stored))
    );
    let records = talk.records();
    assert!(records.len() < 20, "{}", records.len());
    assert_eq!(records[0].body, Body::Continuation { part: 2 });
    let ids = |records: &[Record]| {
        let inputs = records.iter().filter_map(|record| match &record.body {
            Body::UserInput { message_id, text } => Some((message_id.clone(), text.clone())),
            _ => None,
        });
        inputs.collect::<Vec<_>>()
    };
    let inputs = ids(&records);
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0].1, "two");
    assert_eq!(talk.asked().len(), 2);
    // With a summary at hand the conversation goes along as it is, and nobody is asked.
    fill(&talk, 80_000);
    talk.reopen().await;
    let events = talk.turn("three").await;
    // All that was filled in stands behind the summary: too much to be taken along.
    assert_eq!(states(&events), WHOLE);
    talk.sessions.edit(&talk.session, |all| {
        let checkpoint = all
            .iter()
            .position(|it| matches!(it.body, Body::Checkpoint { .. }));
        let mut checkpoint = all.remove(checkpoint.unwrap());
        if let Body::Checkpoint { cutoff, .. } = &mut checkpoint.body {
            *cutoff = 0;
        }
        let mut tail = all.split_off(2);
        let diagnostic = Body::Diagnostic {
            code: "c".into(),
            summary: String::new(),
        };
        while all.len() < 80_000 {
            let body = diagnostic.clone();
            all.push(Record {
                body,
                ..checkpoint.clone()
            });
        }
        if let Body::Checkpoint { cutoff, .. } = &mut checkpoint.body {
            *cutoff = 80_000;
        }
        all.push(checkpoint);
        all.append(&mut tail);
        for (n, record) in (1..).zip(all) {
            record.n = n;
        }
    });
    talk.reopen().await;
    talk.asked();
    let events = talk.turn("four").await;
    assert_eq!((outcome(&events), states(&events).len()), (COMPLETED, 0));
    let asked = talk.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        users(&asked[0].1),
        ["In short. of 2, 0", "three", "Answer.+0", "four"]
    );
    assert!(talk.records().len() < 20);
    talk.reopen().await;
    talk.turn("five").await;
    let last = talk.asked().pop().unwrap().1;
    assert_eq!(users(&last)[3..], ["four", "Answer.+0", "five"]);
}

#[tokio::test]
async fn a_session_without_room_for_the_input_is_summarized_before_it_is_stored() {
    let mut down = true;
    let talk = Talk::new(None, move |request| match request.purpose {
        Purpose::Summary if std::mem::take(&mut down) => vec![Err(ErrorKind::Network.into())],
        Purpose::Summary => said("In short.", 7),
        Purpose::Answer => said("Answer.", 5),
    })
    .await;
    talk.turn("one").await;
    fill(&talk, 99_999);
    talk.reopen().await;
    let before = talk.records().len();
    // The provider is down: nothing is stored, why is said, and it can be tried again.
    let events = talk.turn("two").await;
    let Some(RunEvent::MustArrive(MustArrive::Finished {
        persistence,
        error_code,
        ..
    })) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*persistence, *error_code),
        (
            Persistence::NotStarted,
            Some(RunErrorCode::PersistenceFailed)
        )
    );
    let told = events.iter().any(|event| {
        matches!(event, RunEvent::MustArrive(MustArrive::Diagnostic { summary, .. })
            if summary.as_str().contains("cannot be reached"))
    });
    assert!(told, "{events:?}");
    assert_eq!(talk.records().len(), before);
    let events = talk.turn("two").await;
    assert_eq!(
        (outcome(&events), &states(&events)[..]),
        (COMPLETED, &WHOLE[..])
    );
    assert!(
        matches!(
            events[0],
            RunEvent::MustArrive(MustArrive::InputPersisted { .. })
        ),
        "{events:?}"
    );
    let last = talk.asked().pop().unwrap().1;
    assert_eq!(users(&last), ["In short. of 1, 0", "two"]);
    assert!(talk.records().len() < 20);
}

#[tokio::test]
async fn what_ends_before_the_input_is_stored_was_not_started() {
    let talk = Talk::new(None, |request| match request.purpose {
        Purpose::Summary => Vec::new(),
        Purpose::Answer => said("Answer.", 5),
    })
    .await;
    talk.turn("one").await;
    fill(&talk, 99_999);
    talk.reopen().await;
    let before = talk.records().len();
    talk.asked();
    let run = talk.start("two");
    let active = talk.engine.run(&run.run_id).unwrap();
    let cancel = async {
        while talk.model.asked.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        active.cancel();
    };
    let (events, ()) = tokio::join!(events_of(run), cancel);
    let [
        RunEvent::MustArrive(MustArrive::Finished {
            outcome,
            persistence,
            error_code,
            ..
        }),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*outcome, *persistence, *error_code),
        (Outcome::Cancelled, Persistence::NotStarted, None)
    );
    assert_eq!(talk.records().len(), before);
}

#[tokio::test]
async fn a_session_that_can_go_on_in_no_part_says_so_and_asks_nobody() {
    let talk = Talk::new(None, |_| said("Answer.", 5)).await;
    talk.turn("one").await;
    talk.sessions
        .at_the_end
        .store(true, std::sync::atomic::Ordering::Relaxed);
    fill(&talk, 80_000);
    talk.reopen().await;
    // Its last part is filled to its end.
    let events = talk.turn("two").await;
    assert_eq!((outcome(&events), states(&events).len()), (COMPLETED, 0));
    fill(&talk, 99_999);
    talk.reopen().await;
    talk.asked();
    let events = talk.turn("three").await;
    let told = events.iter().any(|event| {
        matches!(event, RunEvent::MustArrive(MustArrive::Diagnostic { code: RunErrorCode::PersistenceFailed, summary })
            if summary.as_str().contains("as many parts as a session may have"))
    });
    assert!(told, "{events:?}");
    let ended = matches!(
        events.last(),
        Some(RunEvent::MustArrive(MustArrive::Finished {
            outcome: Outcome::Failed,
            persistence: Persistence::NotStarted,
            ..
        }))
    );
    assert!(ended, "{events:?}");
    assert!(talk.asked().is_empty());
}
