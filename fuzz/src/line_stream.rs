//! The client's line stream: any chopping gives the lines and the violation that the whole input gives.
//! No JSON and no dialect live here.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use consumer::stream::Lines;
use consumer::{Error, Violation};
use tokio::io::{AsyncRead, ReadBuf, sink};

use crate::input::Sizes;

/// Splits `input` under `line_bytes` in several choppings.
///
/// # Panics
/// When one of them gives other lines, or another end.
pub fn check(input: &[u8], line_bytes: usize) {
    let expected = split(input, line_bytes);
    let lines = |output: Chopped<'_>| {
        block(async {
            let mut stream = Lines::new(output, sink(), line_bytes);
            let mut lines = Vec::new();
            loop {
                match stream.next().await {
                    Ok(Some(line)) => lines.push(line),
                    Ok(None) => return (lines, None),
                    Err(error) => return (lines, Some(violation(error))),
                }
            }
        })
    };
    assert_eq!(chopped(input, lines), expected);
}

fn split(input: &[u8], line_bytes: usize) -> (Vec<Vec<u8>>, Option<Violation>) {
    let mut whole = Vec::new();
    let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let tail = lines.pop().unwrap_or_default();
    for line in lines {
        if line.len() + 1 > line_bytes {
            return (whole, Some(Violation::FrameTooLarge));
        }
        whole.push(line.to_vec());
    }
    let end = match tail.len() {
        0 => None,
        length if length >= line_bytes => Some(Violation::FrameTooLarge),
        _ => Some(Violation::IncompleteFrame),
    };
    (whole, end)
}

/// Runs `session` over the whole input and over two choppings of it, which must come to the same.
pub fn chopped<T: Debug + PartialEq>(input: &[u8], session: impl Fn(Chopped<'_>) -> T) -> T {
    let whole = session(Chopped {
        rest: input,
        sizes: None,
    });
    for salt in 1..=2 {
        let sizes = Some(Sizes::new(input, salt));
        let said = session(Chopped { rest: input, sizes });
        assert_eq!(said, whole, "chopping {salt}");
    }
    whole
}

/// Why a stream ended; bytes alone can only break a rule.
pub fn violation(error: Error) -> Violation {
    match error {
        Error::Violation(violation) => violation,
        other => panic!("bytes can only break a rule: {other:?}"),
    }
}

/// A server's output that arrives in pieces, sometimes late.
pub struct Chopped<'a> {
    rest: &'a [u8],
    /// None gives everything at once.
    sizes: Option<Sizes>,
}

impl AsyncRead for Chopped<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(self.rest.len());
        let count = match &mut self.sizes {
            Some(sizes) => {
                if sizes.draw().is_multiple_of(4) {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                sizes.size(most)
            }
            None => most,
        };
        let (now, rest) = self.rest.split_at(count);
        buffer.put_slice(now);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

/// Runs a future that waits for nothing but this thread.
pub fn block<F: Future>(future: F) -> F::Output
where
    F::Output: Debug,
{
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
