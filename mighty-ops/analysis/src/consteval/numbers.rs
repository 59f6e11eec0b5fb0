//! Numbers of constants: faults and wrapping by type.
//! Must not walk expressions.

use syntax::TextRange;

use super::Stop;
use crate::ty::IntTy;

/// The fault of a number that its type does not hold.
pub(super) fn overflow(t: IntTy, range: TextRange) -> Stop {
    Stop::Fault(
        range,
        format!("this constant overflows `{}`", t.name()),
        "MT5004",
    )
}

/// The low bits of a number, read in the type; unknown above what an `i128` holds.
pub(super) fn wrap(n: i128, t: IntTy) -> Option<i128> {
    let bits = t.bits();
    if bits == 128 {
        return (t.signed() || n >= 0).then_some(n);
    }
    let low = n & ((1 << bits) - 1);
    Some(if t.signed() && low >> (bits - 1) == 1 {
        low - (1 << bits)
    } else {
        low
    })
}
