//! A small HTTP/1.1 client for the black-box tests: raw requests out, whole responses in.
//! It knows no route; it is strict about framing, because the server must be.
#![allow(dead_code)] // every test crate includes this file and uses its own share of it

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Longer than any bound of the server, so that only a hang reaches it.
const READ_TIMEOUT: Duration = Duration::from_secs(40);

/// One whole response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The server closed its end after the response.
    pub(crate) closed: bool,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a UTF-8 body")
    }
}

/// A request under construction; `send` frames it.
pub(crate) struct Request<'a> {
    method: &'a str,
    path: &'a str,
    host: Option<String>,
    headers: Vec<(&'a str, String)>,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            host: None,
            headers: Vec::new(),
            body: b"",
        }
    }

    pub(crate) fn post(path: &'a str, body: &'a [u8]) -> Self {
        Self {
            body,
            ..Self::new("POST", path)
        }
    }

    /// Another `Host` than the address that is connected to.
    pub(crate) fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    pub(crate) fn header(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The request's head, blank line included.
    pub(crate) fn head(&self, address: SocketAddr) -> String {
        let host = self.host.clone().unwrap_or_else(|| address.to_string());
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() || self.method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        head
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Response {
        let mut stream = connect(address);
        stream
            .write_all(self.head(address).as_bytes())
            .expect("the head is taken");
        // A server that refuses early may close before it has read the body.
        let _ = stream.write_all(self.body);
        read_response(stream)
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream
        .set_read_timeout(Some(READ_TIMEOUT))
        .expect("a timeout");
    stream.set_nodelay(true).expect("nodelay");
    stream
}

/// A loopback address that was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address")
}

/// Reads one response and then looks whether the server closes.
pub(crate) fn read_response(stream: TcpStream) -> Response {
    try_read_response(stream).expect("a whole response")
}

pub(crate) fn try_read_response(stream: TcpStream) -> io::Result<Response> {
    let mut reader = BufReader::new(stream);
    let (status, headers) = loop {
        let (status, headers) = read_head(&mut reader)?;
        if status != 100 {
            break (status, headers);
        }
    };
    let find = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if let Some(length) = find("content-length") {
        body.resize(length.parse().map_err(io::Error::other)?, 0);
        reader.read_exact(&mut body)?;
    } else if find("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        while let Some(chunk) = read_chunk(&mut reader)? {
            body.extend(chunk);
        }
    } else {
        reader.read_to_end(&mut body)?;
    }
    // A reset instead of a clean end is what a refused, unread body may bring.
    let mut more = [0];
    let closed = match reader.read(&mut more) {
        Ok(n) => n == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    };
    let _ = reader.get_ref().shutdown(Shutdown::Both);
    Ok(Response {
        status,
        headers,
        body,
        closed,
    })
}

/// Status and headers of a response.
pub(crate) fn read_head(reader: &mut impl BufRead) -> io::Result<(u16, Vec<(String, String)>)> {
    let status_line = read_line(reader)?;
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| io::Error::other(format!("no status line: {status_line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| io::Error::other(format!("no header: {line:?}")))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.strip_suffix("\r\n")
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other(format!("the connection ended in {line:?}")))
}

fn read_chunk(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let size = usize::from_str_radix(&read_line(reader)?, 16).map_err(io::Error::other)?;
    let mut chunk = vec![0; size];
    reader.read_exact(&mut chunk)?;
    let end = read_line(reader)?;
    if !end.is_empty() {
        return Err(io::Error::other("a chunk without its end"));
    }
    Ok((size > 0).then_some(chunk))
}
