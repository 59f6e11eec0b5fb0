//! One server: how it is started, listed, asked and ended. What is offered of it stands in `offer`, how several start
//! together in `servers`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientNotification, ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams,
    PingRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Map, Value};
use store::settings::{Launch, McpServer};
use tokio::time::error::Elapsed;
use tokio::time::{timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tools::process::ProcessError;

use crate::check::failing;
use crate::client::Client;
use crate::connection::{Connection, END_TIME, EXIT_TIME, Used};
use crate::error::{CallError, START_TIME, StartCause, StartError, Trouble};
use crate::offer::{Offer, Page};
use crate::program::Program;
use crate::result::value;
use crate::setting::Setting;
use crate::stdio::Stdio;
use crate::streams::Patient;
use crate::transport::Transport;
use crate::{http, login};

/// For the answer to a ping of a server that left a call without an answer. Longer than one takes that is only slow,
/// and short beside the time of a call.
const PING_TIME: Duration = Duration::from_secs(5);
/// For a call whose server tells no progress.
const CALL_TIME: Duration = Duration::from_secs(60);
/// For a call whose server does.
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(600);
/// How long a call may take before it is made: a ping, an end, a start.
pub(crate) const READY_TIME: Duration =
    Duration::from_secs(PING_TIME.as_secs() + END_TIME.as_secs() + 1 + START_TIME.as_secs());
/// Most tools of one server, and most pages they come on.
const MAX_TOOLS: usize = 512;
const MAX_PAGES: usize = 64;

/// One server, running or not.
pub(crate) struct Server {
    pub(crate) definition: McpServer,
    setting: Setting,
    /// Held while it is started again.
    connection: tokio::sync::Mutex<Option<Connection>>,
    /// How many connections there have been.
    connections: AtomicU64,
    /// What it offered last.
    offers: Mutex<Arc<[Offer]>>,
    /// Grows when that is another; all servers of a workspace share it.
    generation: Arc<AtomicU64>,
    /// How often it told that its tools are others, and how often it had when they were listed last.
    told: Arc<AtomicU64>,
    listed: AtomicU64,
    /// Held while they are listed again.
    listing: tokio::sync::Mutex<()>,
    /// It left a call without an answer, and has not shown since that it answers at all.
    silent: AtomicBool,
    /// Calls that wait for its answer.
    waiting: AtomicUsize,
    /// No start any more.
    closing: CancellationToken,
}

/// A call that waits for its answer. However it ends without one (its time is over, it was cancelled, whoever made
/// it is gone), the server may hang in it.
struct Waiting<'s>(&'s Server);

impl<'s> Waiting<'s> {
    fn for_answer(server: &'s Server) -> Self {
        server.waiting.fetch_add(1, Ordering::AcqRel);
        Self(server)
    }

    fn answered(self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        std::mem::forget(self);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.silent.store(true, Ordering::Release);
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Server {
    /// `generation` grows whenever it offers something else.
    pub(crate) fn new(
        definition: McpServer,
        setting: Setting,
        generation: Arc<AtomicU64>,
        closing: CancellationToken,
    ) -> Self {
        Self {
            definition,
            setting,
            connection: tokio::sync::Mutex::default(),
            connections: AtomicU64::default(),
            offers: Mutex::new(Arc::new([])),
            generation,
            told: Arc::default(),
            listed: AtomicU64::default(),
            listing: tokio::sync::Mutex::default(),
            silent: AtomicBool::default(),
            waiting: AtomicUsize::default(),
            closing,
        }
    }

    /// Why it plainly can't start, if so. Blocks.
    pub(crate) fn failing(&self) -> Option<StartError> {
        failing(&self.definition, &self.setting)
    }

    /// What it offered last.
    pub(crate) fn offers(&self) -> Arc<[Offer]> {
        let offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&offers)
    }

    /// Whether it told that its tools are others since they were listed.
    pub(crate) fn has_changed(&self) -> bool {
        self.told.load(Ordering::Acquire) != self.listed.load(Ordering::Acquire)
    }

    /// Starts it and lists its tools; says what of them is left out.
    pub(crate) async fn start(&self) -> Result<Vec<String>, StartError> {
        let mut connection = self.connection.lock().await;
        let started = self.connect().await.map_err(|cause| StartError {
            server: self.definition.name.clone(),
            named: self.definition.named.clone(),
            cause,
        });
        let (started, left_out) = started?;
        *connection = Some(started);
        Ok(left_out)
    }

    async fn connect(&self) -> Result<(Connection, Vec<String>), StartCause> {
        let limit = tokio::time::Instant::now() + START_TIME;
        let starting = async {
            let connection = self.open(limit).await?;
            let listed = timeout_at(limit, self.list(connection.peer())).await;
            match listed.map_err(late).flatten() {
                Ok(left_out) => Ok((connection, left_out)),
                Err(cause) => {
                    let ended = match cause.is_loss() {
                        true => connection.program_end().await,
                        false => None,
                    };
                    let words = connection.end().await;
                    Err(ended.map_or(cause.with_words(words), StartCause::Ended))
                }
            }
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(StartCause::Closing),
            started = starting => started,
        }
    }

    /// Begins a connection: what the transport needs, then the handshake.
    async fn open(&self, limit: tokio::time::Instant) -> Result<Connection, StartCause> {
        // Nothing can be done without a definition; such a server is never made.
        let launch = self.definition.launch.as_ref();
        let launch = launch.ok_or_else(|| StartCause::Address("there is none".to_owned()))?;
        let cwd = &self.setting.cwd;
        let root = Url::from_file_path(cwd)
            .map_or_else(|()| format!("file://{}", cwd.display()), Into::into);
        let client = Client {
            root,
            told: Arc::clone(&self.told),
        };
        // Ends the connection however this future ends.
        let stop = self.closing.child_token();
        let begun = |running, program| {
            let number = self.connections.fetch_add(1, Ordering::AcqRel);
            Connection::begun(number, running, program)
        };
        match launch {
            Launch::Command { command, args, env } => {
                // It waits for a thread that may block, and for a lock.
                let starting = Program::start(command, args, env, &self.setting);
                let (program, stream) =
                    timeout_at(limit, starting).await.map_err(late).flatten()?;
                let shaking = client.greet(
                    &self.definition.name,
                    Transport::Program(Stdio::new(stream).map_err(ProcessError::Guard)?),
                    stop,
                );
                let cause = match timeout_at(limit, shaking).await.map_err(late) {
                    Ok(Ok(running)) => return begun(running, Some(program)),
                    Ok(Err(error)) => StartCause::Handshake(Box::new(error), Trouble::default()),
                    Err(late) => late,
                };
                if !cause.is_loss() {
                    // What it said of why.
                    program.kill.cancel();
                    let end = program.end_within(EXIT_TIME).await;
                    return Err(cause.with_words(end.map(|end| end.words)));
                }
                // The output ended, or the input could not be written: how is said by the program's own end.
                let end = program.end_within(EXIT_TIME).await;
                Err(end.map_or(cause, StartCause::Ended))
            }
            Launch::Http { url, headers } => {
                let url = http::address(url)?;
                let config = http::config(&url, headers)?;
                let name = &self.definition.name;
                let shaking = async {
                    let client_of =
                        login::authorized(http::client(&url)?, name, &url, &self.setting);
                    let (http, trouble) = client_of.await?;
                    let http = Patient(http);
                    let transport = StreamableHttpClientTransport::with_client(http, config);
                    let transport = Transport::Http(http::Drained(transport));
                    match client.greet(name, transport, stop).await {
                        Ok(running) => begun(running, None),
                        Err(error) if error.is_authorization_required() => Err(StartCause::Login),
                        Err(error) => Err(StartCause::Handshake(Box::new(error), trouble)),
                    }
                };
                timeout_at(limit, shaking).await.map_err(late).flatten()
            }
        }
    }

    /// Takes its list of tools; says what of it is left out.
    async fn list(&self, peer: &Peer<RoleClient>) -> Result<Vec<String>, StartCause> {
        // What changes meanwhile is read again, and so is what nobody waited for.
        let told = self.told.load(Ordering::Acquire);
        let (mut offers, mut left_out) = (Vec::new(), Vec::new());
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let asked = cursor.take();
            let params = PaginatedRequestParams::default().with_cursor(asked.clone());
            let request = ListToolsRequest::with_param(params);
            let result = match peer
                .send_request(ClientRequest::ListToolsRequest(request))
                .await
            {
                Ok(result) => result,
                // One that has no tools need not know the question.
                Err(ServiceError::McpError(error))
                    if error.code == ErrorCode::METHOD_NOT_FOUND
                        && offers.is_empty()
                        && self.offers().is_empty() =>
                {
                    left_out.push(
                        "this server offers no tools: it does not know `tools/list`".to_owned(),
                    );
                    break;
                }
                Err(error) => return Err(StartCause::List(Box::new(error))),
            };
            let page = Page::read(&self.definition.name, &value(result), MAX_TOOLS);
            let page = page.ok_or(StartCause::NoList)?;
            left_out.extend(page.left_out);
            left_out.truncate(MAX_TOOLS);
            offers.extend(page.offers);
            let same = page.next.is_some() && page.next == asked;
            cursor = page.next;
            if same {
                cursor = None;
                left_out.push(
                    "its list of tools names the same page again: what may follow is left out"
                        .to_owned(),
                );
            }
            if cursor.is_none() || offers.len() > MAX_TOOLS {
                break;
            }
        }
        if offers.len() > MAX_TOOLS || cursor.is_some() {
            offers.truncate(MAX_TOOLS);
            left_out.push(format!(
                "more than {MAX_TOOLS} tools, or than {MAX_PAGES} pages of them: the rest is left out"
            ));
        }
        let mut kept = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if **kept != *offers {
            *kept = offers.into();
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        drop(kept);
        self.listed.store(told, Ordering::Release);
        Ok(left_out)
    }

    fn log_left_out(&self, left_out: &[String]) {
        for why in left_out {
            tracing::info!(server = %self.definition.name, why, "a tool of a server is left out");
        }
    }

    /// Lists its tools again if it told that they are others. Keeps what it has where that fails: one that gives no list in
    /// time is asked again when it tells anew, one that refuses, before the next request.
    pub(crate) async fn refresh(&self) {
        if !self.has_changed() {
            return;
        }
        // Not held meanwhile: its calls go on.
        let peer = |connection: &Connection| connection.peer().clone();
        let Some(peer) = self.connection.lock().await.as_ref().map(peer) else {
            return;
        };
        let _listing = self.listing.lock().await;
        // Somebody else may have done it.
        if !self.has_changed() {
            return;
        }
        let told = self.told.load(Ordering::Acquire);
        match timeout(START_TIME, self.list(&peer)).await {
            Ok(Ok(left_out)) => self.log_left_out(&left_out),
            Ok(Err(cause)) => {
                tracing::warn!(server = %self.definition.name, %cause, "the tools of a server are not listed again")
            }
            Err(late) => {
                self.listed.store(told, Ordering::Release);
                tracing::warn!(server = %self.definition.name, %late, "the tools of a server are not listed again")
            }
        }
    }

    /// Calls a tool of it. A server that has ended, or hangs in an earlier call, is started once more before.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        cancelled: &CancellationToken,
    ) -> Result<Value, CallError> {
        let asked = async {
            let (used, waiting) = self.used().await?;
            let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            let options = PeerRequestOptions::with_timeout(CALL_TIME)
                .reset_timeout_on_progress()
                .with_max_total_timeout(LONGEST_CALL);
            let sent = used.peer.send_cancellable_request(request, options).await;
            Ok((sent, used, waiting))
        };
        let (sent, used, waiting) = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(CallError::Cancelled),
            asked = asked => asked?,
        };
        let answer = match sent {
            Ok(handle) => {
                let id = handle.id.clone();
                tokio::select! {
                    biased;
                    () = cancelled.cancelled() => {
                        drop(waiting);
                        let params = CancelledNotificationParam::new(Some(id), None);
                        let told = ClientNotification::CancelledNotification(CancelledNotification::new(params));
                        // Best effort: whoever does not read it is not waited for.
                        let _ = used.peer.send_notification(told).await;
                        return Err(CallError::Cancelled);
                    }
                    answer = handle.await_response() => {
                        if !matches!(answer, Err(ServiceError::Timeout { .. })) {
                            waiting.answered();
                        }
                        answer
                    }
                }
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(result) => Ok(value(result)),
            Err(ServiceError::McpError(error)) => {
                Err(CallError::Refused(error.message.into_owned()))
            }
            Err(ServiceError::Timeout { .. }) => Err(CallError::Late),
            Err(error) if error.is_authorization_required() => {
                Err(CallError::Login(self.definition.name.clone()))
            }
            Err(error) => Err(self.lost(error, used).await),
        }
    }

    /// The connection, for one call; that of a server that has ended, or answers nothing any more, is made anew, once.
    async fn used(&self) -> Result<(Used, Waiting<'_>), CallError> {
        let mut connection = self.connection.lock().await;
        if let Some(connection) = &*connection {
            let peer = connection.peer();
            if !peer.is_transport_closed() && self.answers(peer).await {
                return Ok((connection.used(), Waiting::for_answer(self)));
            }
        }
        if let Some(ended) = connection.take() {
            ended.end().await;
        }
        tracing::info!(server = %self.definition.name, "a server that has ended or hangs is started again");
        let (started, left_out) = self.connect().await.map_err(|cause| {
            tracing::warn!(server = %self.definition.name, %cause, "a server is not started again");
            CallError::Start(cause)
        })?;
        self.log_left_out(&left_out);
        self.silent.store(false, Ordering::Release);
        let used = connection.insert(started).used();
        Ok((used, Waiting::for_answer(self)))
    }

    /// Whether it answers at all, which is asked only where there is a doubt. One that hangs in a call that nobody waits
    /// for any more would cost the next call its whole time. One that is busy with a call that somebody does wait for is
    /// left alone: to start it again would lose that one.
    async fn answers(&self, peer: &Peer<RoleClient>) -> bool {
        if !self.silent.load(Ordering::Acquire) || self.waiting.load(Ordering::Acquire) > 0 {
            return true;
        }
        let ping = peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
        // A refusal of it is an answer too.
        let answers = matches!(
            timeout(PING_TIME, ping).await,
            Ok(Ok(_) | Err(ServiceError::McpError(_)))
        );
        if answers {
            self.silent.store(false, Ordering::Release);
        }
        answers
    }

    /// Why a call was lost: by the end of the program, where that is why. The next call starts it again. What runs by now in
    /// its place is left alone, and so is a connection over HTTP that goes on: there each request stands for itself.
    async fn lost(&self, error: ServiceError, used: Used) -> CallError {
        let server = &self.definition.name;
        let is_over = |connection: &mut Connection| connection.is(&used) && connection.is_over();
        let connection = self.connection.lock().await.take_if(is_over);
        let end = used.end().await;
        if let Some(connection) = connection {
            connection.end().await;
        }
        match end {
            Some(end) => {
                tracing::warn!(%server, %end, "a server ended during a call");
                CallError::Ended(end.how)
            }
            None => {
                let cause = &error as &dyn std::error::Error;
                tracing::warn!(%server, error = cause, "a call of a server was lost");
                CallError::Lost(Box::new(error))
            }
        }
    }

    /// Lets go of it without waiting: its guard ends it.
    pub(crate) fn abandon(&self) {
        if let Ok(mut connection) = self.connection.try_lock() {
            drop(connection.take());
        }
    }

    /// Ends it: its input first, then what is left of it. Within [`END_TIME`] and a little.
    pub(crate) async fn end(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.end().await;
        }
    }
}

fn late(_: Elapsed) -> StartCause {
    StartCause::Late(String::new())
}

#[cfg(test)]
mod http_tests;
#[cfg(test)]
mod tests;
