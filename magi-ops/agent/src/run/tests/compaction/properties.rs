//! The conversation in memory is the one that a later process reads, whatever was said and whenever it was made shorter.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Calls(usize),
    Text,
    Nothing,
    Fails,
}

fn any_turn() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let step = prop_oneof![
        4 => (1usize..4).prop_map(Step::Calls),
        2 => Just(Step::Text),
        1 => Just(Step::Nothing),
        1 => Just(Step::Fails),
    ];
    prop::collection::vec((step, 0u64..1500), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever was said and whenever it was made shorter: what the model is told next is what the stored records say, each
    /// call has its result, and no input of the turn under way is missing.
    #[test]
    fn the_conversation_in_memory_is_the_stored_one(turns in prop::collection::vec(any_turn(), 1..6), fails in any::<u8>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let mut summaries = 0u8;
            let mut count = 0;
            let script = Arc::new(Mutex::new(std::collections::VecDeque::new()));
            let steps = Arc::clone(&script);
            let talk = Talk::new(Some(1000), move |request| {
                if request.purpose == Purpose::Summary {
                    summaries = summaries.wrapping_add(1);
                    return match fails & (1 << (summaries % 8)) {
                        0 => said("In short.", 3),
                        _ => vec![Err(ErrorKind::Overloaded.into())],
                    };
                }
                let next: Option<(Step, u64)> = steps.lock().unwrap().pop_front();
                let Some((step, used)) = next else {
                    return said("Done.", 10);
                };
                count += 1;
                let used = Ok(Chunk::Usage(Usage { input: used, ..Usage::default() }));
                match step {
                    Step::Calls(calls) => {
                        let mut answer = vec![Ok(text("Look.")), Ok(Chunk::State(json!(count)))];
                        answer.extend((0..calls).map(|n| Ok(read_a(&format!("{count}.{n}")))));
                        answer.push(used);
                        answer
                    }
                    Step::Text => vec![Ok(text("Word. ")), used],
                    Step::Nothing => vec![used],
                    Step::Fails => vec![Ok(text("Half")), Err(ErrorKind::Network.into())],
                }
            }).await;
            for (n, turn) in turns.into_iter().enumerate() {
                *script.lock().unwrap() = turn.into();
                talk.turn(&format!("prompt {n}")).await;
                for (_, messages) in talk.asked() {
                    check(&messages);
                }
            }
            script.lock().unwrap().clear();
            talk.turn("the last").await;
            let asked = talk.asked().into_iter().rev();
            // It may be too long for its window for good.
            let Some((_, told)) = asked.into_iter().find(|(purpose, _)| *purpose == Purpose::Answer) else {
                return;
            };
            let mut records = talk.records();
            let is_last = |record: &Record| matches!(&record.body, Body::UserInput { text, .. } if text == "the last");
            let last = records.iter().position(is_last).unwrap();
            // With the checkpoint that came between, if one did.
            let checkpoint = records.iter().rposition(|it| matches!(it.body, Body::Checkpoint { .. }));
            records.truncate(checkpoint.map_or(last, |at| at.max(last)) + 1);
            assert_eq!(replayed(records), told);
        });
    }
}

/// Every call has its result, and every result its call.
fn check(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Summary { .. } => assert_eq!(at, 0),
            Message::User { .. } => assert!(open.is_empty()),
            Message::Assistant { tool_calls, .. } => {
                assert!(open.is_empty() && at > 0);
                open = tool_calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::ToolResult { call_id, .. } => {
                assert_eq!(open.first(), Some(&call_id.as_str()));
                open.remove(0);
            }
        }
    }
    assert!(open.is_empty());
}
