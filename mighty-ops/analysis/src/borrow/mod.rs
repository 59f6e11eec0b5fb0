//! The borrow checker: ownership, borrows, mutability, arenas and what may be sent (language.md §12, §13, §17).
//! Runs only on packages without errors, and must not report anything but MT3xxx.
//!
//! Every body is walked once in the order of evaluation with a [`State`](place::State): which places are moved
//! or uninitialised, and which borrows are alive. Branches copy the state and join it again, loops repeat
//! until it is stable. Where control cannot come (after `return`, `break`, `panic`) nothing is checked, and
//! such ways do not take part in joins. A borrow ends with the last read of its holder in source order
//! ([`live`]), or with the call or statement around it if nothing holds it.

mod calls;
mod flow;
mod live;
mod place;
mod scope;
mod shape;
mod spot;
mod uses;
mod walk;

use tokio_util::sync::CancellationToken;

use crate::diagnostic::Sink;
use crate::hir::Hir;
use crate::infer::Types;
use crate::package::Options;

/// Checks all bodies. Call it only if nothing was reported as an error before: it relies on types that fit.
///
/// The work is linear in the size of the bodies, with a small factor for nested loops; a loop is walked at
/// most 16 times in a row.
pub(crate) fn check(
    hir: &Hir,
    types: &Types,
    options: &Options,
    cancel: &CancellationToken,
    sink: &mut Sink,
) {
    let mut shapes = shape::Shapes::new(hir);
    for id in hir.body_ids() {
        if cancel.is_cancelled() {
            return;
        }
        walk::Walker::new(hir, types, options, id, &mut shapes, sink).run();
    }
}
