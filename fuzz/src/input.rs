//! From a target's input to the bytes it stands for, and chunk sizes that depend on the input alone.
//! No protocol lives here.

use std::borrow::Cow;

/// The most bytes that one input can stand for: twice the magi dialects' frames, and something more.
pub const MOST: usize = 160 * 1024;

/// Begins an input that has runs. It is no UTF-8, so that nothing else is lost with it.
pub const RUNS: u8 = 0xF8;

/// Writes out the runs of an input that begins with [`RUNS`]: a NUL and a count `n` after a byte stand
/// for `n` × 257 more of that byte, so that a seed of some bytes reaches a bound of 65,536. A count of
/// 0 stands for a NUL. Any other input stands for itself.
pub fn expand(data: &[u8]) -> Cow<'_, [u8]> {
    expand_to(data, MOST)
}

/// The same for what is bounded elsewhere: no run begins beyond `most` bytes.
pub fn expand_to(data: &[u8], most: usize) -> Cow<'_, [u8]> {
    let Some((&RUNS, data)) = data.split_first() else {
        return Cow::Borrowed(data);
    };
    let mut out = Vec::with_capacity(data.len());
    let mut bytes = data.iter().copied();
    while let Some(byte) = bytes.next() {
        if out.len() >= most {
            break;
        }
        match (byte, out.last().copied()) {
            (0, Some(last)) => match bytes.next() {
                Some(0) | None => out.push(0),
                Some(n) => out.resize(out.len() + usize::from(n) * 257, last),
            },
            _ => out.push(byte),
        }
    }
    Cow::Owned(out)
}

/// A stream of sizes of every magnitude.
#[derive(Clone, Debug)]
pub struct Sizes(u64);

impl Sizes {
    pub fn new(data: &[u8], salt: u64) -> Self {
        // FNV-1a; the state of the generator below must not be zero.
        let hash = data
            .iter()
            .fold(0xcbf2_9ce4_8422_2325 ^ salt, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self(hash | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 1 to `most`; small ones are as likely as large ones.
    pub fn size(&mut self, most: usize) -> usize {
        let magnitude = self.draw() % u64::from(most.max(1).ilog2() + 1);
        let size = (1 << magnitude) + (self.draw() % (1 << magnitude)) as usize;
        size.min(most)
    }
}
