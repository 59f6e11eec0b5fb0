//! Tests of what a summary stands for: what is shown of it and behind it, and which cursors go stale.

use super::*;

fn checkpoint(cutoff: u64, input: Option<u64>, summary: &str) -> Body {
    Body::Checkpoint {
        activity_id: "c".into(),
        cutoff,
        input,
        inputs: 1,
        responses: 0,
        summary: summary.into(),
        tokens_before: 9,
        tokens_after: 1,
    }
}

#[test]
fn a_summary_stands_before_the_conversation_behind_its_cutoff() {
    let mut place = Place::new(vec![
        user("first"),
        whole("a", Some("answer")),
        end(Outcome::Completed),
        user("second"),
        whole("b", Some("another")),
        end(Outcome::Completed),
    ]);
    let page = place.page(None, 32);
    let old = page.items[1].cursor.clone();
    assert_eq!(place.shown().len(), 6);
    place.add(vec![user("third"), checkpoint(3, None, "in short")]);
    let expected = [
        "Summary: in short",
        "User: second",
        "Assistant: another",
        "Completed",
        "User: third",
    ];
    assert_eq!(place.shown(), expected);
    for stale in [&old, &page.next_cursor] {
        let again = place.page(Some(stale), 32);
        assert!(again.resync_required && again.items.is_empty());
    }
    let page = place.page(None, 32);
    assert!(!page.gap);
    // A cursor holds while the session grows, and not past another checkpoint.
    let known = page.next_cursor;
    place.add(vec![whole("c", Some("yes")), end(Outcome::Completed)]);
    let more = place.page(Some(&known), 32);
    assert_eq!((more.items.len(), more.resync_required), (2, false));
    place.add(vec![user("fourth"), checkpoint(10, None, "shorter")]);
    assert_eq!(place.shown(), ["Summary: shorter", "User: fourth"]);
    assert!(place.page(Some(&known), 32).resync_required);
    assert!(place.page(Some(&page.items[0].cursor), 32).resync_required);
}

#[test]
fn within_a_turn_its_input_stays_before_the_responses_behind_the_cutoff() {
    let place = Place::new(vec![
        user("first"),
        end(Outcome::Completed),
        user("second"),
        whole("a", Some("gone")),
        whole("b", Some("stays")),
        checkpoint(4, Some(3), "in short"),
        end(Outcome::Completed),
    ]);
    let expected = [
        "Summary: in short",
        "User: second",
        "Assistant: stays",
        "Completed",
    ];
    assert_eq!(place.shown(), expected);
    assert!(!place.page(None, 32).gap);
}

#[test]
fn a_long_summary_comes_in_parts_without_its_secrets() {
    let secret = "ghp_aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p";
    let summary = format!("{}{secret}{}", "x ".repeat(1010), " y".repeat(3000));
    let place = Place::new(vec![user("first"), checkpoint(1, None, &summary)]);
    let items = place.all(32);
    let texts: Vec<_> = items
        .iter()
        .map(|item| match &item.body {
            ReplayBody::Summary { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(texts.len() > 3 && texts.iter().all(|text| text.len() <= MAX_PART_BYTES));
    assert!(!texts.concat().contains("ghp_"));
    assert!(encoded(&place.page(None, 32)) <= MAX_PAGE_BYTES);
}

#[test]
fn a_turn_that_could_not_go_on_says_what_it_needs() {
    let ended = Body::TurnFinished {
        outcome: Outcome::Failed,
        error_code: Some("compaction_required".into()),
    };
    let place = Place::new(vec![
        user("first"),
        ended,
        user("second"),
        end(Outcome::Failed),
    ]);
    let expected = [
        "User: first",
        "CompactionRequired",
        "User: second",
        "Failed",
    ];
    assert_eq!(place.shown(), expected);
}

#[test]
fn a_checkpoint_whose_conversation_is_out_of_the_window_has_a_gap() {
    let mut bodies = vec![user("first"), user("second")];
    bodies.extend((0..3000).map(|_| user(&"x".repeat(1000))));
    bodies.push(checkpoint(1, None, "in short"));
    let place = Place::on_disk(bodies);
    let page = place.page(None, 1);
    assert!(matches!(page.items[0].body, ReplayBody::Summary { .. }));
    assert!(page.gap);
    let mut bodies: Vec<_> = (0..3000).map(|_| user(&"x".repeat(1000))).collect();
    bodies.push(checkpoint(3000, None, "in short"));
    let place = Place::on_disk(bodies);
    let page = place.page(None, 32);
    assert_eq!(
        (page.items.len(), page.gap),
        (1, false),
        "all that is shown is there"
    );
}

#[test]
fn another_part_begins_with_its_summary_and_makes_old_cursors_stale() {
    let mut place = Place::on_disk(vec![user("first"), user("second")]);
    let old = place.page(None, 1);
    let head = vec![checkpoint(0, None, "in short")];
    place
        .writer
        .begin_part(None, head, &|record| record.n == 2, &|| false)
        .unwrap();
    assert_eq!(place.shown(), ["Summary: in short", "User: second"]);
    assert!(place.page(Some(&old.next_cursor), 1).resync_required);
    assert!(!place.page(None, 1).gap);
}

#[test]
fn a_checkpoint_that_stands_for_nothing_that_could_be_is_a_gap() {
    let first = || vec![user("first"), end(Outcome::Completed), user("second")];
    for (more, gap) in [
        (vec![checkpoint(2, None, "in short")], false),
        (vec![checkpoint(3, Some(3), "in short")], false),
        (
            vec![checkpoint(2, None, "a"), checkpoint(2, None, "b")],
            false,
        ),
        (
            vec![checkpoint(2, None, "a"), checkpoint(4, None, "b")],
            false,
        ),
        (vec![checkpoint(4, None, "in short")], true),
        (vec![checkpoint(u64::MAX, None, "in short")], true),
        (
            vec![checkpoint(2, None, "a"), checkpoint(1, None, "b")],
            true,
        ),
        (
            vec![checkpoint(9, None, "a"), checkpoint(2, None, "b")],
            true,
        ),
        (vec![checkpoint(2, None, "\u{200b} ")], true),
        (vec![checkpoint(2, Some(9), "in short")], true),
        (vec![checkpoint(2, Some(3), "in short")], true),
        (vec![checkpoint(3, Some(2), "in short")], true),
        (vec![checkpoint(3, Some(0), "in short")], true),
    ] {
        let place = Place::new([first(), more.clone()].concat());
        assert_eq!(place.page(None, 32).gap, gap, "{more:?}");
        // Whoever would go on with it refuses it.
        let window = place.sessions.window(place.writer.lease().id(), None);
        let mut records = window.unwrap().unwrap().records.into_iter();
        let mut replay = crate::conversation::Replay::default();
        let read = records.try_for_each(|record| replay.take(record));
        assert_eq!(read.is_err(), gap, "{more:?}");
    }
}
