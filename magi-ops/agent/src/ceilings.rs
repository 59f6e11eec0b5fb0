//! What a session may delegate (spec: local-agent, "Owned sessions and chat history": delegated task-scope ceilings):
//! the tools that its first delegation gave, which no later one exceeds. What is stored of them is a record.

use std::collections::{BTreeMap, BTreeSet};

use store::sessions::Body;

/// The most that subagents of a session get, by profile. What stands under no profile holds for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ceilings(BTreeMap<Option<String>, BTreeSet<String>>);

impl Ceilings {
    /// Takes notice of a stored one. The first of a profile holds.
    pub(crate) fn restore(&mut self, profile: Option<String>, tools: Vec<String>) {
        let first = || tools.into_iter().collect();
        self.0.entry(profile).or_insert_with(first);
    }

    /// Sets the ceiling of a profile that has none yet. Returns the record of it.
    pub(crate) fn set(&mut self, profile: Option<&str>, tools: &[String]) -> Option<Body> {
        let profile = profile.map(str::to_owned);
        if self.0.contains_key(&profile) {
            return None;
        }
        self.restore(profile.clone(), tools.to_vec());
        let tools = tools.to_vec();
        Some(Body::Delegation { profile, tools })
    }

    /// Whether a subagent of this profile may have a tool.
    pub(crate) fn permit(&self, profile: Option<&str>, tool: &str) -> bool {
        let own = profile.map(|profile| Some(profile.to_owned()));
        let mut all = [Some(None), own].into_iter().flatten();
        all.all(|of| self.0.get(&of).is_none_or(|tools| tools.contains(tool)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_first_delegation_is_the_most_of_all_later_ones() {
        let mut ceilings = Ceilings::default();
        assert!(ceilings.permit(Some("review"), "anything"));
        assert!(ceilings.set(None, &names(&["read", "write"])).is_some());
        assert!(ceilings.set(Some("review"), &names(&["read"])).is_some());
        assert_eq!(ceilings.set(None, &names(&["read", "bash"])), None);
        assert_eq!(
            ceilings.set(Some("review"), &names(&["read", "write"])),
            None
        );
        let permitted = |profile: Option<&str>| -> Vec<&str> {
            let all = ["read", "write", "bash"].into_iter();
            all.filter(|tool| ceilings.permit(profile, tool)).collect()
        };
        assert_eq!(permitted(None), ["read", "write"]);
        assert_eq!(permitted(Some("review")), ["read"]);
        assert_eq!(permitted(Some("other")), ["read", "write"]);
    }

    #[test]
    fn what_was_recorded_is_restored() {
        let mut ceilings = Ceilings::default();
        let records: Vec<_> = [(None, names(&["a", "b"])), (Some("p"), names(&["a"]))]
            .into_iter()
            .filter_map(|(profile, tools)| ceilings.set(profile, &tools))
            .collect();
        let mut restored = Ceilings::default();
        for record in records {
            if let Body::Delegation { profile, tools } = record {
                restored.restore(profile, tools);
            }
        }
        assert_eq!(restored, ceilings);
        restored.restore(Some("p".to_owned()), names(&["b"]));
        assert_eq!(restored, ceilings, "a second one widens nothing");
    }
}
