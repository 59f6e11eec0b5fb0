//! The account methods of application-service (spec: application-service, "Authentication"): who is logged in, the one login
//! that is under way, and logouts. Translates only; accounts are the engine's, what happens in a login is `events`' matter.

mod events;

use agent::{AccountStatus, AccountsError, AuthMethod, AuthSource, Readiness};
use application_service::messages::{
    AuthStatus, CallbackPayload, CallbackSubmitted, CancellationRequested, LoggedOut, LoginPayload,
    LoginStarted, LogoutPayload, NoPayload, ProviderAuth, ProviderPayload, is_selection_id,
};
use application_service::words::{
    self, AuthReadiness, CallbackStatus, CancellationStatus, LoginStatus, LogoutStatus,
};
use application_service::{ID_BYTES, Limits, Word};
use host::{Cx, Reply};
use magi::application_service::Service;

/// Most bytes of what a person pastes (spec: "Codex login", 3).
const MAX_INPUT_BYTES: usize = 4096;

/// Most providers that an answer names.
const MAX_PROVIDERS: usize = Limits::VERSION_1.max_array_items;

/// The word for a failure, whose reason goes to the log.
fn word(error: &AccountsError) -> Word {
    let (word, code) = match error {
        AccountsError::Unsupported => (Word::ProviderUnavailable, "provider_unavailable"),
        AccountsError::Busy => (Word::AuthBusy, "auth_busy"),
        AccountsError::UnknownLogin => (Word::UnknownLogin, "unknown_login"),
        _ => (Word::InternalError, "internal_error"),
    };
    tracing::info!(code, reason = %error, "refused");
    word
}

host::operation! {
    /// Says of every provider whether requests to it could be authenticated now. Nothing is refreshed and nobody is
    /// asked. Providers are those that the settings described when the service started: at most 64, the built-in ones first,
    /// and the selected one always.
    dialect: application_service::ApplicationService,
    method: "auth.status",
    position: 110,
    class: Inline,
    needs: Initialization,
    params: NoPayload,
    answer: AuthStatus,
    errors: [InvalidPayload, NotInitialized, InternalError],
    example: "{}" => r#"{"providers":[{"provider_id":"openai-codex","auth_method":"oauth","source":"shared_store","readiness":"missing","ready":false},"…"]}"#,
    handler: status,
}

fn status(cx: Cx<Service>, _: NoPayload) -> Result<Reply<AuthStatus>, Word> {
    // One small read; a thread for it would cost more than it does.
    let all = cx.engine().accounts().status();
    let all = all.map_err(|error| word(&error))?;
    let mut providers: Vec<_> = all.into_iter().filter_map(told).collect();
    if providers.len() > MAX_PROVIDERS {
        tracing::warn!(
            count = providers.len(),
            "not every provider fits the answer"
        );
        keep_selected(&cx, &mut providers);
        providers.truncate(MAX_PROVIDERS);
    }
    Ok(AuthStatus { providers }.into())
}

/// Puts the provider that is selected now among those that fit; the last of them gives way. Without settings that can be
/// read there is none.
fn keep_selected(cx: &Cx<Service>, providers: &mut [ProviderAuth]) {
    match cx.engine().engine().selected_provider() {
        Ok(selected) => {
            let mut beyond = providers.iter().skip(MAX_PROVIDERS);
            if let Some(n) = beyond.position(|provider| provider.provider_id == selected) {
                providers.swap(MAX_PROVIDERS - 1, MAX_PROVIDERS + n);
            }
        }
        Err(error) => {
            let reason = cx.engine().engine().shown_reason(&error);
            tracing::info!(%reason, "no selection to name");
        }
    }
}

/// As it is told; nothing of a provider whose name no record can carry.
fn told(status: AccountStatus) -> Option<ProviderAuth> {
    if !is_selection_id(&status.provider) {
        return None;
    }
    Some(ProviderAuth {
        provider_id: status.provider,
        auth_method: match status.method {
            AuthMethod::OAuth => words::AuthMethod::Oauth,
            AuthMethod::ApiKey => words::AuthMethod::ApiKey,
            AuthMethod::Nothing => words::AuthMethod::None,
        },
        source: match status.source {
            AuthSource::Store => words::AuthSource::SharedStore,
            AuthSource::Environment => words::AuthSource::Environment,
            AuthSource::Nowhere => words::AuthSource::None,
        },
        readiness: match status.readiness {
            Readiness::Ready => AuthReadiness::Ready,
            Readiness::Missing => AuthReadiness::Missing,
            Readiness::NeedsLogin => AuthReadiness::NeedsLogin,
        },
        ready: status.readiness == Readiness::Ready,
    })
}

host::operation! {
    /// Begins the login of `openai-codex`, the only one that there is. What happens in it comes as events:
    /// `auth.login.progress`, and `auth.login.terminal` last; the request id stays reserved until then. One login at a time.
    dialect: application_service::ApplicationService,
    method: "auth.login.start",
    position: 120,
    class: Exclusive,
    needs: Initialization,
    params: ProviderPayload,
    answer: LoginStarted,
    errors: [InvalidPayload, NotInitialized, AuthBusy, ProviderUnavailable, InternalError],
    example: r#"{"provider_id":"openai-codex"}"# => r#"{"login_id":"<login_id>","provider_id":"openai-codex","status":"started"}"#,
    handler: start,
}

async fn start(cx: Cx<Service>, payload: ProviderPayload) -> Result<Reply<LoginStarted>, Word> {
    let provider_id = payload.provider_id;
    let started = cx.engine().accounts().begin(&provider_id).await;
    let started = started.map_err(|error| word(&error))?;
    let login = events::Login {
        login_id: started.id.clone(),
        provider_id: provider_id.clone(),
    };
    let answer = LoginStarted {
        login_id: started.id,
        provider_id,
        status: LoginStatus::Started,
    };
    let told = login.forward(started.page, started.events, cx.events());
    Ok(Reply::new(answer).then(told))
}

host::operation! {
    /// Gives a login the address that the browser was sent to in the end, or the code in it. Accepted once; the answer
    /// does not say whether it is valid, and it is never repeated.
    dialect: application_service::ApplicationService,
    method: "auth.login.callback",
    position: 130,
    class: Inline,
    needs: Initialization,
    params: CallbackPayload,
    validate: submittable,
    answer: CallbackSubmitted,
    errors: [InvalidPayload, NotInitialized, LimitExceeded, AuthBusy, UnknownLogin],
    example: r#"{"login_id":"<login_id>","input":"http://localhost:1455/auth/callback?code=<code>&state=<state>"}"# => r#"{"status":"submitted"}"#,
    handler: callback,
}

fn submittable<B>(_: &Cx<B>, payload: CallbackPayload) -> Result<CallbackPayload, Word> {
    if payload.login_id.len() > ID_BYTES {
        return Err(Word::LimitExceeded);
    }
    match payload.input.reveal().len() {
        1..=MAX_INPUT_BYTES => Ok(payload),
        _ => Err(Word::InvalidPayload),
    }
}

fn callback(cx: Cx<Service>, payload: CallbackPayload) -> Result<Reply<CallbackSubmitted>, Word> {
    let CallbackPayload { login_id, input } = payload;
    let accounts = cx.engine().accounts();
    let submitted = accounts.submit(&login_id, input.reveal().to_owned());
    submitted.map_err(|error| word(&error))?;
    Ok(CallbackSubmitted {
        status: CallbackStatus::Submitted,
    }
    .into())
}

host::operation! {
    /// Asks a login to stop. Its end comes as `auth.login.terminal`, after cleanup; one whose tokens are being stored is
    /// still `exchange_succeeded`.
    dialect: application_service::ApplicationService,
    method: "auth.login.cancel",
    position: 140,
    class: Inline,
    needs: Initialization,
    params: LoginPayload,
    validate: cancellable,
    answer: CancellationRequested,
    errors: [InvalidPayload, NotInitialized, LimitExceeded, UnknownLogin],
    example: r#"{"login_id":"<login_id>"}"# => r#"{"status":"cancellation_requested"}"#,
    handler: cancel,
}

fn cancellable<B>(_: &Cx<B>, payload: LoginPayload) -> Result<String, Word> {
    match payload.login_id.len() {
        0..=ID_BYTES => Ok(payload.login_id),
        _ => Err(Word::LimitExceeded),
    }
}

fn cancel(cx: Cx<Service>, login_id: String) -> Result<Reply<CancellationRequested>, Word> {
    let cancelled = cx.engine().accounts().cancel(&login_id);
    cancelled.map_err(|error| word(&error))?;
    Ok(CancellationRequested {
        status: CancellationStatus::CancellationRequested,
    }
    .into())
}

host::operation! {
    /// Removes what is stored of a provider on this machine, and nothing else; a login of it is asked to stop. Neither the
    /// environment changes nor what a running turn was given.
    dialect: application_service::ApplicationService,
    method: "auth.logout",
    position: 150,
    class: Exclusive,
    needs: Initialization,
    params: LogoutPayload,
    answer: LoggedOut,
    errors: [InvalidPayload, NotInitialized, ProviderUnavailable, ConfirmationRequired, InternalError],
    example: r#"{"provider_id":"anthropic","confirmed":true}"# => r#"{"provider_id":"anthropic","status":"logged_out","removed":true,"environment_unchanged":true}"#,
    handler: logout,
}

async fn logout(cx: Cx<Service>, payload: LogoutPayload) -> Result<Reply<LoggedOut>, Word> {
    if !payload.confirmed {
        return Err(Word::ConfirmationRequired);
    }
    let removed = cx.engine().accounts().logout(&payload.provider_id).await;
    Ok(LoggedOut {
        removed: removed.map_err(|error| word(&error))?,
        provider_id: payload.provider_id,
        status: LogoutStatus::LoggedOut,
        environment_unchanged: true,
    }
    .into())
}
