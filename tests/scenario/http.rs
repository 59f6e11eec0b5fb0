//! What a scenario's `http` serves beside the process: fixed answers by path, on a loopback port.
//! It knows neither models nor accounts.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

/// More than any request of a scenario has.
const MOST_BYTES: u64 = 1 << 20;

/// Answers of each path in their order; the last one stays.
type Answers = Arc<Mutex<HashMap<String, Vec<(u64, String)>>>>;

/// Serves `entries` as long as the test runs; where it does.
pub(super) fn serve(entries: &Value) -> Result<String, String> {
    let mut answers: HashMap<String, Vec<_>> = HashMap::new();
    for entry in entries.as_array().ok_or("http is an array")? {
        for name in entry.as_object().ok_or("http has objects")?.keys() {
            if !["path", "status", "answer"].contains(&name.as_str()) {
                return Err(format!("http has no {name}"));
            }
        }
        let path = entry["path"].as_str().ok_or("http has a path")?;
        let status = entry.get("status").map_or(Some(200), Value::as_u64);
        let answer = entry.get("answer").ok_or("http has an answer")?;
        let of_path = answers.entry(path.to_owned()).or_default();
        of_path.push((status.ok_or("a status is a number")?, answer.to_string()));
    }
    let answers: Answers = Arc::new(Mutex::new(answers));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answers = Arc::clone(&answers);
            // Whoever asked may have left.
            thread::spawn(move || answer(stream, &answers).ok());
        }
    });
    Ok(format!("http://{address}"))
}

fn answer(stream: TcpStream, answers: &Answers) -> std::io::Result<()> {
    let mut reader = BufReader::new((&stream).take(MOST_BYTES));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let target = first.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let (status, text) = {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.get_mut(path) {
            Some(of_path) if of_path.len() > 1 => of_path.remove(0),
            Some(of_path) => of_path[0].clone(),
            None => (404, "{}".to_owned()),
        }
    };
    write!(
        &stream,
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
}
