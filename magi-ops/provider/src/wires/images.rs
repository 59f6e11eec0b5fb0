//! Which images of a conversation a model gets, what it reads in place of the others, and how they look as text.
//! Where a wire puts them is the wire's.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use media::Image;
use serde_json::Value;

use crate::message::Message;

/// Which images a model gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken<'a> {
    /// It takes images.
    pub(crate) any: bool,
    /// The longest one that its server takes, in bytes.
    pub(crate) most: Option<usize>,
    /// [`digest`]s of those that its server refused.
    pub(crate) refused: &'a BTreeSet<u64>,
}

#[cfg(test)]
impl Taken<'static> {
    pub(crate) const NONE: Self = Self {
        any: false,
        most: None,
        refused: &BTreeSet::new(),
    };
}

impl Taken<'_> {
    /// Why the model does not get an image.
    fn lacks(self, image: &Image) -> Option<&'static str> {
        if !self.any || self.most == Some(0) {
            Some("the model takes none")
        } else if self.most.is_some_and(|most| image.bytes().len() > most) {
            Some("the server takes none so long")
        } else if !self.refused.is_empty() && self.refused.contains(&digest(image)) {
            Some("the server refused a request with it")
        } else {
            None
        }
    }
}

/// Tells images apart within a process.
pub(crate) fn digest(image: &Image) -> u64 {
    let mut hasher = DefaultHasher::new();
    image.hash(&mut hasher);
    hasher.finish()
}

/// What a tool said and showed, as the model gets it: words stand for what it can't have.
pub(crate) fn shown<'a>(
    content: &'a str,
    images: &'a [Image],
    taken: Taken<'_>,
) -> (Cow<'a, str>, Vec<&'a Image>) {
    let mut given = Vec::new();
    let mut words = String::new();
    for image in images {
        match taken.lacks(image) {
            None => given.push(image),
            Some(why) => words += &format!("[image: {image}; {why}]\n"),
        }
    }
    if words.is_empty() {
        return (content.into(), given);
    }
    let mut content = content.to_owned();
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    (Cow::Owned(content + &words), given)
}

/// The images that a model gets of `messages`. Where the last response has some behind it, those: its server has answered
/// what it got before.
pub(crate) fn newest<'a>(messages: &'a [Message], taken: Taken<'_>) -> Vec<&'a Image> {
    let is_response = |message: &Message| matches!(message, Message::Assistant { .. });
    let answered = messages.iter().rposition(is_response).unwrap_or(0);
    let newest = given(&messages[answered..], taken);
    match newest.is_empty() {
        true => given(messages, taken),
        false => newest,
    }
}

/// The images that a model gets of `messages`.
pub(crate) fn given<'a>(messages: &'a [Message], taken: Taken<'_>) -> Vec<&'a Image> {
    let shown = messages.iter().filter_map(|message| match message {
        Message::ToolResult {
            images,
            is_error: false,
            ..
        } => Some(images),
        _ => None,
    });
    let images = shown.flatten();
    images
        .filter(|image| taken.lacks(image).is_none())
        .collect()
}

/// Those of `images` that stand at the place of the request's `body` which a refusal's words name, such as
/// `messages.2.content.0.image.source`: of that what the request has counts. All of them where the words name none.
pub(crate) fn meant<'a>(text: &str, body: &[u8], images: Vec<&'a Image>) -> Vec<&'a Image> {
    let mut words = text.split(|c: char| c.is_whitespace() || "\"'`,:".contains(c));
    let is_place = |word: &&str| {
        let roots = ["messages", "input", "contents"].into_iter();
        let mut behind = roots.filter_map(|root| word.strip_prefix(root));
        behind.any(|rest| rest.starts_with(['.', '[']))
    };
    let (Some(named), Ok(body)) = (words.find(is_place), serde_json::from_slice(body)) else {
        return images;
    };
    let mut place: &Value = &body;
    for part in named.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        match part.parse::<usize>() {
            Ok(index) => match place.get(index) {
                Some(item) => place = item,
                None => break,
            },
            Err(_) => place = place.get(part).unwrap_or(place),
        }
    }
    let place = place.to_string();
    let meant: Vec<_> = images
        .iter()
        .copied()
        .filter(|image| place.contains(&base64(image)))
        .collect();
    match meant.is_empty() {
        true => images,
        false => meant,
    }
}

/// An image's bytes as JSON has them.
pub(crate) fn base64(image: &Image) -> String {
    STANDARD.encode(image.bytes())
}

/// An image as an address.
pub(crate) fn data_url(image: &Image) -> String {
    let media_type = image.format().media_type();
    format!("data:{media_type};base64,{}", base64(image))
}
