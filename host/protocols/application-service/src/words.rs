//! The closed vocabularies of application-service beside its failures. To a client, failures alone may be
//! unknown: such a one is still a failure, and nothing more.

use host::words;

words! { pub enum ServiceState { Ready = "ready" } }
words! { pub enum OpenStatus { Open = "open" } }
words! { pub enum AdmissionStatus { Accepted = "accepted" } }
words! { pub enum CancellationStatus { CancellationRequested = "cancellation_requested" } }
words! { pub enum StartStatus { Started = "started" } }
words! { pub enum TurnStatus { Completed = "completed", Cancelled = "cancelled", Failed = "failed" } }
words! { pub enum CloseStatus { Closed = "closed", Closing = "closing" } }
words! { pub enum LoginStatus { Started = "started" } }
words! { pub enum CallbackStatus { Submitted = "submitted" } }
words! { pub enum LogoutStatus { LoggedOut = "logged_out" } }
words! { pub enum Refresh { CacheOnly = "cache_only" } }
words! { pub enum AuthMethod { Oauth = "oauth", ApiKey = "api_key", None = "none" } }
words! { pub enum AuthSource { SharedStore = "shared_store", Environment = "environment", None = "none" } }
words! { pub enum AuthReadiness { Ready = "ready", Missing = "missing", NeedsLogin = "needs_login" } }
words! { pub enum CatalogState { FreshCache = "fresh_cache", Stale = "stale", Unavailable = "unavailable" } }
words! { pub enum Scope { Global = "global", Project = "project" } }
words! { pub enum Layer { Environment = "environment", Project = "project", Global = "global" } }
words! { pub enum Role { User = "user", Assistant = "assistant" } }

words! {
    /// A reasoning choice.
    pub enum Thinking {
        Default = "default", Low = "low", Medium = "medium", High = "high", XHigh = "x_high", Max = "max",
    }
}

words! {
    /// What ended a stretch of a replayed session.
    pub enum ReplayStatus {
        Completed = "completed",
        Cancelled = "cancelled",
        Failed = "failed",
        CompactionRequired = "compaction_required",
    }
}

words! {
    /// How far a login is.
    pub enum LoginState {
        AuthorizationUrl = "authorization_url",
        Waiting = "waiting",
        CallbackReceived = "callback_received",
        CallbackAccepted = "callback_accepted",
    }
}

words! {
    /// How a login ended.
    pub enum LoginEnd {
        ExchangeSucceeded = "exchange_succeeded",
        Cancelled = "cancelled",
        CallbackTimeout = "callback_timeout",
        CallbackFailed = "callback_failed",
        ExchangeFailed = "exchange_failed",
        AuthChanged = "auth_changed",
        StorageFailed = "storage_failed",
        InternalError = "internal_error",
    }
}

words! {
    pub enum Category {
        Tool = "tool",
        Hook = "hook",
        ContextInjection = "context_injection",
        SubagentBatch = "subagent_batch",
        SubagentTask = "subagent_task",
        Assistant = "assistant",
        Diagnostic = "diagnostic",
        Compaction = "compaction",
        /// What every lifecycle finish says.
        Activity = "activity",
    }
}

words! {
    pub enum LifecycleStatus {
        Queued = "queued",
        Running = "running",
        Writing = "writing",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

words! { pub enum Transport { Local = "local", Mcp = "mcp", Unknown = "unknown" } }

words! {
    pub enum ContextSource {
        FallbackEstimate = "fallback_estimate",
        TokenizerEstimate = "tokenizer_estimate",
        FallbackProjection = "fallback_projection",
        TokenizerProjection = "tokenizer_projection",
        LastProviderUsage = "last_provider_usage",
        ProviderExact = "provider_exact",
        ProviderPartial = "provider_partial",
    }
}

words! { pub enum UsageSource { ProviderRequest = "provider_request", SubagentAggregate = "subagent_aggregate" } }

words! {
    pub enum CompactionStatus {
        Triggered = "triggered",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}
