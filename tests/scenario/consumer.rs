//! Plays a synthetic server stream at the strict client crate over an in-memory pair of streams.
//! What a client has understood is told in words of the README, not in the crate's types.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use consumer::{Error, Violation};

use super::pattern::{fits, short};
use crate::support::PATIENCE;

use super::{Dialect, Names, Scenario, fill, patch};

/// Large enough for the longest record of a case, so that neither side waits for the other.
const STREAM_BYTES: usize = 1 << 20;

pub(crate) type Output = ReadHalf<DuplexStream>;
pub(crate) type Input = WriteHalf<DuplexStream>;

/// A dialect's client under test.
#[allow(async_fn_in_trait)] // one thread, one caller
pub(crate) trait Client: Sized {
    /// `requires` are the operations it cannot do without.
    fn new(output: Output, input: Input, requires: &[String]) -> Self;
    /// Sends the request of a `client` step; what it wrote is read at the other end.
    async fn send(&mut self, request: &Value) -> Result<(), Error>;
    /// Takes the next record; `false` at the end of the stream.
    async fn next(&mut self) -> Result<bool, Error>;
    /// A request that changes something, to see that it is held back.
    async fn mutate(&mut self) -> Result<(), Error>;
    /// What it has understood so far.
    fn state(&self) -> Value;
    /// Where a request carries its identity.
    fn id(request: &Value) -> &Value;
    /// Adds what a record leaves out because it says nothing of its own; `n` counts records from 1.
    fn stamp(record: &mut Value, n: u64);
}

/// The word of the README for a broken rule.
fn reason(violation: Violation) -> &'static str {
    use Violation as V;
    match violation {
        V::FrameTooLarge | V::TooDeep | V::TooManyItems | V::TooManyFields => "bound",
        V::StringTooLong | V::PayloadTooLarge | V::OutOfBounds(_) | V::ContentLimit => "bound",
        V::IncompleteFrame | V::NotUtf8 | V::NotJsonObject | V::DuplicateKey => "framing",
        V::Missing(_) => "missing",
        V::WrongType(_) => "type",
        V::UnknownWord(_) | V::UnknownErrorCode => "word",
        V::UnknownProtocol | V::UnknownFrameType | V::UnknownEvent => "unknown",
        V::Contradiction(_) | V::NotOneOutcome => "contradiction",
        V::Unbound | V::UnknownRequest | V::IdentityMismatch(_) | V::UnknownRun => "identity",
        V::InstanceChanged => "identity",
        V::Sequence | V::OutOfOrder | V::Activity => "order",
        V::AfterTerminal => "terminal",
        V::ReconcileGap | V::Unreconciled => "reconcile",
        V::MissingCapability(_) | V::UnsafeBound(_) | V::InconsistentAdvertisement => {
            "advertisement"
        }
        V::AdvertisementChanged | V::UnknownEventAdvertised | V::UnsupportedProfile => {
            "advertisement"
        }
        _ => "unclassified",
    }
}

pub(super) fn play<D: Dialect>(scenario: &Scenario, steps: &[Value]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let requires: Vec<String> = (scenario.json["client_requires"].as_array())
        .into_iter()
        .flatten()
        .map(|name| name.as_str().unwrap_or_default().to_owned())
        .collect();
    let (near, far) = tokio::io::duplex(STREAM_BYTES);
    let (output, input) = tokio::io::split(near);
    let (requests, records) = tokio::io::split(far);
    let mut case = Case {
        scenario,
        client: D::Client::new(output, input, &requires),
        requests: BufReader::new(requests).lines(),
        records: Some(records),
        names: Names::new(),
        sent: 0,
    };
    let played = async {
        for (n, step) in steps.iter().enumerate() {
            case.step(step)
                .await
                .map_err(|why| format!("step {n} {}: {why}", short(step)))?;
        }
        Ok(())
    };
    // A client that waits for what will never come fails its case instead of hanging it.
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, played).await })
        .unwrap_or_else(|_| Err("the client still waits".into()))
}

struct Case<'a, C> {
    scenario: &'a Scenario,
    client: C,
    requests: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    records: Option<WriteHalf<DuplexStream>>,
    names: Names,
    /// Records of the `server` steps so far.
    sent: u64,
}

impl<C: Client> Case<'_, C> {
    async fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(request) = step.get("client") {
            return self.request(step, request).await;
        }
        if let Some(state) = step.get("state") {
            return fits(state, &self.client.state(), &mut self.names);
        }
        let bytes = if let Some(record) = step.get("server") {
            let mut record = self.record(record)?;
            self.sent += 1;
            C::stamp(&mut record, self.sent);
            record.to_string() + "\n"
        } else if let Some(text) = step.get("server_text") {
            let text = fill(text, &self.names)?;
            text.as_str()
                .ok_or("server_text takes a string")?
                .to_owned()
        } else if step.get("server_end") == Some(&json!(true)) {
            // Both halves share the stream, so dropping one would not end it.
            let mut records = self.records.take().ok_or("the stream has ended")?;
            records
                .shutdown()
                .await
                .map_err(|error| error.to_string())?;
            return self.outcome(step).await;
        } else {
            return Err("no such step".into());
        };
        let records = self.records.as_mut().ok_or("the stream has ended")?;
        records
            .write_all(bytes.as_bytes())
            .await
            .map_err(|error| error.to_string())?;
        if !bytes.ends_with('\n') {
            return Ok(());
        }
        self.outcome(step).await
    }

    async fn request(&mut self, step: &Value, request: &Value) -> Result<(), String> {
        let request = fill(request, &self.names)?;
        let sent = self.client.send(&request).await;
        match (step["outcome"].as_str(), sent) {
            (None | Some("sent"), Ok(())) => {}
            (Some("not_sent"), Err(Error::NotSent(_) | Error::Violation(_))) => return Ok(()),
            (expected, got) => return Err(format!("expected {expected:?}, got {got:?}")),
        }
        let line = self.requests.next_line().await;
        let line = line
            .map_err(|error| error.to_string())?
            .ok_or("nothing written")?;
        let written: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if written["method"] != request["method"] {
            return Err(format!("it wrote {line}"));
        }
        if let Some(name) = step["as"].as_str() {
            self.names.insert(name.to_owned(), C::id(&written).clone());
        }
        match step.get("written") {
            None => Ok(()),
            Some(pattern) => fits(pattern, &written, &mut self.names),
        }
    }

    /// A record as it stands, or a named one with its patch.
    fn record(&self, record: &Value) -> Result<Value, String> {
        let Some(name) = record["use"].as_str() else {
            return fill(record, &self.names);
        };
        let base = self
            .scenario
            .records
            .get(name)
            .ok_or_else(|| format!("no record {name}"))?;
        let mut patched = base.clone();
        if let Some(operations) = record.get("patch") {
            patch(&mut patched, operations)?;
        }
        fill(&patched, &self.names)
    }

    async fn outcome(&mut self, step: &Value) -> Result<(), String> {
        let expected = step["outcome"].as_str().unwrap_or("accept");
        let because = step["because"].as_str();
        match (expected, self.client.next().await) {
            ("accept", Ok(true)) | ("end", Ok(false)) => Ok(()),
            ("reject" | "incompatible", Err(Error::Violation(violation))) => {
                let found = reason(violation);
                let advertised = found == "advertisement";
                if because.is_none_or(|because| because != found) {
                    return Err(format!("rejected because of {found}: {violation}"));
                }
                if expected == "incompatible" && !advertised {
                    return Err(format!("no incompatibility: {violation}"));
                }
                match self.client.mutate().await {
                    Ok(()) => Err("it goes on to send mutations".into()),
                    Err(_) => Ok(()),
                }
            }
            (_, got) => Err(format!(
                "expected {expected} because {because:?}, got {got:?}"
            )),
        }
    }
}
