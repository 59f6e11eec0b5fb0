//! A model that makes one call again and again: when it is told so, and when its run ends.
//! Looks at calls and results alone; what is done about them stands in `tools`.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use provider::ToolCall;
use tools::ToolOutcome;

/// Identical calls with identical results after which the model is told.
const NOTE_AFTER: u32 = 3;
/// Those after which the run ends.
const ENDED_AFTER: u32 = 8;

/// The calls of a run and how often each was made with the result that it had last.
///
/// A call or a result that the run has not had yet is progress, after which repeating another call
/// makes sense again: running the same tests after each edit. Two calls in turn are none.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    calls: HashMap<u64, Repeated>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Repeated {
    result: u64,
    times: u32,
    /// The response behind which the model was told first: it must have had a chance to heed it.
    noted: Option<u32>,
}

/// What is to be done about a call that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetition {
    /// Nothing.
    Fine,
    /// The model is told; the call has been made so often.
    Note(u32),
    /// The model was told, and the run ends.
    End,
}

impl Repeats {
    /// Counts a call that ended behind the response of this number.
    pub(super) fn count(
        &mut self,
        response: u32,
        call: &ToolCall,
        outcome: &ToolOutcome,
    ) -> Repetition {
        let id = self.hasher.hash_one((&call.name, call.input.to_string()));
        let result = self
            .hasher
            .hash_one((&outcome.content, &outcome.images, outcome.is_error));
        if let Some(known) = self.calls.get_mut(&id)
            && known.result == result
        {
            known.times += 1;
            return match known.noted {
                Some(noted) if noted < response && known.times >= ENDED_AFTER => Repetition::End,
                _ if known.times >= NOTE_AFTER => {
                    known.noted.get_or_insert(response);
                    Repetition::Note(known.times)
                }
                _ => Repetition::Fine,
            };
        }
        for other in self.calls.values_mut() {
            (other.times, other.noted) = (1, None);
        }
        let first = Repeated {
            result,
            times: 1,
            noted: None,
        };
        self.calls.insert(id, first);
        Repetition::Fine
    }

    /// What the model is told behind the result of a call that it has made so often.
    pub(super) fn note(times: u32) -> String {
        format!(
            "\n\n[This call has been made {times} times with the same result. To make it again changes nothing; \
             try something else, or say what stands in the way.]"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(repeats: &mut Repeats, response: u32, name: &str, result: &str) -> Repetition {
        let call = ToolCall {
            id: response.to_string(),
            name: name.to_owned(),
            input: json!({}),
        };
        let outcome = ToolOutcome {
            content: result.to_owned(),
            images: Vec::new(),
            is_error: false,
            timed_out: false,
            summary: String::new(),
            why: None,
        };
        repeats.count(response, &call, &outcome)
    }

    use Repetition::{End, Fine, Note};

    #[test]
    fn the_same_call_with_the_same_result_counts() {
        let mut repeats = Repeats::default();
        let all: Vec<_> = (0..8).map(|at| count(&mut repeats, at, "a", "x")).collect();
        assert_eq!(
            all,
            [Fine, Fine, Note(3), Note(4), Note(5), Note(6), Note(7), End]
        );
        assert_eq!(count(&mut repeats, 8, "a", "y"), Fine);
        // All in one response: the model is told before the run ends.
        let mut repeats = Repeats::default();
        let last = (0..20).map(|_| count(&mut repeats, 0, "a", "x")).last();
        assert_eq!(last, Some(Note(20)));
        assert_eq!(count(&mut repeats, 1, "a", "x"), End);
    }

    #[test]
    fn calls_in_turn_count_and_progress_begins_anew() {
        let mut repeats = Repeats::default();
        let mut last = Fine;
        for round in 0..8 {
            count(&mut repeats, 2 * round, "a", "x");
            last = count(&mut repeats, 2 * round + 1, "b", "x");
        }
        assert_eq!(last, End);
        for edit in 0..9 {
            count(
                &mut repeats,
                100 + 2 * edit,
                &format!("edit {edit}"),
                "done",
            );
            assert_eq!(count(&mut repeats, 101 + 2 * edit, "a", "x"), Fine);
        }
    }
}
