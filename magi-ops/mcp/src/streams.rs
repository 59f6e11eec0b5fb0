//! The streams of a server over HTTP, so that each costs no more than itself: the answer to a request, and what is
//! listened to. What the messages in them mean is the SDK's matter.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::AuthClient;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use crate::error::chain;
use crate::lines::MAX_MESSAGE_BYTES;

/// How long it is at least before a stream that ended is opened again, in milliseconds: a server may ask for more.
const MIN_RETRY_MS: u64 = 1000;

/// A client whose streams cost no more than themselves: one that breaks off, or says more than is read, fails the request
/// that it answers, and one that is listened to is not opened again at once, whatever the server asks for.
#[derive(Clone)]
pub(crate) struct Patient(pub(crate) AuthClient<reqwest::Client>);

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Patient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let id = match &message {
            // That of a handshake is read by the SDK at once, which tells its own errors.
            ClientJsonRpcMessage::Request(request)
                if !matches!(request.request, ClientRequest::InitializeRequest(_)) =>
            {
                Some(request.id.clone())
            }
            _ => None,
        };
        let posted = self
            .0
            .post_message_with_response_limits(uri, message, session, token, headers, limits);
        Ok(match (posted.await?, id) {
            (StreamableHttpPostResponse::Sse(events, session), Some(id)) => {
                StreamableHttpPostResponse::Sse(answering(events, id), session)
            }
            (other, _) => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Failure> {
        let opened = self.0.get_stream(uri, session, last, token, headers);
        opened.await.map(listening)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        let opened = self
            .0
            .get_stream_with_max_sse_event_size(uri, session, last, token, headers, most);
        opened.await.map(listening)
    }
}

/// The events of an answer to a request. One that does not come whole is a failure of that request alone. Where events
/// have ids, the SDK takes up again what broke off.
fn answering(events: BoxedSseResponse, id: RequestId) -> BoxedSseResponse {
    let begun = (events, Some(id), false);
    let answering = stream::unfold(begun, |(mut events, mut id, mut goes_on)| async move {
        id.as_ref()?;
        let event = match events.next().await {
            Some(Ok(event)) => {
                goes_on |= event.id.is_some();
                Ok(event)
            }
            Some(Err(error)) if !is_too_long(&error) && goes_on => Err(error),
            Some(Err(error)) => Ok(failure(id.take()?, &broken(&error))),
            None if goes_on => return None,
            None => Ok(failure(id.take()?, "the server's answer broke off")),
        };
        Some((event, (events, id, goes_on)))
    });
    answering.map(|event| event.map(unhurried)).boxed()
}

/// The events of a stream that is listened to. After an error the SDK would open it again at once, after an end it waits.
fn listening(events: BoxedSseResponse) -> BoxedSseResponse {
    let listening = events.scan((), |(), event| {
        ready(match event {
            Err(error) if !is_too_long(&error) => {
                tracing::debug!(%error, "a stream of a server broke off");
                None
            }
            event => Some(event.map(unhurried)),
        })
    });
    listening.boxed()
}

/// An event that asks for no more haste than there may be.
fn unhurried(mut event: Sse) -> Sse {
    event.retry = event.retry.map(|wanted| wanted.max(MIN_RETRY_MS));
    event
}

/// Whether an event is longer than [`MAX_MESSAGE_BYTES`]. The SDK has no type for it.
fn is_too_long(error: &SseError) -> bool {
    matches!(error, SseError::Body(error) if error.to_string().starts_with("SSE event exceeded"))
}

fn broken(error: &SseError) -> String {
    match is_too_long(error) {
        true => format!("the server's answer is longer than {MAX_MESSAGE_BYTES} bytes"),
        false => format!("the server's answer broke off: {}", chain(error)),
    }
}

/// What a server would say that fails the request.
fn failure(id: RequestId, why: &str) -> Sse {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, why.to_owned(), None);
    let message = ServerJsonRpcMessage::error(error, Some(id));
    // Plain data, which can always be written.
    Sse::default().data(serde_json::to_string(&message).unwrap_or_default())
}
