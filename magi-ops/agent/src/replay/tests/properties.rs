//! What holds of every replay: pages agree, positions survive, and whatever a file holds there is a page.

use proptest::prelude::*;

use super::*;

fn any_body() -> impl Strategy<Value = Body> {
    let text = || "(?s)[\\x00-\\x40a-c\u{80}日🔑]{0,60}".prop_map(|unit| unit.repeat(60));
    let id = || "[ab]";
    prop_oneof![
        text().prop_map(|text| user(&text)),
        (id(), text()).prop_map(|(id, text)| piece(&id, &text)),
        (id(), prop::option::of(text())).prop_map(|(id, text)| whole(&id, text.as_deref())),
        prop_oneof![
            Just(Outcome::Completed),
            Just(Outcome::Cancelled),
            Just(Outcome::Failed)
        ]
        .prop_map(end),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The limit decides how many pages there are, not what they say.
    #[test]
    fn paging_gives_the_same_items_whatever_the_limit(bodies in prop::collection::vec(any_body(), 1..30), limit in 1usize..=32) {
        let place = Place::new(bodies);
        let items = place.all(limit);
        prop_assert_eq!(&items, &place.all(32));
        let mut part_of_message = None;
        for item in &items {
            prop_assert!(item.cursor.len() <= 64);
            let ReplayBody::Message { text, part, last_part, .. } = &item.body else {
                prop_assert_eq!(part_of_message, None);
                continue;
            };
            prop_assert!(!text.is_empty() && text.len() <= MAX_PART_BYTES);
            prop_assert_eq!(*part, part_of_message.unwrap_or(0));
            part_of_message = (!last_part).then_some(part + 1);
        }
        prop_assert_eq!(part_of_message, None);
    }

    /// Each position of a settled history is followed by the rest, and still is after appends.
    #[test]
    fn positions_survive_appends(mut bodies in prop::collection::vec(any_body(), 0..15), more in prop::collection::vec(any_body(), 1..10), at in any::<prop::sample::Index>()) {
        bodies.push(end(Outcome::Completed));
        let mut place = Place::new(bodies);
        let before = place.all(32);
        place.add(more);
        let after = place.all(32);
        prop_assert_eq!(&after[..before.len()], &before);
        let at = at.index(before.len());
        let page = place.page(Some(&before[at].cursor), 1);
        prop_assert!(!page.resync_required);
        prop_assert_eq!(page.items.first(), after.get(at + 1));
    }

    /// Whatever stands in the file, there is a page, and it fits.
    #[test]
    fn any_file_has_a_page(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let place = Place::on_disk(vec![user("x")]);
        std::fs::write(place.file(), bytes).unwrap();
        let page = place.page(None, 32);
        prop_assert!(page.items.is_empty());
        prop_assert!(encoded(&page) <= MAX_PAGE_BYTES);
    }
}
