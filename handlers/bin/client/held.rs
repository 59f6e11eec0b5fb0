//! What happened while a question stood at the terminal, to be shown behind its answer: bounded.
//! How it is shown is the caller's matter.

use std::collections::VecDeque;

use consumer::local_agent::Event;

/// Most events that are kept; of more the first ones go.
const MOST: usize = 1_000;

#[derive(Default)]
pub(crate) struct Held {
    pub(crate) events: VecDeque<Event>,
    /// How many are not shown any more.
    pub(crate) lost: usize,
}

impl Held {
    pub(crate) fn keep(&mut self, event: Event) {
        // One is enough of the same words: all that is new of them is shown with it.
        let is_more = match (self.events.back(), &event) {
            (Some(Event::MessageDelta(known)), Event::MessageDelta(delta)) => {
                known.message_id == delta.message_id
            }
            _ => false,
        };
        if is_more {
            return;
        }
        if self.events.len() == MOST {
            self.events.pop_front();
            self.lost += 1;
        }
        self.events.push_back(event);
    }
}
