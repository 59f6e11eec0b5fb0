//! Which images of a conversation a model gets, what it reads in place of the others, and how they look as text.
//! Where a wire puts them is the wire's.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use media::Image;

use super::failure_kind::says_any;
use super::quirks::Quirks;
use super::wire::Parameters;
use crate::message::Message;

/// A limit below this counts as none: it is not the length that the server minds.
const LEAST_LIMIT: usize = 64 * 1024;

/// Whether a server that takes images of this kind at all takes one so long.
fn fits(image: &Image, quirks: &Quirks) -> bool {
    let most = quirks.max_image_bytes;
    most.is_none_or(|most| image.bytes().len() <= most)
}

/// What a tool said and showed, as the model gets it: words stand for what it can't have. `takes`: the model takes images.
pub(crate) fn shown<'a>(
    content: &'a str,
    images: &'a [Image],
    takes: bool,
    quirks: &Quirks,
) -> (Cow<'a, str>, Vec<&'a Image>) {
    let (given, kept): (Vec<_>, Vec<_>) = images
        .iter()
        .partition(|image| takes && fits(image, quirks));
    if kept.is_empty() {
        return (content.into(), given);
    }
    let mut content = content.to_owned();
    for image in kept {
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        let why = match takes && quirks.max_image_bytes != Some(0) {
            true => "the server takes none so long",
            false => "the model takes none",
        };
        content += &format!("[image: {image}; {why}]\n");
    }
    (content.into(), given)
}

/// Length of the longest image that a model gets of `messages`.
pub(crate) fn longest(messages: &[Message], parameters: &Parameters<'_>) -> Option<usize> {
    let shown = messages.iter().filter_map(|message| match message {
        Message::ToolResult {
            images,
            is_error: false,
            ..
        } => Some(images),
        _ => None,
    });
    let shown = shown
        .flatten()
        .filter(|image| fits(image, &parameters.quirks));
    let longest = shown.map(|image| image.bytes().len()).max();
    longest.filter(|_| parameters.images)
}

/// The longest image that a server takes, by its refusal of a request whose longest was of `sent` bytes; `None` if the
/// refusal is about something else. `text` is in lower case.
pub(crate) fn limit(status: Option<u16>, text: &str, sent: usize) -> Option<usize> {
    // Some servers call it their own failure.
    if !matches!(status, Some(400 | 404 | 413 | 415 | 422 | 500 | 501)) {
        return None;
    }
    let about = ["image", "vision", "multimodal", "multi-modal", "mmproj"];
    // Images follow the results as the person's message, which not every server takes there.
    let order = says_any(text, &["role"]) && says_any(text, &["after", "order", "alternat"]);
    let size = [
        "exceed",
        "too large",
        "too big",
        "too long",
        "maximum",
        "max ",
    ];
    let too_long = status == Some(413) || says_any(text, &size);
    if too_long && (status == Some(413) || says_any(text, &about)) {
        // The encoded length counts with some: three quarters of that.
        return Some(sent / 4 * 3)
            .filter(|most| *most > LEAST_LIMIT)
            .or(Some(0));
    }
    (order || says_any(text, &about)).then_some(0)
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
