//! What a snippet's promises and jobs were rejected with while nobody looked: kept while it runs, told at its end.
//! A rejection that somebody handles later is none of them.

use std::cell::RefCell;

use rquickjs::{Ctx, Function, Persistent, Promise, Value};

use super::{clip, said};

/// Rejections that are kept.
const KEPT: usize = 256;
/// Of these so many are told, with so many bytes each.
const TOLD: usize = 3;
const TOLD_BYTES: usize = 160;

#[derive(Default)]
pub(super) struct Unhandled(RefCell<Vec<Rejection>>);

struct Rejection {
    /// None of a job that threw.
    promise: Option<Persistent<Value<'static>>>,
    reason: Persistent<Value<'static>>,
}

impl Unhandled {
    /// A promise was rejected and has no handler.
    pub(super) fn rejected<'js>(&self, cx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>) {
        self.keep(cx, Some(promise), reason);
    }

    /// A job threw this: nobody waits for one.
    pub(super) fn threw<'js>(&self, cx: &Ctx<'js>, reason: Value<'js>) {
        self.keep(cx, None, reason);
    }

    fn keep<'js>(&self, cx: &Ctx<'js>, promise: Option<Value<'js>>, reason: Value<'js>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT {
            kept.push(Rejection {
                promise: promise.map(|promise| Persistent::save(cx, promise)),
                reason: Persistent::save(cx, reason),
            });
        }
    }

    /// One that was rejected before has a handler now.
    pub(super) fn handled<'js>(&self, cx: &Ctx<'js>, promise: &Value<'js>) {
        let mut kept = self.0.borrow_mut();
        let at = kept.iter().rposition(|one| one.is_of(cx, promise));
        // What drops with it is the engine's memory, and no code of the snippet runs.
        drop(at.map(|at| kept.remove(at)));
    }

    /// All of it in one line, without the snippet's own promise `but`; empty if there is nothing.
    pub(super) fn told<'js>(
        &self,
        cx: &Ctx<'js>,
        but: &Promise<'js>,
        show: &Function<'js>,
    ) -> String {
        self.handled(cx, but.as_value());
        // Showing one runs what the snippet wrote.
        let kept = self.0.take();
        let reasons = kept.iter().take(TOLD).map(|one| {
            let reason = one.reason.clone().restore(cx).ok();
            let text = reason.and_then(|reason| said(cx, reason, Some(show)));
            let text = text.unwrap_or_default();
            let mut line = text.lines().next().unwrap_or_default().to_owned();
            clip(&mut line, TOLD_BYTES);
            line
        });
        let reasons: Vec<_> = reasons.collect();
        let more = if kept.len() > TOLD { "; …" } else { "" };
        match kept.len() {
            0 => String::new(),
            1 => format!("1 rejection was not handled: {}", reasons[0]),
            all => format!(
                "{all}{} rejections were not handled: {}{more}",
                if all == KEPT { " or more" } else { "" },
                reasons.join("; ")
            ),
        }
    }
}

impl Rejection {
    fn is_of<'js>(&self, cx: &Ctx<'js>, promise: &Value<'js>) -> bool {
        let own = self.promise.clone().map(|own| own.restore(cx));
        own.is_some_and(|own| own.is_ok_and(|own| own == *promise))
    }
}
