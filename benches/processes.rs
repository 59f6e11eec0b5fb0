//! `cargo bench --bench processes`: the built binaries beside a bare process, both in one run.
//! Prints ratios; asserts nothing.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const MAGI: &str = env!("CARGO_BIN_EXE_magi-code");
const MTY: &str = env!("CARGO_BIN_EXE_mty");

struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Peer {
    fn start(command: &mut Command) -> Self {
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

    fn ask(&mut self, request: &[u8]) -> usize {
        self.input.write_all(request).unwrap();
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap()
    }

    fn rss_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn end(mut self) {
        drop(self.input);
        let mut rest = Vec::new();
        let _ = self.output.read_to_end(&mut rest);
        let _ = self.child.wait();
    }
}

fn local(id: usize, method: &str, params: &str) -> Vec<u8> {
    format!(
        r#"{{"protocol":"magi-code.local-agent","version":1,"id":"r{id}","method":"{method}","params":{params}}}"#
    )
    .into_bytes()
    .into_iter()
    .chain(*b"\n")
    .collect()
}

fn service(id: usize, method: &str, payload: &str) -> Vec<u8> {
    format!(
        r#"{{"protocol_version":1,"kind":"request","request_id":"r{id}","method":"{method}","payload":{payload}}}"#
    )
    .into_bytes()
    .into_iter()
    .chain(*b"\n")
    .collect()
}

fn quantile(times: &mut [Duration], q: f64) -> Duration {
    times.sort_unstable();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    times[((times.len() - 1) as f64 * q) as usize]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

struct Bench {
    home: PathBuf,
    bare: PathBuf,
}

impl Bench {
    fn magi(&self, args: &[&str]) -> Command {
        let mut command = Command::new(MAGI);
        command
            .args(args)
            .env("MC_HOME", &self.home)
            .current_dir(&self.home);
        command
    }

    /// From spawn to the first byte of the first answer, run about with the bare process.
    fn starts(&self) {
        let (mut ours, mut bare, mut shot) = (Vec::new(), Vec::new(), Vec::new());
        let request = local(0, "initialize", r#"{"required_capabilities":[]}"#);
        for _ in 0..60 {
            let begun = Instant::now();
            let mut peer = Peer::start(&mut Command::new(&self.bare));
            peer.ask(&request);
            bare.push(begun.elapsed());
            peer.end();
            let begun = Instant::now();
            let mut peer = Peer::start(&mut self.magi(&["serve", "--stdio"]));
            peer.ask(&request);
            ours.push(begun.elapsed());
            peer.end();
            let begun = Instant::now();
            let mut peer = Peer::start(Command::new(MTY).args(["agent", "--single-shot"]));
            peer.input
                .write_all(br#"{"op":"explain","code":"MT4099"}"#)
                .unwrap();
            let Peer {
                input,
                mut output,
                mut child,
                ..
            } = peer;
            drop(input);
            let mut all = Vec::new();
            output.read_to_end(&mut all).unwrap();
            child.wait().unwrap();
            shot.push(begun.elapsed());
        }
        let (o, b, s) = (
            quantile(&mut ours, 0.5),
            quantile(&mut bare, 0.5),
            quantile(&mut shot, 0.5),
        );
        println!("start to first byte, bare            {b:>10.2?}");
        println!(
            "start to initialize, local-agent     {o:>10.2?}  {:.2}x",
            ratio(o, b)
        );
        println!(
            "single-shot explain, whole process   {s:>10.2?}  {:.2}x",
            ratio(s, b)
        );
    }

    /// One request, one answer, in turns with the bare process.
    fn round_trips(&self) {
        let mut bare = Peer::start(&mut Command::new(&self.bare));
        let mut ours = Peer::start(&mut self.magi(&["--app", "service"]));
        ours.ask(&service(
            0,
            "initialize",
            r#"{"supported_protocol_versions":[1]}"#,
        ));
        let mut agent = Peer::start(&mut self.magi(&["serve", "--stdio"]));
        agent.ask(&local(0, "initialize", r#"{"required_capabilities":[]}"#));
        println!(
            "resident after initialize, local-agent {:>6} KiB",
            agent.rss_kib()
        );
        println!(
            "resident after initialize, service     {:>6} KiB",
            ours.rss_kib()
        );
        let (mut tb, mut to, mut ta) = (Vec::new(), Vec::new(), Vec::new());
        for i in 1..4000 {
            let request = local(i, "status", "{}");
            let begun = Instant::now();
            bare.ask(&request);
            tb.push(begun.elapsed());
            let begun = Instant::now();
            agent.ask(&request);
            ta.push(begun.elapsed());
            let request = service(i, "capabilities", "{}");
            let begun = Instant::now();
            ours.ask(&request);
            to.push(begun.elapsed());
        }
        for (name, times) in [
            ("local-agent status", &mut ta),
            ("service capabilities", &mut to),
        ] {
            let (p50, p99) = (quantile(times, 0.5), quantile(times, 0.99));
            let (b50, b99) = (quantile(&mut tb, 0.5), quantile(&mut tb, 0.99));
            println!(
                "round trip, {name:<21} p50 {p50:>8.2?} {:.2}x  p99 {p99:>8.2?} {:.2}x  (bare {b50:.2?}, {b99:.2?})",
                ratio(p50, b50),
                ratio(p99, b99)
            );
        }
        for peer in [bare, ours, agent] {
            peer.end();
        }
    }

    /// 100,000 requests through one service, written while answers are read; memory before and after.
    fn sustained(&self) {
        let mut ours = Peer::start(&mut self.magi(&["--app", "service"]));
        ours.ask(&service(
            0,
            "initialize",
            r#"{"supported_protocol_versions":[1]}"#,
        ));
        for i in 0..1000 {
            ours.ask(&service(i, "status", "{}"));
        }
        let before = ours.rss_kib();
        const COUNT: usize = 100_000;
        let begun = Instant::now();
        let Peer {
            mut input,
            mut output,
            mut line,
            child,
        } = ours;
        let writer = std::thread::spawn(move || {
            for i in 0..COUNT {
                input.write_all(&service(i, "status", "{}")).unwrap();
            }
            input
        });
        for _ in 0..COUNT {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0);
        }
        let elapsed = begun.elapsed();
        let ours = Peer {
            input: writer.join().unwrap(),
            output,
            line,
            child,
        };
        #[allow(clippy::cast_precision_loss)]
        let rate = COUNT as f64 / elapsed.as_secs_f64();
        println!("sustained, service status             {rate:>8.0} requests/s");
        println!(
            "resident before and after {COUNT}   {before} -> {} KiB",
            ours.rss_kib()
        );
        ours.end();
    }
}

/// What one turn took, from the request to its terminal event.
struct Turn {
    took: Duration,
    deltas: usize,
    delta_bytes: usize,
    all_bytes: usize,
}

impl Bench {
    /// Turns of the offline provider, each with its flushed append, in one child.
    fn turns(&self) {
        const TURNS: usize = 40;
        for (name, deltas) in [("1-delta", 1), ("2,000-delta", 2000)] {
            let mut agent = self.scripted(&format!(r#"{{"repeat":{deltas},"text":"x123456 "}}"#));
            let session = agent.session();
            let mut turns: Vec<Turn> = (0..TURNS).map(|n| agent.turn(n, &session)).collect();
            turns.sort_unstable_by_key(|turn| turn.took);
            let median = &turns[TURNS / 2];
            println!(
                "{name:<11} turn, local-agent         {:>10.2?}  {:.2?} a delta, {} B a delta, {} B in all",
                median.took,
                median.took / deltas,
                median.delta_bytes / median.deltas.max(1),
                median.all_bytes,
            );
            agent.end();
        }
    }

    fn scripted(&self, step: &str) -> Peer {
        let script = self.home.join("script.json");
        std::fs::write(&script, format!(r#"{{"turns":[{{"steps":[{step}]}}]}}"#)).unwrap();
        let settings = format!(r#"{{"providers":{{"fixture":{{"script":{script:?}}}}}}}"#);
        std::fs::write(self.home.join("settings.json"), settings).unwrap();
        let mut agent = Peer::start(&mut self.magi(&["serve", "--stdio"]));
        agent.ask(&local(0, "initialize", r#"{"required_capabilities":[]}"#));
        std::fs::remove_file(self.home.join("settings.json")).unwrap();
        agent
    }

    /// All requests that one child may take, and its memory before and after.
    fn lifetime(&self) {
        let mut agent = Peer::start(&mut self.magi(&["serve", "--stdio"]));
        agent.ask(&local(0, "initialize", r#"{"required_capabilities":[]}"#));
        for id in 1..100 {
            agent.ask(&local(id, "status", "{}"));
        }
        let before = agent.rss_kib();
        for id in 100..4096 {
            assert!(agent.ask(&local(id, "status", "{}")) > 0);
        }
        println!(
            "resident at 100 and 4,096 requests     {before} -> {} KiB",
            agent.rss_kib()
        );
        agent.end();
    }
}

impl Peer {
    fn session(&mut self) -> String {
        self.ask(&local(1, "session.create", "{}"));
        let (_, rest) = self.line.split_once(r#""session_id":""#).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }

    fn turn(&mut self, n: usize, session: &str) -> Turn {
        let params = format!(r#"{{"session_id":"{session}","prompt":"go"}}"#);
        let begun = Instant::now();
        let mut bytes = self.ask(&local(n + 2, "turn.start", &params));
        let (mut deltas, mut delta_bytes) = (0, 0);
        while !self.line.contains(r#""event":"run.finished""#) {
            self.line.clear();
            let read = self.output.read_line(&mut self.line).unwrap();
            assert!(read > 0, "the child ended in a turn");
            bytes += read;
            if self.line.contains(r#""event":"message.delta""#) {
                deltas += 1;
                delta_bytes += read;
            }
        }
        assert!(
            self.line.contains(r#""persistence":"durable""#),
            "{}",
            self.line
        );
        Turn {
            took: begun.elapsed(),
            deltas,
            delta_bytes,
            all_bytes: bytes,
        }
    }
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let bare = home.path().join("bare");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/bare.rs");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-O", "-o"])
        .arg(&bare)
        .arg(source)
        .status();
    assert!(built.unwrap().success());
    let bench = Bench {
        home: home.path().to_owned(),
        bare,
    };
    bench.starts();
    bench.round_trips();
    bench.sustained();
    bench.lifetime();
    bench.turns();
    for program in [MAGI, MTY] {
        let bytes = std::fs::metadata(program).unwrap().len();
        println!(
            "{:<38} {:>6} KiB",
            Path::new(program).file_name().unwrap().to_string_lossy(),
            bytes / 1024
        );
    }
}
