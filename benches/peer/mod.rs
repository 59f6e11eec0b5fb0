//! A child that is spoken to by lines, the requests of both magi dialects, and quantiles of times.
//! What is measured stands in the benchmarks.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The program that is measured: the one that `variable` names, else the one just built.
pub(crate) fn program(variable: &str, built: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| built.into(), PathBuf::from)
}

pub(crate) struct Peer {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    pub(crate) line: String,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            line: String::new(),
        }
    }

    /// Writes a request and reads the next line; its bytes.
    pub(crate) fn ask(&mut self, request: &[u8]) -> usize {
        self.input.write_all(request).unwrap();
        self.read()
    }

    /// Reads the next line; its bytes.
    pub(crate) fn read(&mut self) -> usize {
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap()
    }

    pub(crate) fn rss_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn end(mut self) {
        drop(self.input);
        let mut rest = Vec::new();
        let _ = self.output.read_to_end(&mut rest);
        let _ = self.child.wait();
    }
}

/// A request of local-agent.
pub(crate) fn local(id: usize, method: &str, params: &str) -> Vec<u8> {
    let id = format!("r{id}");
    format!(
        "{{\"protocol\":\"magi-code.local-agent\",\"version\":1,\"id\":\"{id}\",\"method\":\"{method}\",\"params\":{params}}}\n"
    )
    .into_bytes()
}

/// A request of application-service, of a session if `session` names one.
pub(crate) fn service(id: usize, method: &str, session: Option<&str>, payload: &str) -> Vec<u8> {
    let session = session.map_or(String::new(), |id| format!(r#""session_id":"{id}","#));
    format!(
        "{{\"protocol_version\":1,\"kind\":\"request\",\"request_id\":\"r{id}\",\"method\":\"{method}\",{session}\"payload\":{payload}}}\n"
    )
    .into_bytes()
}

pub(crate) fn quantile(times: &mut [Duration], q: f64) -> Duration {
    times.sort_unstable();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    times[((times.len() - 1) as f64 * q) as usize]
}

pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}
