//! Questions of `try`: denied without a terminal, asked at one, and nothing comes between a question and its answer.

use super::*;

async fn approval(peer: &mut Peer) -> bool {
    peer.start().await;
    let ask = json!({"approval_id":CHILD,"summary":"bash: ls","expires_in_ms":60000});
    peer.event("approval.requested", ask).await;
    let request = peer.expect("approval.answer").await;
    peer.answer(&request, json!({"recorded":true})).await;
    peer.end("completed").await;
    request["params"]["allow"].as_bool().unwrap()
}

#[tokio::test]
async fn an_approval_without_a_terminal_is_denied() {
    let mut allowed = true;
    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        allowed = approval(peer).await
    })
    .await;
    assert_eq!((seen.ended, allowed), (Ok(0), false));
    assert!(
        seen.remarks
            .contains("denied, since there is no terminal to ask at: bash: ls")
    );
}

#[tokio::test]
async fn an_approval_at_a_terminal_is_what_the_person_says() {
    for (typed, wanted) in [("y\n", true), ("YES", true), ("", false), ("no", false)] {
        let mut allowed = !wanted;
        let asker = saying(typed);
        let seen = see(TERMINAL, false, asker, quiet(), async |peer: &mut Peer| {
            allowed = approval(peer).await;
        })
        .await;
        assert_eq!((seen.ended, allowed), (Ok(0), wanted), "{typed:?}");
        assert!(seen.remarks.contains("Allow this? bash: ls [y/N] "));
    }
}

#[tokio::test]
async fn nothing_comes_between_a_question_and_its_answer() {
    let (questions, asked) = std::sync::mpsc::channel::<crate::client::asker::Question>();
    let (typed, typing) = std::sync::mpsc::channel();
    let remarks = Sink::default();
    let mut enter = remarks.clone();
    std::thread::spawn(move || {
        let question = asked.recv().unwrap();
        question.ready.send(()).unwrap();
        typing.recv().unwrap();
        enter.write_all(b"y<enter>").unwrap();
        question.answer.send("y\n".to_owned()).unwrap();
    });
    let asker = Asker::at(questions);
    let seen = see_on(remarks, TERMINAL, false, asker, quiet(), async |peer: &mut Peer| {
        peer.start().await;
        let ask = json!({"approval_id":CHILD,"summary":"bash: ls","expires_in_ms":60000});
        peer.event("approval.requested", ask).await;
        for (id, name, state) in [
            ("x", "read", "started"),
            ("y", "glob", "started"),
            ("x", "read", "completed"),
        ] {
            let activity = json!({"activity_id":id,"kind":"tool","state":state,"name":name,"summary":name});
            peer.event("activity", activity).await;
        }
        peer.event("diagnostic", json!({"code":"note","summary":"meanwhile"})).await;
        peer.delta(0, "words").await;
        // Long enough for all of it to be there.
        tokio::time::sleep(Duration::from_millis(100)).await;
        typed.send(()).unwrap();
        let request = peer.expect("approval.answer").await;
        peer.answer(&request, json!({"recorded":true})).await;
        peer.whole("words").await;
        peer.end("completed").await;
    })
    .await;
    assert_eq!(seen.ended, Ok(0));
    let asked = "Allow this? bash: ls [y/N] y<enter>";
    let (_, behind) = seen.remarks.split_once(asked).unwrap();
    let order = ["read", "glob", "✓ read", "[note] meanwhile"].map(|what| behind.find(what));
    assert!(order.is_sorted() && order[0].is_some(), "{behind:?}");
    assert_eq!(seen.words, "words\n");
}
