//! What a capability value is limited to, and when one limit fits where another is wanted (language.md §14).
//! Must not know about expressions.

/// A limit. Paths and hosts are texts as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Constraint {
    /// Unrestricted; the meaning of a bare parameter type.
    Any,
    ReadOnly,
    /// Only paths that begin with this one.
    Path(String),
    /// Only these hosts.
    Host(Vec<String>),
    /// All of them hold.
    And(Vec<Constraint>),
}

impl Constraint {
    /// `c.ro(p)`: replaces what was there.
    pub(super) fn read_only(path: String) -> Self {
        Self::And(vec![Self::ReadOnly, Self::Path(path)])
    }

    /// `c.path(p)` and `c.host(h)`: in addition to what was there.
    pub(super) fn and(self, more: Self) -> Self {
        Self::And(vec![self, more])
    }

    /// `self ⊑ wanted` ([R:G43]).
    pub(super) fn fits(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (_, Self::Any) => true,
            (x, y) if x == y => true,
            (x, Self::And(all)) => all.iter().all(|y| x.fits(y)),
            (Self::And(all), y) => all.iter().any(|x| x.fits(y)),
            (Self::Path(a), Self::Path(b)) => a.starts_with(b.as_str()),
            (Self::Host(a), Self::Host(b)) => a.iter().all(|h| b.contains(h)),
            _ => false,
        }
    }

    /// The calls that narrow an unrestricted handle to this.
    pub(super) fn calls(&self) -> String {
        match self {
            Self::Any | Self::ReadOnly => String::new(),
            Self::Path(p) => format!(".path(\"{p}\")"),
            Self::Host(hosts) => hosts.iter().map(|h| format!(".host(\"{h}\")")).collect(),
            Self::And(all) => match all.as_slice() {
                [Self::ReadOnly, Self::Path(p)] => format!(".ro(\"{p}\")"),
                all => all.iter().map(Self::calls).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(p: &str) -> Constraint {
        Constraint::Path(p.to_owned())
    }

    fn host(hosts: &[&str]) -> Constraint {
        Constraint::Host(hosts.iter().map(|h| (*h).to_owned()).collect())
    }

    #[test]
    fn everything_fits_any_and_any_fits_nothing_else() {
        for c in [
            Constraint::Any,
            Constraint::ReadOnly,
            path("/srv"),
            host(&["a:1"]),
        ] {
            assert!(c.fits(&Constraint::Any));
            assert!(c.fits(&c));
            assert_eq!(Constraint::Any.fits(&c), c == Constraint::Any);
        }
    }

    #[test]
    fn paths_by_beginning_hosts_by_subset() {
        assert!(path("/srv/a").fits(&path("/srv")) && !path("/srv").fits(&path("/srv/a")));
        assert!(host(&["a:1"]).fits(&host(&["b:1", "a:1"])));
        assert!(!host(&["a:1", "c:1"]).fits(&host(&["b:1", "a:1"])));
        assert!(!path("a:1").fits(&host(&["a:1"])));
    }

    #[test]
    fn narrowing_fits_what_it_came_from() {
        let ro = Constraint::read_only("/srv".to_owned());
        let both = ro.clone().and(path("/srv/in"));
        assert!(both.fits(&ro) && !ro.fits(&both));
        assert!(ro.fits(&path("/srv")) && ro.fits(&Constraint::ReadOnly));
        assert!(!Constraint::ReadOnly.fits(&path("/srv")));
        assert!(Constraint::Any.and(path("/a")).fits(&path("/a")));
    }

    #[test]
    fn a_conjunction_is_wanted_member_by_member() {
        let wanted = Constraint::And(vec![Constraint::ReadOnly, path("/srv")]);
        assert!(!path("/srv/x").fits(&wanted));
        assert!(Constraint::And(vec![path("/srv/x"), Constraint::ReadOnly]).fits(&wanted));
    }

    #[test]
    fn the_calls_of_a_limit_narrow_to_it() {
        let limit = Constraint::read_only("/srv".to_owned()).and(path("/srv/in"));
        assert_eq!(limit.calls(), ".ro(\"/srv\").path(\"/srv/in\")");
        assert_eq!(host(&["a:1"]).calls(), ".host(\"a:1\")");
    }

    fn any_limit() -> impl Strategy<Value = Constraint> {
        let leaf = prop_oneof![
            Just(Constraint::Any),
            Just(Constraint::ReadOnly),
            "[ab]{0,3}".prop_map(Constraint::Path),
            proptest::collection::vec("[ab]", 0..3).prop_map(Constraint::Host),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            proptest::collection::vec(inner, 1..3).prop_map(Constraint::And)
        })
    }

    proptest! {
        #[test]
        fn fitting_is_an_order_and_narrowing_goes_down(
            a in any_limit(), b in any_limit(), c in any_limit(), p in "[ab]{0,3}"
        ) {
            prop_assert!(a.fits(&a) && a.fits(&Constraint::Any));
            if a.fits(&b) && b.fits(&c) {
                prop_assert!(a.fits(&c), "{a:?} {b:?} {c:?}");
            }
            prop_assert!(a.clone().and(Constraint::Path(p)).fits(&a));
        }
    }
}
