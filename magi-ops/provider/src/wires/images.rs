//! Which images of a conversation a model gets, what it reads in place of the others, and how they look as text.
//! Where a wire puts them is the wire's.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use media::Image;

use crate::message::Message;

/// Which images a model gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// It takes images.
    pub(crate) any: bool,
    /// The longest one that its server takes, in bytes.
    pub(crate) most: Option<usize>,
}

impl Taken {
    fn takes(self, image: &Image) -> bool {
        self.any && self.most.is_none_or(|most| image.bytes().len() <= most)
    }
}

/// What a tool said and showed, as the model gets it: words stand for what it can't have.
pub(crate) fn shown<'a>(
    content: &'a str,
    images: &'a [Image],
    taken: Taken,
) -> (Cow<'a, str>, Vec<&'a Image>) {
    let (given, kept): (Vec<_>, Vec<_>) = images.iter().partition(|image| taken.takes(image));
    if kept.is_empty() {
        return (content.into(), given);
    }
    let mut content = content.to_owned();
    for image in kept {
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        let why = match taken.any && taken.most != Some(0) {
            true => "the server takes none so long",
            false => "the model takes none",
        };
        content += &format!("[image: {image}; {why}]\n");
    }
    (content.into(), given)
}

/// Length of the longest image that a model gets of `messages`.
pub(crate) fn longest(messages: &[Message], taken: Taken) -> Option<usize> {
    let shown = messages.iter().filter_map(|message| match message {
        Message::ToolResult {
            images,
            is_error: false,
            ..
        } => Some(images),
        _ => None,
    });
    let given = shown.flatten().filter(|image| taken.takes(image));
    given.map(|image| image.bytes().len()).max()
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
