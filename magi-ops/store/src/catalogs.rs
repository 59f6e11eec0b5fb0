//! Catalogs: what a provider's server said of its models, one small document a provider. What stands in one is known
//! above; here it is kept whole, or not at all.

use std::fmt::Debug;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::file;
use crate::local::LocalHome;
use crate::reason::Reason;

/// Most bytes of one document.
pub const MAX_CATALOG_BYTES: u64 = 16 * 1024 * 1024;

/// Longest name of a file that is made of a provider's id as it is, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Why a catalog can't be read or written. Names the file, never what stands there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CatalogError(Box<Reason>);

impl CatalogError {
    /// The same for people.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        *self.0
    }
}

/// Where catalogs are kept. Every call blocks.
pub trait CatalogStore: Debug + Send + Sync {
    /// The document of `provider`, at most [`MAX_CATALOG_BYTES`]; `None` if none was ever stored.
    ///
    /// # Errors
    /// When it can't be read, or is longer.
    fn catalog(&self, provider: &str) -> Result<Option<Vec<u8>>, CatalogError>;

    /// Puts a document of at most [`MAX_CATALOG_BYTES`] in the place of that of `provider`: whoever reads meanwhile gets the
    /// one or the other.
    ///
    /// # Errors
    /// When it is longer or can't be written; then nothing is changed.
    fn store_catalog(&self, provider: &str, document: &[u8]) -> Result<(), CatalogError>;
}

impl CatalogStore for LocalHome {
    fn catalog(&self, provider: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        file::read(&path(self, provider), MAX_CATALOG_BYTES).map_err(CatalogError)
    }

    fn store_catalog(&self, provider: &str, document: &[u8]) -> Result<(), CatalogError> {
        let path = path(self, provider);
        let unwritten = |error: &io::Error| {
            let reason = Reason::of_file(&path, format!("this cannot be written: {error}"));
            let help = "let your user write it, and what it lies in";
            CatalogError(Box::new(reason.help(help)))
        };
        if document.len() as u64 > MAX_CATALOG_BYTES {
            let too_long = format!("the list of models is longer than {MAX_CATALOG_BYTES} bytes");
            return Err(CatalogError(Box::new(Reason::of_file(&path, too_long))));
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.catalogs_dir())
            .and_then(|()| file::replace(&path, document, 0o600, self.staging()))
            .map_err(|error| unwritten(&error))
    }
}

/// Where the document of `provider` stands. An id is the person's word and may hold anything: what is no plain name is
/// written as a digest, which no other id has.
fn path(home: &LocalHome, provider: &str) -> PathBuf {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    let fits = (1..=MAX_NAME_BYTES).contains(&provider.len());
    // File systems that take capitals for small letters would make one file of two ids.
    let plain = fits && !provider.starts_with('.') && provider.bytes().all(is_plain);
    let name = match plain {
        true => format!("{provider}.json"),
        false => {
            let digest = Sha256::digest(provider.as_bytes());
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("provider:{hex}.json")
        }
    };
    home.catalogs_dir().join(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn home() -> (tempfile::TempDir, LocalHome) {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::create(&dir.path().join("home")).unwrap();
        (dir, home)
    }

    #[test]
    fn a_document_is_kept_for_its_owner_alone_and_read_again() {
        let (_dir, home) = home();
        assert_eq!(home.catalog("anthropic").unwrap(), None);
        for document in [&b"{}"[..], b"{\"a\":1}"] {
            home.store_catalog("anthropic", document).unwrap();
            assert_eq!(home.catalog("anthropic").unwrap().unwrap(), document);
        }
        let path = home.root().join("catalog/anthropic.json");
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&home.root().join("catalog")), 0o700);
    }

    #[test]
    fn no_id_leads_out_of_the_folder_or_to_the_document_of_another() {
        let (_dir, home) = home();
        let long = "x".repeat(256);
        let ids = ["a/b", "../auth", "..", ".", "", "A", "a", "a:b", &*long];
        for id in ids {
            home.store_catalog(id, id.as_bytes()).unwrap();
        }
        for id in ids {
            assert_eq!(home.catalog(id).unwrap().unwrap(), id.as_bytes());
        }
        let files = fs::read_dir(home.root().join("catalog")).unwrap();
        assert_eq!(files.count(), ids.len());
        assert!(!home.root().join("auth.json").exists());
    }

    #[test]
    fn what_is_too_long_or_no_file_is_an_error() {
        let (_dir, home) = home();
        let most = usize::try_from(MAX_CATALOG_BYTES).unwrap();
        home.store_catalog("p", &vec![b' '; most]).unwrap();
        assert!(home.store_catalog("p", &vec![b' '; most + 1]).is_err());
        assert_eq!(home.catalog("p").unwrap().unwrap().len(), most);
        let folder = home.root().join("catalog/q.json");
        fs::create_dir(&folder).unwrap();
        let error = home.catalog("q").unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
        assert!(home.store_catalog("q", b"{}").is_err());
    }
}
