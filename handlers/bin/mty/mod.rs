//! The commands of `mty`, one file each. A new one is its module and its line in the table.
//! Nothing here serves or shows anything itself.

mod agent;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "explain")]
mod explain;
#[cfg(feature = "fix")]
mod fix;
#[cfg(feature = "fmt")]
mod fmt;
#[cfg(feature = "check")]
mod pretty;
mod schema;
#[cfg(any(feature = "check", feature = "fmt"))]
mod shared;
#[cfg(any(feature = "check", feature = "fmt"))]
mod terminal;

use crate::program::{Completions, Entry, Man, Version, entry};

/// In the order in which help names them.
pub(crate) const TABLE: &[Entry] = &[
    entry::<agent::Agent>(),
    #[cfg(feature = "check")]
    entry::<check::Check>(),
    #[cfg(feature = "fmt")]
    entry::<fmt::Fmt>(),
    #[cfg(feature = "fix")]
    entry::<fix::Fix>(),
    #[cfg(feature = "explain")]
    entry::<explain::Explain>(),
    entry::<schema::Schema>(),
    entry::<Completions>(),
    entry::<Man>(),
    entry::<Version>(),
];
