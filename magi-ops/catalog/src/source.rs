//! The provider whose models are meant, and what tells its configuration from another one.
//! How it is asked is no matter of this file.

use provider::ProviderConfig;
use sha2::{Digest, Sha256};

/// A provider as it is configured now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What its settings say of models counts before what its server said.
    pub config: ProviderConfig,
    /// The variable that holds its key: another key may see other models. Never its value.
    pub key_variable: Option<String>,
}

impl Source {
    /// 64 hex digits that are equal for configurations that ask the same server in the same way.
    pub(crate) fn fingerprint(&self) -> String {
        let ProviderConfig {
            id, api, base_url, ..
        } = &self.config;
        let mut digest = Sha256::new();
        // Each with its length, so that no two different ones are one text.
        let api = format!("{api:?}");
        for part in [
            Some(id),
            Some(&api),
            base_url.as_ref(),
            self.key_variable.as_ref(),
        ] {
            match part {
                Some(part) => {
                    digest.update((part.len() as u64 + 1).to_be_bytes());
                    digest.update(part);
                }
                None => digest.update(0_u64.to_be_bytes()),
            }
        }
        digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use provider::{Api, ModelLimits, ModelSettings};

    #[test]
    fn what_asks_another_server_has_another_fingerprint() {
        let source = |id: &str, api, url: Option<&str>, key: Option<&str>| Source {
            config: ProviderConfig {
                id: id.to_owned(),
                api,
                base_url: url.map(str::to_owned),
                models: ModelLimits::default(),
            },
            key_variable: key.map(str::to_owned),
        };
        let all = [
            source("a", Api::OpenaiChat, None, None),
            source("b", Api::OpenaiChat, None, None),
            source("a", Api::Ollama, None, None),
            source("a", Api::OpenaiChat, Some(""), None),
            source("a", Api::OpenaiChat, Some("k"), None),
            source("a", Api::OpenaiChat, None, Some("k")),
            source("a", Api::OpenaiChat, Some("k"), Some("k")),
        ];
        let prints: std::collections::BTreeSet<_> = all.iter().map(Source::fingerprint).collect();
        assert_eq!(prints.len(), all.len());
        // What is said of models changes nothing.
        let mut other = all[0].clone();
        other.config.models.models.push(ModelSettings::from("m"));
        assert_eq!(other.fingerprint(), all[0].fingerprint());
    }
}
