//! What tools may do, merged over the person's and the project's words: nothing of a project's loosens what the
//! person denies, and an untrusted project only makes things stricter. Matching commands happens elsewhere.

use std::collections::BTreeMap;

use super::layer::{COMMANDS, Permission, PermissionLayer, Permissions, RulesLayer, SNIPPETS};
use super::project::Ignored;

/// Most rules of one list.
pub const MAX_RULES: usize = 256;
/// Longest rule, in bytes.
pub const MAX_RULE_BYTES: usize = 1024;

/// What command lines may run (decisions: "Rules for commands").
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandRules {
    /// What holds for a line that no rule decides.
    pub default: Permission,
    /// Leading words of simple commands that run without a question.
    pub allow: Vec<String>,
    /// Leading words of simple commands that never run, whatever `allow` and `default` say.
    pub deny: Vec<String>,
}

impl CommandRules {
    /// The word where single rules are not looked at: `Deny` only where no line can run.
    fn word(&self) -> Permission {
        match (self.allow.is_empty(), self.deny.is_empty()) {
            (true, true) => self.default,
            (true, false) => self.default.min(Permission::Ask),
            (false, _) => Permission::Ask,
        }
    }
}

/// The merged effect of all layers.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// By tool; for [`COMMANDS`] only whether anything was said.
    pub(super) words: BTreeMap<String, Permission>,
    /// By tool, inside snippets.
    pub(super) code: BTreeMap<String, Permission>,
    default: Option<Permission>,
    allow: Vec<String>,
    deny: Vec<String>,
}

const LAXER: &str = "a project that is not trusted can only make permissions stricter";
const DENIED: &str = "a project cannot loosen what the global settings deny";

impl Merged {
    /// The words of the person, of whom the later ones count.
    pub(super) fn person(&mut self, layer: Permissions) {
        for (tool, permission) in layer.0 {
            match permission {
                PermissionLayer::Word(word) if tool == COMMANDS => {
                    self.rules(RulesLayer {
                        default: Some(word),
                        ..RulesLayer::default()
                    });
                    if word == Permission::Deny {
                        self.allow.clear();
                    }
                }
                PermissionLayer::Word(word) => drop(self.words.insert(tool, word)),
                PermissionLayer::Rules(rules) => self.rules(rules),
                PermissionLayer::Tools(words) => self.code.extend(words),
            }
        }
    }

    fn rules(&mut self, rules: RulesLayer) {
        self.default = rules.default.or(self.default);
        add(&mut self.allow, rules.allow);
        add(&mut self.deny, rules.deny);
    }

    /// The words of the project's file.
    pub(super) fn project(&mut self, layer: Permissions, trusted: bool) -> Vec<Ignored> {
        let mut ignored = Vec::new();
        let mut tell = |names: &[&str], counts: Result<(), &'static str>| {
            let path = [&["permissions"], names].concat();
            ignored.extend(counts.err().map(|why| match why {
                LAXER => Ignored::untrusted(&path, why),
                _ => Ignored::new(&path, why),
            }));
        };
        let mut snippets = BTreeMap::new();
        for (tool, permission) in layer.0 {
            match permission {
                PermissionLayer::Word(word) if tool == COMMANDS => {
                    tell(&[&tool], self.project_default(word, trusted));
                }
                PermissionLayer::Word(word) => {
                    self.bind_snippets(&tool, word);
                    let counts = counts(self.words.get(&tool).copied(), word, trusted);
                    tell(&[&tool], counts);
                    if counts.is_ok() {
                        self.words.insert(tool, word);
                    }
                }
                PermissionLayer::Rules(rules) => {
                    // Asked before the project's own default is taken: that one denies only what its rules leave.
                    let denied = self.default == Some(Permission::Deny);
                    if let Some(word) = rules.default {
                        tell(&[&tool, "default"], self.project_default(word, trusted));
                    }
                    match (rules.allow.is_empty(), trusted, denied) {
                        (true, ..) => {}
                        (_, false, _) => tell(&[&tool, "allow"], Err(LAXER)),
                        (.., true) => tell(&[&tool, "allow"], Err(DENIED)),
                        _ => add(&mut self.allow, rules.allow),
                    }
                    add(&mut self.deny, rules.deny);
                }
                PermissionLayer::Tools(words) => snippets = words,
            }
        }
        // Behind the words for tools: those hold inside snippets too unless something else is said there.
        for (tool, word) in snippets {
            let outside = match tool.as_str() {
                COMMANDS => self.default,
                _ => self.words.get(&tool).copied(),
            };
            let known = self.code.get(&tool).copied().or(outside);
            let counts = counts(known, word, trusted);
            tell(&[SNIPPETS, &tool], counts);
            if counts.is_ok() {
                self.code.insert(tool, word);
            }
        }
        ignored
    }

    /// What the person lets snippets do is laxer than a project's stricter word for the tool, which holds there too.
    fn bind_snippets(&mut self, tool: &str, word: Permission) {
        if let Some(inside) = self.code.get_mut(tool) {
            *inside = word.min(*inside);
        }
    }

    fn project_default(&mut self, word: Permission, trusted: bool) -> Result<(), &'static str> {
        // What the person allows by rules is laxer than a project's `ask` or `deny` for all lines.
        if word < Permission::Allow {
            self.allow.clear();
        }
        self.bind_snippets(COMMANDS, word);
        counts(self.default, word, trusted)?;
        self.default = Some(word);
        Ok(())
    }

    /// The rules for commands, and the words for tools with theirs.
    pub(super) fn rules_and_words(&mut self) -> (CommandRules, BTreeMap<String, Permission>) {
        let said = self.default.is_some() || !self.allow.is_empty() || !self.deny.is_empty();
        let rules = CommandRules {
            default: self.default.unwrap_or_default(),
            allow: std::mem::take(&mut self.allow),
            deny: std::mem::take(&mut self.deny),
        };
        let mut words = std::mem::take(&mut self.words);
        if said {
            words.insert(COMMANDS.to_owned(), rules.word());
        }
        (rules, words)
    }
}

/// Whether a project's word counts over what is `known`; `None` is the tool's own default, which no `ask` and
/// no `deny` loosens.
fn counts(known: Option<Permission>, word: Permission, trusted: bool) -> Result<(), &'static str> {
    match known {
        Some(Permission::Deny) if word > Permission::Deny => Err(DENIED),
        _ if trusted => Ok(()),
        Some(known) if word > known => Err(LAXER),
        None if word == Permission::Allow => Err(LAXER),
        _ => Ok(()),
    }
}

fn add(rules: &mut Vec<String>, more: Vec<String>) {
    for rule in more {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn layer(json: &str) -> Permissions {
        let mut tree = crate::settings::tree::parse(json).unwrap();
        let (read, findings) = crate::settings::read::read(&mut tree);
        assert_eq!(findings, []);
        read.unwrap()
    }

    type Effect = (CommandRules, Vec<(String, Permission)>, Vec<String>);

    /// The effect of a person's layers and a project's, and the keys that don't count.
    fn merged(person: &[&str], project: &str, trusted: bool) -> Effect {
        let mut merged = Merged::default();
        for json in person {
            merged.person(layer(json));
        }
        let ignored = merged.project(layer(project), trusted);
        let (rules, mut words) = merged.rules_and_words();
        words.remove(COMMANDS);
        let code = merged.code.into_iter();
        let code = code.map(|(tool, word)| (format!("code.{tool}"), word));
        let keys = ignored
            .iter()
            .map(|ignored| ignored.path[1..].join("."))
            .collect();
        (rules, words.into_iter().chain(code).collect(), keys)
    }

    fn rules(default: Permission, allow: &[&str], deny: &[&str]) -> CommandRules {
        let own = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect();
        CommandRules {
            default,
            allow: own(allow),
            deny: own(deny),
        }
    }

    #[test]
    fn an_untrusted_project_only_makes_things_stricter() {
        use Permission::{Ask, Deny};
        for (person, project, bash, words, ignored) in [
            ("{}", r#"{"bash":"allow"}"#, Ask, None, vec!["bash"]),
            ("{}", r#"{"write":"allow"}"#, Ask, None, vec!["write"]),
            (
                "{}",
                r#"{"write":"ask"}"#,
                Ask,
                Some(("write", Ask)),
                vec![],
            ),
            (
                r#"{"bash":"allow"}"#,
                r#"{"bash":"ask"}"#,
                Ask,
                None,
                vec![],
            ),
            (
                r#"{"bash":"allow"}"#,
                r#"{"bash":"deny"}"#,
                Deny,
                None,
                vec![],
            ),
            (
                r#"{"bash":"deny"}"#,
                r#"{"bash":"ask"}"#,
                Deny,
                None,
                vec!["bash"],
            ),
            (
                r#"{"read":"deny"}"#,
                r#"{"read":"ask"}"#,
                Ask,
                Some(("read", Deny)),
                vec!["read"],
            ),
            (
                r#"{"read":"allow"}"#,
                r#"{"read":"ask"}"#,
                Ask,
                Some(("read", Ask)),
                vec![],
            ),
            (
                "{}",
                r#"{"bash":{"default":"allow","allow":["ls"]}}"#,
                Ask,
                None,
                vec!["bash.default", "bash.allow"],
            ),
            (
                r#"{"bash":"deny"}"#,
                r#"{"code":{"bash":"ask"}}"#,
                Deny,
                None,
                vec!["code.bash"],
            ),
            (
                "{}",
                r#"{"code":{"write":"deny"}}"#,
                Ask,
                Some(("code.write", Deny)),
                vec![],
            ),
            // What the person lets snippets do is bound by the project's word for the tool.
            (
                r#"{"code":{"bash":"allow"}}"#,
                r#"{"bash":"deny"}"#,
                Deny,
                Some(("code.bash", Deny)),
                vec![],
            ),
            (
                r#"{"code":{"bash":"allow"}}"#,
                r#"{"bash":{"default":"ask"}}"#,
                Ask,
                Some(("code.bash", Ask)),
                vec![],
            ),
            (
                "{}",
                r#"{"code":{"bash":"allow"}}"#,
                Ask,
                None,
                vec!["code.bash"],
            ),
        ] {
            let (found, said, keys) = merged(&[person], project, false);
            let said: Vec<_> = said
                .iter()
                .map(|(tool, word)| (tool.as_str(), *word))
                .collect();
            assert_eq!(found.default, bash, "{person} {project}");
            assert_eq!(said, Vec::from_iter(words), "{person} {project}");
            assert_eq!(keys, ignored, "{person} {project}");
        }
    }

    #[test]
    fn a_trusted_project_counts_and_loosens_no_denial() {
        use Permission::{Allow, Ask, Deny};
        let (found, words, ignored) = merged(
            &[r#"{"bash":{"deny":["git push"]},"write":"deny","edit":"ask"}"#],
            r#"{"bash":{"default":"allow","allow":["ls"],"deny":["rm"]},"write":"allow","edit":"allow"}"#,
            true,
        );
        assert_eq!(found, rules(Allow, &["ls"], &["git push", "rm"]));
        assert_eq!(
            words,
            [("edit".to_owned(), Allow), ("write".to_owned(), Deny)]
        );
        assert_eq!(ignored, ["write"]);
        for person in [
            r#"{"bash":"deny"}"#,
            r#"{"bash":{"default":"deny","allow":["ls"]}}"#,
        ] {
            let project = r#"{"bash":{"default":"ask","allow":["rm"]}}"#;
            let (found, _, ignored) = merged(&[person], project, true);
            assert_eq!(found.default, Deny);
            assert!(!found.allow.contains(&"rm".to_owned()));
            assert_eq!(ignored, ["bash.default", "bash.allow"]);
        }
        let (found, ..) = merged(&["{}"], r#"{"bash":{"allow":["ls"]}}"#, true);
        assert_eq!(found, rules(Ask, &["ls"], &[]));
    }

    #[test]
    fn a_projects_stricter_default_beats_the_persons_allowed_commands() {
        use Permission::{Allow, Ask, Deny};
        for person in [
            r#"{"bash":{"default":"allow","allow":["ls"]}}"#,
            r#"{"bash":{"allow":["ls"]}}"#,
        ] {
            for trusted in [false, true] {
                for (project, default) in [
                    (r#"{"bash":"ask"}"#, Ask),
                    (r#"{"bash":"deny"}"#, Deny),
                    (r#"{"bash":{"default":"ask"}}"#, Ask),
                    (r#"{"bash":{"default":"deny"}}"#, Deny),
                ] {
                    let (found, ..) = merged(&[person], project, trusted);
                    assert_eq!(found, rules(default, &[], &[]), "{person} {project}");
                }
                let (found, ..) = merged(&[person], r#"{"bash":{"deny":["rm"]}}"#, trusted);
                assert_eq!(found.allow, ["ls"]);
            }
            let project = r#"{"bash":{"default":"ask","allow":["cat"]}}"#;
            let (found, ..) = merged(&[person], project, true);
            assert_eq!(found, rules(Ask, &["cat"], &[]));
        }
        let (found, ..) = merged(
            &[r#"{"bash":{"allow":["ls"]}}"#],
            r#"{"bash":"allow"}"#,
            true,
        );
        assert_eq!(found, rules(Allow, &["ls"], &[]));
    }

    #[test]
    fn a_persons_own_layers_add_their_rules() {
        use Permission::{Allow, Ask, Deny};
        let global = r#"{"bash":{"default":"deny","allow":["a"],"deny":["x"]}}"#;
        let (found, ..) = merged(&[global, r#"{"bash":{"allow":["b","a"]}}"#], "{}", false);
        assert_eq!(found, rules(Deny, &["a", "b"], &["x"]));
        let (found, ..) = merged(&[global, r#"{"bash":"allow"}"#], "{}", false);
        assert_eq!(found, rules(Allow, &["a"], &["x"]));
        let (found, ..) = merged(&[global, r#"{"bash":"deny"}"#], "{}", false);
        assert_eq!(found, rules(Deny, &[], &["x"]));
        // What a project denies stays denied.
        let (found, ..) = merged(
            &[r#"{"bash":"allow"}"#],
            r#"{"bash":{"deny":["y"]}}"#,
            false,
        );
        assert_eq!(found, rules(Allow, &[], &["y"]));
        let (found, ..) = merged(&["{}"], "{}", false);
        assert_eq!(found, CommandRules::default());
        assert_eq!(found.default, Ask);
    }

    #[test]
    fn the_word_for_commands_denies_only_where_nothing_can_run() {
        use Permission::{Allow, Ask, Deny};
        for (rules, word) in [
            (rules(Deny, &[], &[]), Deny),
            (rules(Deny, &["ls"], &[]), Ask),
            (rules(Deny, &[], &["ls"]), Deny),
            (rules(Allow, &[], &["ls"]), Ask),
            (rules(Allow, &[], &[]), Allow),
        ] {
            assert_eq!(rules.word(), word, "{rules:?}");
        }
    }
}
