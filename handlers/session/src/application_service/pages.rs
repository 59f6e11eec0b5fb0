//! `session.list` and `session.replay` of application-service (spec: application-service, "Listing",
//! "Durable replay"). Pages are cut by the engine; nothing here attaches a session.

use agent::{ReplayBody, Role, SessionId, TurnEnd};
use application_service::messages::{
    Item, PagePayload, ReplayEvent, ReplayPage, SessionPage, Summary,
};
use application_service::{ID_BYTES, PAGE_ITEMS, Word, words as vocabulary};
use host::{Cx, Reply};
use magi::application_service::{Service, session_id, word};

/// The continuation and the number of items, within their bounds. A continuation beyond the bound
/// of all correlation ids passes a limit of the protocol, whatever it would have meant.
fn bounded(payload: PagePayload) -> Result<(Option<String>, usize), Word> {
    if payload.limit == 0 {
        return Err(Word::InvalidPayload);
    }
    let too_long = |after: &String| after.len() > ID_BYTES;
    if payload.limit > PAGE_ITEMS || payload.after.as_ref().is_some_and(too_long) {
        return Err(Word::LimitExceeded);
    }
    Ok((payload.after, payload.limit as usize))
}

/// A page of the list begins behind a session.
fn listed(_: &Cx<Service>, payload: PagePayload) -> Result<(Option<SessionId>, usize), Word> {
    let (after, limit) = bounded(payload)?;
    let after = after.as_deref().map(session_id).transpose()?;
    Ok((after, limit))
}

/// A page of one session begins behind a cursor, which only its projection can judge.
fn replayed(
    cx: &Cx<Service>,
    payload: PagePayload,
) -> Result<(SessionId, Option<String>, usize), Word> {
    let (after, limit) = bounded(payload)?;
    Ok((super::session(cx)?, after, limit))
}

host::operation! {
    /// One page of all sessions, whoever holds them. Not a snapshot: restart without `after` to refresh.
    dialect: application_service::ApplicationService,
    method: "session.list",
    position: 40,
    class: Exclusive,
    needs: Initialization,
    params: PagePayload,
    validate: listed,
    answer: SessionPage,
    errors: [InvalidPayload, NotInitialized, LimitExceeded, InvalidSessionId, InternalError],
    example: r#"{"after":null,"limit":32}"# => r#"{"sessions":[{"session_id":"<session_id>","title":null,"updated_at":"…"}],"next_after":null,"truncated":false,"incomplete":false}"#,
    handler: list,
}

async fn list(
    cx: Cx<Service>,
    (after, limit): (Option<SessionId>, usize),
) -> Result<Reply<SessionPage>, Word> {
    let page = cx.engine().engine().list(after, limit).await;
    let page = page.map_err(word)?;
    let sessions = page.sessions.into_iter().map(|session| Summary {
        session_id: session.id.to_string(),
        title: session.title.map(|title| title.into_string()),
        updated_at: session.updated_at,
    });
    Ok(SessionPage {
        sessions: sessions.collect(),
        next_after: page.next_after.map(|id| id.to_string()),
        truncated: page.truncated,
        incomplete: page.incomplete,
    }
    .into())
}

fn item(body: ReplayBody) -> Item {
    match body {
        ReplayBody::Message {
            role,
            text,
            part,
            last_part,
        } => Item::Message {
            role: match role {
                Role::User => vocabulary::Role::User,
                Role::Assistant => vocabulary::Role::Assistant,
            },
            text: text.into_string(),
            part: part.into(),
            last_part,
        },
        ReplayBody::Summary {
            text,
            part,
            last_part,
        } => Item::Summary {
            text: text.into_string(),
            part: part.into(),
            last_part,
        },
        ReplayBody::Terminal(end) => Item::Terminal {
            status: match end {
                TurnEnd::Completed => vocabulary::ReplayStatus::Completed,
                TurnEnd::Cancelled => vocabulary::ReplayStatus::Cancelled,
                TurnEnd::Failed => vocabulary::ReplayStatus::Failed,
                TurnEnd::CompactionRequired => vocabulary::ReplayStatus::CompactionRequired,
            },
        },
    }
}

host::operation! {
    /// One page of what a session durably holds, at most 16 KiB of JSON. Needs no attachment and changes
    /// nothing; a session that another process holds is read too.
    dialect: application_service::ApplicationService,
    method: "session.replay",
    position: 70,
    class: Exclusive,
    needs: Initialization,
    session: Required,
    params: PagePayload,
    validate: replayed,
    answer: ReplayPage,
    errors: [
        InvalidPayload, NotInitialized, LimitExceeded, SessionBusy, SessionUnavailable, InvalidSessionId,
        InternalError,
    ],
    example: r#"{"after":null,"limit":32}"# => r#"{"events":[],"next_cursor":"<cursor>","snapshot_cursor":"<cursor>","truncated":false,"gap":false,"resync_required":false}"#,
    handler: replay,
}

async fn replay(
    cx: Cx<Service>,
    (session_id, after, limit): (SessionId, Option<String>, usize),
) -> Result<Reply<ReplayPage>, Word> {
    let page = cx.engine().engine().replay(session_id, after, limit).await;
    let page = page.map_err(word)?;
    let events = page.items.into_iter().map(|item| ReplayEvent {
        cursor: item.cursor,
        item: self::item(item.body),
    });
    Ok(ReplayPage {
        events: events.collect(),
        next_cursor: page.next_cursor,
        snapshot_cursor: page.snapshot_cursor,
        truncated: page.truncated,
        gap: page.gap,
        resync_required: page.resync_required,
    }
    .into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn payload(text: &str) -> Result<PagePayload, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn the_bounds_of_a_page_are_exact() {
        let bounded = |text: &str| {
            let page = super::bounded(payload(text).unwrap());
            page.map(|(after, limit)| (after.map(|after| after.len()), limit))
        };
        assert_eq!(bounded("{}"), Ok((None, 32)));
        assert_eq!(bounded(r#"{"after":null,"limit":1}"#), Ok((None, 1)));
        assert_eq!(bounded(r#"{"limit":32}"#), Ok((None, 32)));
        assert_eq!(bounded(r#"{"limit":33}"#), Err(Word::LimitExceeded));
        assert_eq!(bounded(r#"{"limit":0}"#), Err(Word::InvalidPayload));
        let after = |bytes: usize| json!({"after": "x".repeat(bytes)}).to_string();
        assert_eq!(bounded(&after(128)), Ok((Some(128), 32)));
        assert_eq!(bounded(&after(129)), Err(Word::LimitExceeded));
    }

    #[test]
    fn the_bound_is_the_advertised_one() {
        let advertised = application_service::RULES.limit("max_session_page_items");
        assert_eq!(advertised, Some(PAGE_ITEMS));
    }

    #[test]
    fn a_page_is_asked_for_with_the_right_types_only() {
        for bad in [
            r#"{"limit":null}"#,
            r#"{"limit":"1"}"#,
            r#"{"limit":-1}"#,
            r#"{"limit":1.5}"#,
            r#"{"after":1}"#,
            r#"{"cursor":"x"}"#,
        ] {
            assert!(payload(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn items_have_the_documented_fields() {
        let event = ReplayEvent {
            cursor: "c".to_owned(),
            item: Item::Message {
                role: vocabulary::Role::User,
                text: "Question".to_owned(),
                part: 0,
                last_part: true,
            },
        };
        assert_eq!(
            serde_json::to_value(&event).unwrap(),
            json!({"cursor": "c", "kind": "message", "role": "user", "text": "Question", "part": 0, "last_part": true})
        );
        let event = ReplayEvent {
            cursor: "d".to_owned(),
            item: item(ReplayBody::Terminal(TurnEnd::Cancelled)),
        };
        assert_eq!(
            serde_json::to_value(&event).unwrap(),
            json!({"cursor": "d", "kind": "terminal", "status": "cancelled"})
        );
    }
}
