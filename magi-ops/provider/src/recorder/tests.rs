//! Tests of what is kept of an exchange: to the letter, but for secrets, however they are cut up.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const SECRET: &str = "canary-7Hq2mZx9Lw4Tb8Rk";

fn redactor() -> Redactor {
    Redactor::new([("MY_API_KEY", SECRET)])
}

fn delta(text: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })
}

fn event(text: &str) -> String {
    format!("data: {}\n\n", delta(text))
}

/// A body of these pieces: as events, in a list over many lines, as values behind each other.
fn bodies(pieces: &[&str]) -> [String; 3] {
    let values: Vec<_> = pieces.iter().map(|piece| delta(piece)).collect();
    [
        pieces.iter().map(|piece| event(piece)).collect(),
        format!("{:#}", Value::from(values.clone())),
        values.iter().map(|value| format!("{value}\n")).collect(),
    ]
}

/// What the events of a recorded body say in all. Half an event says nothing.
fn said(body: &str) -> String {
    let mut said = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('{') {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let Some(Ok(event)) = values.next() else {
            break;
        };
        said += event["choices"][0]["delta"]["content"].as_str().unwrap();
        rest = &rest[at + values.byte_offset()..];
    }
    said
}

#[test]
fn what_holds_no_secret_is_kept_to_the_letter() {
    for body in [
        "data: {\"b\":1, \"a\":\"x\\u0007\u{200b}\"}\r\n\r\n: ping\r\ndata: [DONE]\n\n",
        "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}",
        "[{\"a\": 1}\r\n,\r\n{\"b\":[2 ]}]\n",
        "[1, {\"a\": 2}",
        "{\"a\" :1} {\"b\":2}x",
        "<html>\x1b[31m",
        "data: {\"half\": ",
        "",
    ] {
        let kept = masking::answer(body.as_bytes(), true, &redactor());
        assert_eq!(kept, (body.to_owned(), true));
    }
}

#[test]
fn a_request_is_masked_wherever_it_holds_a_secret() {
    let image = "A".repeat(300 * 1024);
    let body = json!({
        "messages": [{ "role": "user", "content": format!("key {SECRET}!"), SECRET: 1 }, image],
        "tools": [{ "password": "correct-horse-9battery" }],
    });
    let kept = masking::request(body.to_string().as_bytes(), &redactor());
    assert_eq!(kept["messages"][0]["content"], "key [redacted]!");
    assert_eq!(kept["messages"][1], "[307200 bytes are left out]");
    let text = kept.to_string();
    assert!(
        !text.contains(SECRET) && !text.contains("9battery"),
        "{text}"
    );
}

#[test]
fn a_body_that_breaks_off_shows_no_half_of_a_secret() {
    let body = format!(
        "data: {{\"a\":\"ok\"}}\n\ndata: {{\"a\":\"{}",
        &SECRET[..14]
    );
    let (kept, exact) = masking::answer(body.as_bytes(), false, &redactor());
    assert!(kept.starts_with("data: {\"a\":\"ok\"}\n\n"), "{kept}");
    assert!(!exact && !kept.contains(&SECRET[..14]), "{kept}");
}

#[test]
fn a_secret_whose_beginning_is_one_by_itself_takes_its_rest_along() {
    let secret = format!("sk-proj-{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(3));
    for at in 1..secret.len() {
        let body: String = ["before ", &secret[..at], &secret[at..], " behind"]
            .map(event)
            .concat();
        let (kept, exact) = masking::answer(body.as_bytes(), true, &redactor());
        assert_eq!(
            (said(&kept).as_str(), exact),
            ("before [redacted] behind", false),
            "{at}"
        );
    }
}

proptest! {
    /// However a server cuts it, a secret is not there, and everything else is.
    #[test]
    fn a_secret_over_several_events_is_masked(cuts in prop::collection::vec(0..=SECRET.len(), 1..4)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut parts = vec!["before "];
        let mut from = 0;
        for at in cuts {
            parts.push(&SECRET[from..at]);
            from = at;
        }
        parts.extend([&SECRET[from..], " behind"]);
        for body in bodies(&parts) {
            let (kept, exact) = masking::answer(body.as_bytes(), true, &redactor());
            prop_assert_eq!(said(&kept), "before [redacted] behind", "{}", kept);
            prop_assert!(!exact);
        }
    }

    /// Wherever a stream breaks off, its secrets are not there, nor more of one than says nothing.
    #[test]
    fn no_half_of_a_secret_over_several_events_is_kept(size in 1..9_usize, cut in any::<prop::sample::Index>()) {
        let text = format!("the key is {SECRET} yes");
        let pieces: Vec<_> = text.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        for body in bodies(&pieces) {
            let cut = cut.index(body.len() + 1);
            let (kept, _) = masking::answer(&body.as_bytes()[..cut], false, &redactor());
            let said = said(&kept);
            for half in (0..=SECRET.len() - 8).map(|at| &SECRET[at..at + 8]) {
                prop_assert!(!said.contains(half) && !kept.contains(half), "{}", kept);
            }
            // What came before it is there.
            if cut > 12 * (body.len() / pieces.len() + 8) {
                prop_assert!(said.starts_with("the key is"), "{}", kept);
            }
        }
    }

    #[test]
    fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..60), is_whole in any::<bool>()) {
        masking::answer(&body, is_whole, &redactor());
        masking::request(&body, &redactor());
    }
}

/// The files of a folder and what they hold.
fn files(folder: &Path) -> Vec<Value> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    paths.iter().map(read).collect()
}

#[tokio::test]
async fn an_exchange_is_one_private_file_without_keys() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("a/b");
    let recorder = Arc::new(Recorder::create(&folder, redactor()).unwrap());
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let headers: [(&str, &[u8]); 3] = [
        ("authorization", b"Bearer x"),
        ("content-type", b"text/event-stream"),
        ("x-request-id", SECRET.as_bytes()),
    ];
    let begin = || recorder.begin("p", "m", 2, Bytes::from_static(b"{\"a\":1}"));
    let mut recording = begin().unwrap();
    recording.asked("/v1/x", headers.into_iter());
    recording.answered(200, headers.into_iter());
    recording.arrived(b"data: \xff");
    recording.arrived(b"\n\n");
    recording.end(None).await;
    let kept = files(&folder).remove(0);
    let kept_headers = json!({ "content-type": "text/event-stream", "x-request-id": "[redacted]" });
    assert_eq!(kept["outcome"], "complete");
    assert_eq!(kept["attempt"], 2);
    assert_eq!(
        kept["request"],
        json!({ "method": "POST", "path": "/v1/x", "headers": kept_headers, "body": { "a": 1 } })
    );
    assert_eq!(
        kept["response"],
        json!({ "status": 200, "headers": kept_headers, "body_base64": "ZGF0YTog/woK" })
    );
    // Of a longer one the beginning.
    let mut recording = begin().unwrap();
    recording.arrived(&vec![b'x'; MAX_BODY_BYTES]);
    recording.arrived(b"y");
    recording
        .end(Some(&ProviderError::from(crate::ErrorKind::Stalled)))
        .await;
    let kept = files(&folder).remove(1);
    assert_eq!(kept["response"]["truncated"], true);
    assert_eq!(kept["outcome"], crate::ErrorKind::Stalled.to_string());
}

#[tokio::test]
async fn a_cancelled_exchange_is_on_the_disk_once_all_have_settled() {
    let root = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::create(root.path(), redactor()).unwrap());
    let body = Bytes::from(json!({ "a": "b".repeat(4 << 20) }).to_string());
    for attempt in 1..=4 {
        drop(recorder.begin("p", "m", attempt, body.clone()));
        // Settling once is no end of it.
        recorder.settle().await;
        let kept = files(root.path());
        assert_eq!(kept.len(), attempt as usize);
        assert_eq!(kept[kept.len() - 1]["outcome"], "cancelled");
    }
}

#[tokio::test]
async fn what_can_t_be_written_ends_the_recording_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("r");
    let recorder = Arc::new(Recorder::create(&folder, redactor()).unwrap());
    fs::remove_dir(&folder).unwrap();
    let begin = || recorder.begin("p", "m", 1, Bytes::new());
    begin().unwrap().end(None).await;
    assert!(begin().is_none());
    // A file in the folder's place.
    fs::write(&folder, "").unwrap();
    assert!(Recorder::create(&folder, redactor()).is_err());
}

#[tokio::test]
async fn no_more_are_kept_than_the_bounds_say() {
    let root = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::create(root.path(), redactor()).unwrap());
    recorder.kept.lock().unwrap().begun = MAX_EXCHANGES - 1;
    let begin = || recorder.begin("p", "m", 1, Bytes::new());
    assert!(begin().is_some() && begin().is_none());
    let recorder = Arc::new(Recorder::create(root.path(), redactor()).unwrap());
    recorder.kept.lock().unwrap().bytes = MAX_BYTES;
    assert!(recorder.begin("p", "m", 1, Bytes::new()).is_none());
}
