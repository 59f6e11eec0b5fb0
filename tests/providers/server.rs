//! A small HTTP server that plays a model: one scripted answer for each request, in order.
//! It knows no wire; it keeps what it was asked.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Longer than any wait of the client, so that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// One request as it came.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Such as `POST /v1/messages`.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// JSON, or the text of a form.
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What one request is answered with.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Cow<'static, str>,
    pub(crate) body: Vec<u8>,
    /// The connection stays open behind the body, as long as the client likes.
    pub(crate) stays: bool,
    /// How long it takes.
    pub(crate) late: Duration,
}

impl Answer {
    /// A body of any kind with status 200.
    pub(crate) fn raw(
        content_type: impl Into<Cow<'static, str>>,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            status: 200,
            content_type: content_type.into(),
            body: body.into(),
            stays: false,
            late: Duration::ZERO,
        }
    }

    /// Events with these data.
    pub(crate) fn events<T: std::fmt::Display>(data: &[T]) -> Self {
        let events = data.iter().map(|data| format!("data: {data}\n\n"));
        Self::raw("text/event-stream", events.collect::<String>())
    }

    /// The answer of an exchange that `MC_RECORD` kept (docs/recording.md).
    pub(crate) fn recorded(exchange: &Value) -> Self {
        let answer = &exchange["response"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let body = match answer["body_base64"].as_str() {
            Some(encoded) => STANDARD.decode(encoded).unwrap(),
            None => text(&answer["body"]).into_bytes(),
        };
        let status = answer["status"].as_u64().unwrap_or(200);
        Self {
            status: status.try_into().unwrap(),
            ..Self::raw(text(&answer["headers"]["content-type"]), body)
        }
    }

    /// A refusal.
    pub(crate) fn refusal(status: u16, body: &str) -> Self {
        Self {
            status,
            ..Self::raw("application/json", body)
        }
    }
}

pub(crate) struct Model {
    address: SocketAddr,
    asked: Receiver<Asked>,
}

impl Model {
    /// Answers each request with the next of `answers`: the data of its events.
    pub(crate) fn start(answers: Vec<Vec<String>>) -> Self {
        Self::answering(answers.iter().map(|data| Answer::events(data)).collect())
    }

    /// Answers each request with the next of `answers`.
    pub(crate) fn answering(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                let _ = tell.send(read(&stream));
                serve(stream, &answer);
            }
        });
        Self { address, asked }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked beyond what a test took.
    pub(crate) fn saw_nothing_more(&self) {
        assert!(self.asked.try_recv().is_err());
    }

    pub(crate) fn asked(&self) -> Asked {
        self.asked.recv_timeout(PATIENCE).expect("a request")
    }
}

fn read(stream: &TcpStream) -> Asked {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: Vec<_> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    // A question has no body.
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    Asked {
        line: lines[0].trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        // A form is none.
        body: serde_json::from_slice(&body)
            .unwrap_or_else(|_| String::from_utf8(body).unwrap().into()),
    }
}

fn serve(mut stream: TcpStream, answer: &Answer) {
    std::thread::sleep(answer.late);
    let mut out = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\nconnection: close\r\n\r\n",
        answer.status, answer.content_type
    )
    .into_bytes();
    out.extend_from_slice(&answer.body);
    // A client that has gone away is the test's subject, not this server's.
    let _ = stream.write_all(&out);
    if answer.stays {
        std::thread::spawn(move || {
            let _ = stream.read(&mut [0]);
        });
    }
}
