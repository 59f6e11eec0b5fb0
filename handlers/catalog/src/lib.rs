//! The catalog operations of application-service, one file each; here what they have in common.
//! Translates only; catalogs are the engine's matter.

mod models;
mod providers;
mod refresh;

use agent::CatalogState as Known;
use application_service::messages::is_selection_id;
use application_service::words::CatalogState;
use application_service::{PAGE_ITEMS, Word};

/// Farthest beginning of a page.
const MAX_OFFSET: u64 = 100_000;

fn state(known: Known) -> CatalogState {
    match known {
        Known::Fresh => CatalogState::FreshCache,
        Known::Stale => CatalogState::Stale,
        Known::Unavailable => CatalogState::Unavailable,
    }
}

/// Where a page begins and how many items it has at most.
fn bounded(offset: u64, limit: u64) -> Result<(usize, usize), Word> {
    if limit == 0 {
        return Err(Word::InvalidPayload);
    }
    if limit > PAGE_ITEMS || offset > MAX_OFFSET {
        return Err(Word::LimitExceeded);
    }
    Ok((offset as usize, limit as usize))
}

/// A provider's id, as far as the grammar says.
fn provider(id: String) -> Result<String, Word> {
    match is_selection_id(&id) {
        true => Ok(id),
        false => Err(Word::InvalidSelection),
    }
}

/// Where the page behind one ends that has everything up to `end` of `length` items.
fn next(end: usize, length: usize) -> Option<u64> {
    (end < length).then_some(end as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_page_are_exact() {
        assert_eq!(bounded(0, 32), Ok((0, 32)));
        assert_eq!(bounded(100_000, 1), Ok((100_000, 1)));
        assert_eq!(bounded(100_001, 1), Err(Word::LimitExceeded));
        assert_eq!(bounded(0, 33), Err(Word::LimitExceeded));
        assert_eq!(bounded(0, 0), Err(Word::InvalidPayload));
        let advertised = application_service::RULES.limit("max_catalog_page_items");
        assert_eq!(advertised, Some(PAGE_ITEMS));
    }
}
