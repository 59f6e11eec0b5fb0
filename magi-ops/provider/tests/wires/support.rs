//! A local HTTP/1.1 server that does what a script says, byte by byte, and tells what it saw.
//! It knows no wire: the events are the tests'.

use std::sync::Arc;
use std::time::Duration;

use provider::{
    Api, Chunk, ErrorKind, FixedCredential, Message, ModelLimits, Patience, Provider,
    ProviderConfig, ProviderError, Request, Response, Secret, build_with,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Only a hang reaches it.
pub(crate) const PATIENT: Duration = Duration::from_secs(60);

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Bytes in a packet of their own.
    Write(Vec<u8>),
    /// Sends nothing more and waits until the client closes.
    Hang,
    /// Closes the connection in the middle of whatever was being sent.
    Close,
}

/// What the server saw.
#[derive(Debug)]
pub(crate) enum Seen {
    Request(Asked),
    /// The client closed while the server hung.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Asked {
    /// Number of the connection, from 0.
    pub(crate) connection: usize,
    /// Request line and headers, as they came.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) struct Server {
    pub(crate) base: String,
    seen: mpsc::UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers the requests in the order of `answers`; a further one is a failure of the test.
    pub(crate) async fn start(answers: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (tell, seen) = mpsc::unbounded_channel();
        let answers = Arc::new(tokio::sync::Mutex::new(answers.into_iter()));
        let task = tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let answers = Arc::clone(&answers);
                let tell = tell.clone();
                tokio::spawn(async move {
                    serve(connection, stream, tell, answers).await;
                });
            }
        });
        Self { base, seen, task }
    }

    pub(crate) async fn seen(&mut self) -> Seen {
        let seen = tokio::time::timeout(PATIENT, self.seen.recv()).await;
        seen.expect("the server saw nothing").unwrap()
    }

    pub(crate) async fn asked(&mut self) -> Asked {
        match self.seen().await {
            Seen::Request(asked) => asked,
            Seen::Closed => panic!("closed before it asked"),
        }
    }

    pub(crate) fn saw_nothing_more(&mut self) {
        assert!(self.seen.try_recv().is_err());
    }

    pub(crate) fn provider(&self, api: Api, patience: Patience) -> Arc<dyn Provider> {
        provider(api, &self.base, patience)
    }
}

async fn serve(
    connection: usize,
    mut stream: TcpStream,
    tell: mpsc::UnboundedSender<Seen>,
    answers: Arc<tokio::sync::Mutex<std::vec::IntoIter<Vec<Step>>>>,
) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    loop {
        let Some((head, body)) = read_request(&mut stream, &mut buffer).await else {
            return;
        };
        let _ = tell.send(Seen::Request(Asked {
            connection,
            head,
            // A question has none.
            body: match body.is_empty() {
                true => Value::Null,
                false => serde_json::from_slice(&body).unwrap(),
            },
        }));
        let steps = answers.lock().await.next().expect("one request too many");
        for step in steps {
            match step {
                Step::Write(bytes) => {
                    // The client may have left.
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                    // Lets the client read each packet on its own.
                    tokio::task::yield_now().await;
                }
                Step::Hang => {
                    while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
                    let _ = tell.send(Seen::Closed);
                    return;
                }
                Step::Close => return,
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let length: usize = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, buffer.drain(..length).collect()))
}

pub(crate) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; \
    charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// A packet of a chunked body.
pub(crate) fn packet(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    let mut packet = format!("{:x}\r\n", bytes.len()).into_bytes();
    packet.extend_from_slice(bytes);
    packet.extend_from_slice(b"\r\n");
    Step::Write(packet)
}

/// The end of a chunked body.
pub(crate) fn body_end() -> Step {
    Step::Write(b"0\r\n\r\n".to_vec())
}

pub(crate) fn stream_head() -> Step {
    Step::Write(STREAM_HEAD.to_vec())
}

/// Each event's data as an event, in one packet.
pub(crate) fn events<T: AsRef<str>>(data: &[T]) -> Step {
    let text: String = data
        .iter()
        .map(|data| format!("data: {}\n\n", data.as_ref()))
        .collect();
    packet(text)
}

/// A whole streamed answer.
pub(crate) fn streamed<T: AsRef<str>>(data: &[T]) -> Vec<Step> {
    vec![stream_head(), events(data), body_end()]
}

/// A whole answer without a stream.
pub(crate) fn plain(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Write(
        format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )]
}

/// The key that no output may show.
pub(crate) const KEY: &str = "sk-canary-0123456789";

pub(crate) fn config(api: Api, base: &str) -> ProviderConfig {
    ProviderConfig {
        id: "local".into(),
        api,
        base_url: Some(base.to_owned()),
        models: ModelLimits::default(),
    }
}

pub(crate) fn provider(api: Api, base: &str, patience: Patience) -> Arc<dyn Provider> {
    let config = config(api, base);
    let credential = FixedCredential::new(Some(Secret::new(KEY)));
    build_with(&config, Arc::new(credential), None, patience).unwrap()
}

/// Waits that no test notices where they are not the subject.
pub(crate) fn quick() -> Patience {
    Patience {
        first: Some(PATIENT),
        stall: PATIENT,
        backoff: Duration::from_millis(1),
        ..Patience::default()
    }
}

pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "claude-haiku-4-5".into(),
        messages: Arc::new(messages),
        ..Request::default()
    }
}

pub(crate) fn prompt() -> Request {
    request(vec![Message::User { text: "hi".into() }])
}

/// Reads a response to its end, and of its failure the kind.
pub(crate) async fn read(response: Response) -> (Vec<Chunk>, Option<ErrorKind>) {
    let (chunks, error) = read_whole(response).await;
    (chunks, error.map(|error| error.kind()))
}

/// Reads a response to its end.
pub(crate) async fn read_whole(mut response: Response) -> (Vec<Chunk>, Option<ProviderError>) {
    let mut chunks = Vec::new();
    loop {
        let next = tokio::time::timeout(PATIENT, response.next()).await;
        match next.expect("the response hangs") {
            Some(Ok(chunk)) => chunks.push(chunk),
            Some(Err(error)) => {
                assert!(response.next().await.is_none());
                return (chunks, Some(error));
            }
            None => return (chunks, None),
        }
    }
}

/// One response of a server that answers once.
pub(crate) async fn answer(
    api: Api,
    request: Request,
    steps: Vec<Step>,
) -> (Vec<Chunk>, Option<ErrorKind>) {
    let server = Server::start(vec![steps]).await;
    let patience = Patience {
        attempts: 1,
        ..quick()
    };
    let response = server
        .provider(api, patience)
        .respond(request, CancellationToken::new());
    read(response).await
}

pub(crate) fn text(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}
