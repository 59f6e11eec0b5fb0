//! The two events of a login (spec: application-service, "Codex login"): how far it is, and its one end with a fixed label.
//! Nothing of what came back and nothing of what an issuer said is in them.

use agent::{CallbackError, LoginError, LoginEvent, LoginStep};
use application_service::messages::{LoginProgress, LoginTerminal, Transient};
use application_service::words::{LoginEnd, LoginState};
use host::EventSink;

host::event! {
    /// How far a login is; the first one alone has the page that the person has to visit. Keep none of it.
    dialect: application_service::ApplicationService, position: 50, data: LoginProgress
}

host::event! {
    /// The login is over and cleaned up; nothing of it follows.
    dialect: application_service::ApplicationService, position: 60, data: LoginTerminal
}

/// What the events are about.
pub(super) struct Login {
    pub(super) login_id: String,
    pub(super) provider_id: String,
}

impl Login {
    /// Sends a login's events until its end, also when nobody listens any more: the login's end is waited for.
    pub(super) async fn forward(
        self,
        page: String,
        mut events: tokio::sync::mpsc::Receiver<LoginEvent>,
        sink: EventSink,
    ) {
        let mut first = self.progress(LoginState::AuthorizationUrl);
        first.url = Some(Transient::new(page));
        first.open_browser = Some(true);
        let mut heard = sink.send(&first).await.is_ok();
        drop(first);
        while let Some(event) = events.recv().await {
            let state = match event {
                LoginEvent::Step(LoginStep::Waiting) => LoginState::Waiting,
                LoginEvent::Step(LoginStep::CallbackReceived) => LoginState::CallbackReceived,
                LoginEvent::Step(LoginStep::CallbackAccepted) => LoginState::CallbackAccepted,
                LoginEvent::Ended(ended) => {
                    let terminal = LoginTerminal {
                        login_id: self.login_id,
                        state: end(&ended),
                        cleanup_complete: true,
                    };
                    if heard {
                        // Whoever is gone was told by the transport.
                        let _ = sink.send(&terminal).await;
                    }
                    return;
                }
            };
            heard = heard && sink.send(&self.progress(state)).await.is_ok();
        }
    }

    fn progress(&self, state: LoginState) -> LoginProgress {
        LoginProgress {
            login_id: self.login_id.clone(),
            provider_id: self.provider_id.clone(),
            state,
            url: None,
            open_browser: None,
        }
    }
}

/// The label of an end, whose reason goes to the log.
fn end(ended: &Result<(), LoginError>) -> LoginEnd {
    let Err(error) = ended else {
        tracing::info!("a login is stored");
        return LoginEnd::ExchangeSucceeded;
    };
    let end = match error {
        LoginError::Cancelled => LoginEnd::Cancelled,
        LoginError::Late => LoginEnd::CallbackTimeout,
        LoginError::Callback(_) => LoginEnd::CallbackFailed,
        LoginError::Exchange(_) => LoginEnd::ExchangeFailed,
        LoginError::Changed => LoginEnd::AuthChanged,
        LoginError::Storage(_) => LoginEnd::StorageFailed,
        LoginError::Broken(_) => LoginEnd::InternalError,
    };
    let code = end.word();
    match error {
        // Words of the address that came back are kept nowhere.
        LoginError::Callback(CallbackError::Denied(_)) => {
            tracing::info!(code, "a login was refused where the person was asked");
        }
        error => {
            tracing::info!(code, reason = error.reason(), "a login stored nothing");
        }
    }
    end
}
