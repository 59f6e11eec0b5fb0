//! `cargo bench --bench processes`: the built binaries beside a bare process, both in one run.
//! Prints ratios; asserts nothing. `MAGI_CODE_BIN` and `MTY_BIN` name other builds, for a pair in one run.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use peer::{Peer, local, quantile, ratio};

mod peer;

fn magi_code() -> PathBuf {
    peer::program("MAGI_CODE_BIN", env!("CARGO_BIN_EXE_magi-code"))
}

fn mty() -> PathBuf {
    peer::program("MTY_BIN", env!("CARGO_BIN_EXE_mty"))
}

fn service(id: usize, method: &str, payload: &str) -> Vec<u8> {
    peer::service(id, method, None, payload)
}

struct Bench {
    home: PathBuf,
    bare: PathBuf,
}

impl Bench {
    fn magi(&self, args: &[&str]) -> Command {
        let mut command = Command::new(magi_code());
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
            let mut peer = Peer::start(Command::new(mty()).args(["agent", "--single-shot"]));
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

impl Bench {
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
    for program in [magi_code(), mty()] {
        let bytes = std::fs::metadata(&program).unwrap().len();
        println!(
            "{:<38} {:>6} KiB",
            program.file_name().unwrap().to_string_lossy(),
            bytes / 1024
        );
    }
}
