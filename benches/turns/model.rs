//! A local model server that plays openai-chat and anthropic, and a bare client of it: what a turn costs
//! beyond that client is ours. It notes when it wrote each piece of text; nothing is judged here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenaiChat,
    Anthropic,
}

impl Wire {
    /// The word of the settings.
    pub(crate) fn api(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::Anthropic => "anthropic",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::OpenaiChat => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// The events around `texts`; each text is one event.
    fn events(self, texts: &[String]) -> Vec<String> {
        let quoted = texts.iter().map(|text| format!("{text:?}"));
        let (head, body, tail): (&[&str], Vec<String>, &[&str]) = match self {
            Self::OpenaiChat => (
                &[],
                quoted
                    .map(|text| format!(r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":{text}}},"finish_reason":null}}]}}"#))
                    .collect(),
                &[
                    r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                    "[DONE]",
                ],
            ),
            Self::Anthropic => (
                &[
                    r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                ],
                quoted
                    .map(|text| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#))
                    .collect(),
                &[
                    r#"{"type":"content_block_stop","index":0}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
                    r#"{"type":"message_stop"}"#,
                ],
            ),
        };
        let head = head.iter().map(|&text| text.to_owned());
        let tail = tail.iter().map(|&text| text.to_owned());
        head.chain(body).chain(tail).collect()
    }
}

/// What the server answers from now on.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) texts: Vec<String>,
    /// Between two events; without it they go out in packets of their own as fast as they can.
    pub(crate) pace: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    /// When each event of the last answer was about to be written.
    written: Vec<Instant>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    address: String,
    shared: Arc<Mutex<Shared>>,
}

impl Model {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self {
            address: listener.local_addr().unwrap().to_string(),
            shared: Arc::new(Mutex::new(Shared {
                plan: Plan {
                    texts: Vec::new(),
                    pace: None,
                },
                written: Vec::new(),
            })),
        };
        let shared = Arc::clone(&model.shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                // A client that leaves ends its thread, and nothing else.
                std::thread::spawn(move || {
                    let _ = serve(stream?, &shared);
                    Ok::<(), std::io::Error>(())
                });
            }
        });
        model
    }

    /// Settings under which every turn asks this server.
    pub(crate) fn settings(&self, wire: Wire) -> String {
        format!(
            r#"{{"provider":"local","model":"m","providers":{{"local":{{"api":"{}","base_url":"http://{}/v1","api_key_env":null,"models":["m"]}}}}}}"#,
            wire.api(),
            self.address
        )
    }

    pub(crate) fn play(&self, plan: Plan) {
        self.shared.lock().unwrap().plan = plan;
    }

    /// When each text of the last answer was about to be written.
    pub(crate) fn written(&self) -> Vec<Instant> {
        std::mem::take(&mut self.shared.lock().unwrap().written)
    }

    /// A connection of the bare client.
    pub(crate) fn connect(&self) -> Bare {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Bare(BufReader::new(stream))
    }
}

/// The least that a client of the server can do.
pub(crate) struct Bare(BufReader<TcpStream>);

impl Bare {
    /// Asks and reads the answer to its end, on a connection that stays.
    pub(crate) fn exchange(&mut self, wire: Wire) -> Duration {
        let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}"#;
        let begun = Instant::now();
        let stream = self.0.get_mut();
        write!(
            stream,
            "POST {} HTTP/1.1\r\nhost: bench\r\ncontent-length: {}\r\n\r\n{body}",
            wire.path(),
            body.len()
        )
        .unwrap();
        let mut line = String::new();
        // The last chunk is empty; no event's line looks like it.
        while line != "0\r\n" {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0);
        }
        self.0.read_line(&mut line).unwrap();
        begun.elapsed()
    }
}

fn serve(stream: TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if input.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.trim().parse().unwrap());
        std::io::copy(&mut (&mut input).take(length), &mut std::io::sink())?;
        let wire = if head.contains("/messages") {
            Wire::Anthropic
        } else {
            Wire::OpenaiChat
        };
        let Plan { texts, pace } = shared.lock().unwrap().plan.clone();
        output.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let mut written = Vec::with_capacity(texts.len());
        let mut next = Instant::now();
        for event in wire.events(&texts) {
            let data = format!("data: {event}\n\n");
            let packet = format!("{:x}\r\n{data}\r\n", data.len());
            if let Some(pace) = pace {
                next += pace;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            if event.contains("_delta\",\"text") || event.contains("\"content\":\"") {
                written.push(Instant::now());
            }
            output.write_all(packet.as_bytes())?;
        }
        shared.lock().unwrap().written = written;
        output.write_all(b"0\r\n\r\n")?;
    }
}
