//! Where to read on: related codes, and for codes without such a page of `docs/mighty/diagnostics/`.
//! Paths are relative to the root of this project; a test holds that each exists and lists its code.

use crate::code::Code;

/// Related codes, ascending by code.
const RELATED: &[(u16, &[u16])] = &[
    (1, &[10, 11]),
    (2, &[3]),
    (3, &[2]),
    (10, &[1]),
    (11, &[1]),
    (12, &[1]),
    (20, &[4032, 4033]),
    (21, &[2019, 2020]),
    (1001, &[2021, 2002]),
    (1002, &[2029, 2030]),
    (1003, &[6001]),
    (1004, &[1003]),
    (2001, &[2018, 2019, 2027]),
    (2002, &[1001]),
    (2003, &[2020]),
    (2004, &[2023]),
    (2005, &[2024, 2012]),
    (2006, &[2007]),
    (2007, &[4021, 2006]),
    (2008, &[2005]),
    (2009, &[2015]),
    (2010, &[2011]),
    (2011, &[2010]),
    (2012, &[2005]),
    (2013, &[2006]),
    (2014, &[2013]),
    (2015, &[2016]),
    (2016, &[2015]),
    (2017, &[2001]),
    (2018, &[2001]),
    (2019, &[2001, 21]),
    (2020, &[2003]),
    (2021, &[1001]),
    (2022, &[2009]),
    (2023, &[2004]),
    (2024, &[2005]),
    (2025, &[3013]),
    (2026, &[4033]),
    (2027, &[2001, 2028]),
    (2028, &[2027]),
    (2029, &[1002, 2030]),
    (2030, &[2029]),
    (3001, &[3003, 3008]),
    (3002, &[3008, 3009]),
    (3003, &[3001]),
    (3004, &[3005]),
    (3005, &[3004]),
    (3006, &[3004]),
    (3007, &[3010]),
    (3008, &[3001]),
    (3009, &[3008]),
    (3010, &[5007]),
    (3011, &[4010]),
    (3013, &[3014]),
    (3014, &[3013]),
    (3020, &[3004]),
    (4001, &[4050, 4002]),
    (4002, &[4001]),
    (4010, &[4065]),
    (4020, &[4021]),
    (4021, &[2007]),
    (4030, &[4031]),
    (4031, &[4030]),
    (4032, &[4033]),
    (4033, &[2026]),
    (4040, &[3001]),
    (4041, &[4040]),
    (4050, &[4001]),
    (4051, &[4001]),
    (4052, &[4001]),
    (4053, &[4001]),
    (4054, &[4001]),
    (4055, &[4001]),
    (4056, &[4001]),
    (4057, &[4001]),
    (4058, &[4001]),
    (4059, &[4001]),
    (4099, &[4001]),
];

/// Codes and pages to read after an explain text; never empty for an assigned code.
#[must_use]
pub(crate) fn of(code: Code) -> Vec<String> {
    let number = code.number();
    let related = RELATED
        .binary_search_by_key(&number, |(n, _)| *n)
        .map_or(&[][..], |i| RELATED[i].1);
    let mut found: Vec<String> = related
        .iter()
        .map(|n| Code::assigned(*n).to_string())
        .collect();
    if found.is_empty() || number == 4099 {
        found.extend(page(number).map(str::to_owned));
    }
    found
}

/// The page that lists a code.
#[must_use]
pub(crate) fn page(number: u16) -> Option<&'static str> {
    Some(match number {
        0..=999 => "docs/mighty/diagnostics/syntax.md",
        1000..=1999 => "docs/mighty/diagnostics/names.md",
        2000..=2999 => "docs/mighty/diagnostics/types.md",
        3000..=3999 => "docs/mighty/diagnostics/ownership.md",
        4099 => "docs/mighty/diagnostics/taint.md",
        4000..=4999 => "docs/mighty/diagnostics/effects.md",
        5000..=5999 => "docs/mighty/diagnostics/runtime.md",
        6000..=6999 => "docs/mighty/diagnostics/macros.md",
        8000..=8999 => "docs/mighty/diagnostics/codegen.md",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn related_codes_are_assigned_and_pages_list_their_codes() {
        assert!(RELATED.is_sorted_by_key(|(n, _)| *n));
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for entry in crate::catalogue() {
            let code = Code::assigned(entry.number);
            for see in of(code) {
                match see.strip_prefix("MT") {
                    Some(number) => {
                        let number = number.parse().unwrap();
                        assert!(crate::lookup(number).is_some(), "{code} names {see}");
                        assert_ne!(number, entry.number);
                    }
                    None => assert!(see.ends_with(".md")),
                }
            }
            assert!(!of(code).is_empty(), "{code}");
            let page = page(entry.number).unwrap();
            let text = std::fs::read_to_string(format!("{root}/{page}")).unwrap();
            assert!(
                text.contains(&code.to_string()),
                "{page} does not list {code}"
            );
        }
    }
}
