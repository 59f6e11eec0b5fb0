//! Bytes to frames: the buffer under test against a splitter that sees the whole input at once.
//! Any chunking must give the same frames and refusals, within the dialect's bound.

use host::frame::{FrameBuffer, FrameRules, Framed, Oversize, Unterminated};

use crate::input::Sizes;

/// What a stream is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Frame(Vec<u8>),
    Oversize,
    Incomplete,
}

/// Splits `input` under `rules` in several chunkings, and gives the pieces.
///
/// # Panics
/// When a chunking gives other pieces than the others, or breaks a bound.
pub fn check(rules: FrameRules, input: &[u8]) -> Vec<Piece> {
    let expected = split(&rules, input);
    assert_eq!(feed(rules, input, |most| most), expected, "whole batches");
    for salt in 1..=2 {
        let mut sizes = Sizes::new(input, salt);
        let pieces = feed(rules, input, |most| sizes.size(most));
        assert_eq!(pieces, expected, "chunking {salt}");
    }
    if input.len() <= 2048 {
        assert_eq!(feed(rules, input, |_| 1), expected, "single bytes");
    }
    small(input);
    expected
}

/// The same input under every policy and a bound so small that inputs of any length pass it.
fn small(input: &[u8]) {
    let mut sizes = Sizes::new(input, 3);
    let max_bytes = sizes.size(64) - 1;
    let read_batch = sizes.size(24);
    let input = &input[..input.len().min(2048)];
    for oversize in [Oversize::Close, Oversize::Discard] {
        for unterminated in [Unterminated::Refuse, Unterminated::Deliver] {
            let rules = FrameRules {
                max_bytes,
                oversize,
                unterminated,
                read_batch,
            };
            let pieces = feed(rules, input, |most| sizes.size(most));
            assert_eq!(pieces, split(&rules, input), "{rules:?}");
        }
    }
}

fn split(rules: &FrameRules, input: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let tail = lines.pop().unwrap_or_default();
    for line in lines {
        if line.len() <= rules.max_bytes {
            pieces.push(Piece::Frame(line.to_vec()));
            continue;
        }
        pieces.push(Piece::Oversize);
        if rules.oversize == Oversize::Close {
            return pieces;
        }
    }
    if tail.len() > rules.max_bytes {
        pieces.push(Piece::Oversize);
    } else if !tail.is_empty() {
        pieces.push(match rules.unterminated {
            Unterminated::Refuse => Piece::Incomplete,
            Unterminated::Deliver => Piece::Frame(tail.to_vec()),
        });
    }
    pieces
}

fn feed(rules: FrameRules, input: &[u8], mut size: impl FnMut(usize) -> usize) -> Vec<Piece> {
    let mut buffer = FrameBuffer::new(rules);
    let mut pieces = Vec::new();
    let mut rest = input;
    let mut closed = false;
    loop {
        while let Some(framed) = buffer.next_frame() {
            assert!(!closed, "a closed connection yields nothing");
            closed = framed == Framed::Oversize && rules.oversize == Oversize::Close;
            pieces.push(piece(&rules, &buffer, framed));
        }
        if rest.is_empty() || closed {
            break;
        }
        let space = buffer.space();
        assert_eq!(space.len(), rules.read_batch, "a read is one batch");
        let count = size(space.len()).min(rest.len());
        space[..count].copy_from_slice(&rest[..count]);
        buffer.filled(count);
        rest = &rest[count..];
    }
    if let Some(framed) = buffer.finish() {
        assert!(!closed, "a closed connection yields nothing");
        pieces.push(piece(&rules, &buffer, framed));
    }
    assert_eq!(buffer.finish(), None, "the end comes once");
    assert_eq!(buffer.next_frame(), None, "nothing comes after the end");
    pieces
}

fn piece(rules: &FrameRules, buffer: &FrameBuffer, framed: Framed) -> Piece {
    match framed {
        Framed::Oversize => Piece::Oversize,
        Framed::Incomplete => Piece::Incomplete,
        Framed::Frame(range) => {
            // Where a frame stands in the buffer tells how far the buffer has grown.
            assert!(
                range.end <= rules.max_bytes + 2 * rules.read_batch,
                "growth"
            );
            let frame = buffer.bytes(range.clone());
            assert_eq!(frame.len(), range.len(), "a frame is in the buffer");
            assert!(frame.len() <= rules.max_bytes, "the bound");
            Piece::Frame(frame.to_vec())
        }
    }
}
