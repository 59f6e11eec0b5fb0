//! The calls of one snippet: those that run, those that wait for one of them, and whom each result goes to.
//! What a tool does with a call is the host's matter.

use std::collections::{HashMap, VecDeque};

use rquickjs::{Ctx, Exception, Function, Object, Persistent, Promise};
use serde_json::Value;

use super::Host;
use crate::bounds;
use crate::message::Report;

#[derive(Default)]
pub(super) struct Calls {
    last: u32,
    /// By number; also those that wait.
    open: HashMap<u32, Pending>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
}

/// What becomes of a call's promise.
struct Pending {
    resolve: Persistent<Function<'static>>,
    reject: Persistent<Function<'static>>,
    /// Made where the call was made, so that it tells the line.
    error: Persistent<Object<'static>>,
}

struct Waiting {
    report: Report,
    bytes: usize,
}

impl Calls {
    /// How many have no result, told or not.
    pub(super) fn open(&self) -> u32 {
        u32::try_from(self.open.len()).unwrap_or(u32::MAX)
    }

    /// How many have been told and not answered.
    pub(super) fn running(&self) -> usize {
        self.open.len() - self.waiting.len()
    }
}

impl Host {
    /// Makes a call, or puts it behind those that run.
    pub(super) fn call<'js>(
        &self,
        cx: &Ctx<'js>,
        name: String,
        input: &str,
        error: Object<'js>,
    ) -> rquickjs::Result<Promise<'js>> {
        let refuse = |why: &str| Exception::throw_range(cx, why);
        if input.len() > bounds::INPUT {
            return Err(refuse("the input of a call has at most 1 MiB of JSON"));
        }
        let value: Value = serde_json::from_str(input).map_err(|error| {
            refuse(&format!(
                "the input of a call is no JSON that a tool takes: {error}"
            ))
        })?;
        if depth(&value) > bounds::DEPTH {
            return Err(refuse("the input of a call nests at most 100 levels"));
        }
        let (promise, resolve, reject) = cx.promise()?;
        let mut calls = self.calls.borrow_mut();
        if calls.last == bounds::CALLS {
            return Err(refuse("a snippet makes at most 10000 calls"));
        }
        let waits = calls.running() >= bounds::AT_ONCE;
        let has_room = calls.waiting.len() < bounds::WAITING
            && calls.waiting_bytes + input.len() <= bounds::WAITING_BYTES;
        if waits && !has_room {
            return Err(refuse("too many calls wait; await some of them first"));
        }
        calls.last += 1;
        let id = calls.last;
        let pending = Pending {
            resolve: Persistent::save(cx, resolve),
            reject: Persistent::save(cx, reject),
            error: Persistent::save(cx, error),
        };
        let report = Report::Call {
            id,
            name,
            input: value,
        };
        calls.open.insert(id, pending);
        if waits {
            let bytes = input.len();
            calls.waiting_bytes += bytes;
            calls.waiting.push_back(Waiting { report, bytes });
            return Ok(promise);
        }
        drop(calls);
        self.told(&report);
        Ok(promise)
    }

    /// Settles the promise of a call, and makes the next one.
    pub(super) fn settle(
        &self,
        cx: &Ctx<'_>,
        id: u32,
        is_error: bool,
        text: &str,
    ) -> rquickjs::Result<()> {
        let mut calls = self.calls.borrow_mut();
        let Some(pending) = calls.open.remove(&id) else {
            return Ok(());
        };
        let next = calls.waiting.pop_front();
        if let Some(next) = &next {
            calls.waiting_bytes -= next.bytes;
        }
        drop(calls);
        if let Some(next) = next {
            self.told(&next.report);
        }
        if is_error {
            let error = pending.error.restore(cx)?;
            error.set("message", text)?;
            return pending.reject.restore(cx)?.call((error,));
        }
        pending.resolve.restore(cx)?.call((text,))
    }
}

/// How many lists and objects stand in each other. The reader of JSON has bound it.
fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}
