//! An image as a tool finds it and a model takes it: its kind by its first bytes, its bound, its shared bytes.
//! No file is opened here and no pixel is looked at; how a wire writes one is the wire's.

use std::fmt;
use std::sync::Arc;

/// Most bytes of one image.
pub const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// The kinds of images that models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    /// The kind that a file's first bytes say; twelve are enough. Its name and what a server calls it don't count.
    #[must_use]
    pub fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }

    /// As `content-type` has it.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// An image of a known kind, at most [`MAX_IMAGE_BYTES`] long. Clones share its bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Image {
    format: Format,
    bytes: Arc<[u8]>,
}

impl Image {
    /// `None` for what is of no known kind or too long.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Option<Self> {
        let bytes = bytes.into();
        let format = Format::of(&bytes).filter(|_| bytes.len() <= MAX_IMAGE_BYTES)?;
        Some(Self { format, bytes })
    }

    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// As they were found, undecoded.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Image {
    /// Without its bytes: megabytes in a log help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What stands in an image's place where it can't be: its kind and its length.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, bytes) = (self.format.media_type(), self.bytes.len());
        write!(f, "{kind}, {bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_its_first_bytes_say() {
        for (start, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a\x01", Some("image/gif")),
            (b"GIF87a\x01", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"\x89PNG", None),
            (b"GIF88a", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            let found = Image::new(start).map(|image| image.format().media_type());
            assert_eq!(found, kind, "{start:?}");
        }
    }

    #[test]
    fn one_byte_more_than_the_bound_is_too_long() {
        let mut bytes = b"GIF89a".to_vec();
        bytes.resize(MAX_IMAGE_BYTES, 0);
        assert!(Image::new(bytes.clone()).is_some());
        bytes.push(0);
        assert!(Image::new(bytes).is_none());
    }

    #[test]
    fn an_image_in_words_is_its_kind_and_length() {
        let words = Image::new(&b"GIF89a"[..]).map(|image| image.to_string());
        assert_eq!(words.as_deref(), Some("image/gif, 6 bytes"));
    }
}
