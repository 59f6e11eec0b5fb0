//! One run as the strict client saw it: its events by name, its text put together.
//! The checks here hold for every run; a test adds its own.

use serde_json::Value;

/// One run as the client saw it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) run_id: String,
    pub(crate) events: Vec<Value>,
}

impl Run {
    /// The data of all events of that name.
    pub(crate) fn named(&self, name: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|event| event["event"] == name)
            .map(|event| &event["data"])
            .collect()
    }

    /// The terminal event's data.
    pub(crate) fn end(&self) -> &Value {
        &self.events.last().expect("a terminal event")["data"]
    }

    pub(crate) fn outcome(&self) -> &str {
        self.end()["outcome"].as_str().expect("an outcome")
    }

    pub(crate) fn revision(&self) -> &str {
        self.end()["revision"].as_str().expect("a revision")
    }

    /// Where the first event of that name stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.events.iter().position(|event| event["event"] == name)
    }

    /// The reconciled text of each segment in order; checks parts and the last-part flag.
    pub(crate) fn reconciled(&self) -> Vec<String> {
        let mut segments: Vec<(String, String, bool)> = Vec::new();
        let mut parts = 0;
        for data in self.named("message.reconcile") {
            let id = data["message_id"].as_str().expect("message_id");
            if segments
                .last()
                .is_none_or(|(last, _, done)| last != id || *done)
            {
                assert!(
                    segments.iter().all(|(known, _, _)| known != id),
                    "reconciled twice: {id}"
                );
                segments.push((id.to_owned(), String::new(), false));
                parts = 0;
            }
            let (_, text, done) = segments.last_mut().expect("a segment");
            assert_eq!(data["part"].as_u64(), Some(parts), "{data}");
            parts += 1;
            let chunk = data["text"].as_str().expect("text");
            assert!(chunk.len() <= 4000, "a live chunk of {} bytes", chunk.len());
            text.push_str(chunk);
            *done = data["last_part"].as_bool().expect("last_part");
        }
        assert!(
            segments.iter().all(|(_, _, done)| *done),
            "a segment without its last part"
        );
        segments.into_iter().map(|(_, text, _)| text).collect()
    }

    /// The concatenated deltas; checks that parts count from 0 in each message.
    pub(crate) fn deltas(&self) -> String {
        let mut next = std::collections::HashMap::<&str, u64>::new();
        let mut all = String::new();
        for data in self.named("message.delta") {
            let next = next
                .entry(data["message_id"].as_str().expect("message_id"))
                .or_default();
            let part = data["part"].as_u64().expect("part");
            assert!(part >= *next, "delta parts must increase: {data}");
            *next = part + 1;
            let text = data["text"].as_str().expect("text");
            assert!(text.len() <= 4000, "a live chunk of {} bytes", text.len());
            all.push_str(text);
        }
        all
    }
}
