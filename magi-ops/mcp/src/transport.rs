//! What a connection goes over: the streams of a program, or HTTP. One type for both, so that the SDK's handshake and loop
//! are in the program once. What either does stands in `stdio` and `http`.

use std::future::ready;

use futures_util::future::Either;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_client::{StreamableHttpClientWorker, StreamableHttpError};

use crate::http::Drained;
use crate::stdio::Stdio;
use crate::streams::Patient;

type HttpWorker = StreamableHttpClientWorker<Patient>;

/// What a connection goes over.
pub(crate) enum Transport {
    Program(Stdio),
    Http(Drained<HttpWorker>),
}

impl rmcp::transport::Transport<RoleClient> for Transport {
    type Error = StreamableHttpError<reqwest::Error>;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match self {
            Self::Program(stdio) => Either::Left(ready(stdio.send(message).map_err(Into::into))),
            Self::Http(http) => Either::Right(http.send(message)),
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self {
            Self::Program(stdio) => stdio.receive().await,
            Self::Http(http) => http.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        match self {
            Self::Program(stdio) => {
                stdio.close();
                Ok(())
            }
            Self::Http(http) => http.close().await,
        }
    }
}
