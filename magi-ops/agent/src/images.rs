//! The images of a conversation: how many are kept in memory, and the words that stand for one that isn't.
//! What a model takes of them is its wire's matter.

use provider::{Image, Message};

/// Most images of a conversation: of more, some servers want each much smaller.
const MAX_IMAGES: usize = 20;
/// Most bytes of them. As base64 they fit into a request of 32 MB, beside the text.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// A tool's result as a session's file keeps it. Images are not kept there: one of 5 MiB would be a twelfth of what a session
/// may have, and more than a replay shows at once; the tool shows it again.
pub(crate) fn in_words(mut content: String, images: &[Image]) -> String {
    for image in images {
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        content += &format!("[image: {image}; it is not kept, make the call again to see it]\n");
    }
    content
}

fn images(messages: &[Message]) -> impl Iterator<Item = &Image> {
    messages.iter().flat_map(|message| match message {
        Message::ToolResult { images, .. } => images.as_slice(),
        _ => &[],
    })
}

/// Whether a conversation has more than are kept.
pub(crate) fn exceed(messages: &[Message]) -> bool {
    let bytes: usize = images(messages).map(|image| image.bytes().len()).sum();
    bytes > MAX_BYTES || images(messages).count() > MAX_IMAGES
}

/// Puts words for the oldest images. Half of what may be kept stays: each step costs the server's cache, so there are few.
pub(crate) fn drop_old(messages: &mut [Message]) {
    let (mut count, mut bytes) = (0, 0);
    for message in messages.iter_mut().rev() {
        let Message::ToolResult {
            content, images, ..
        } = message
        else {
            continue;
        };
        let kept = images.iter().rev().take_while(|image| {
            count += 1;
            bytes += image.bytes().len();
            count <= MAX_IMAGES / 2 && bytes <= MAX_BYTES / 2
        });
        let dropped = images.len() - kept.count();
        let dropped: Vec<_> = images.drain(..dropped).collect();
        *content = in_words(std::mem::take(content), &dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(lengths: &[usize]) -> Message {
        let image = |length: &usize| {
            let mut bytes = b"GIF89a".to_vec();
            bytes.resize(*length, 0);
            Image::new(bytes)
        };
        Message::ToolResult {
            call_id: "c".into(),
            name: "read".into(),
            content: "shown".into(),
            images: lengths.iter().filter_map(image).collect(),
            is_error: false,
        }
    }

    /// How many images each result still has, and whether words stand for the others.
    fn after(results: &[&[usize]]) -> Vec<(usize, usize)> {
        let mut messages: Vec<_> = results.iter().map(|lengths| result(lengths)).collect();
        if exceed(&messages) {
            drop_old(&mut messages);
        }
        let left = messages.iter().map(|message| match message {
            Message::ToolResult {
                content, images, ..
            } => (images.len(), content.matches("[image: image/gif").count()),
            _ => (0, 0),
        });
        left.collect()
    }

    #[test]
    fn the_newest_images_are_kept_in_coarse_steps() {
        const MB5: usize = 5 * 1024 * 1024;
        assert_eq!(after(&[&[10], &[20, 30]]), [(1, 0), (2, 0)]);
        assert_eq!(
            after(&[&[10; 8], &[10; 9], &[10; 4]]),
            [(0, 8), (6, 3), (4, 0)]
        );
        let kept = after(&[&[MB5], &[MB5], &[MB5], &[MB5]]);
        assert_eq!(kept, [(1, 0); 4]);
        let kept = after(&[&[10], &[MB5], &[MB5], &[MB5], &[MB5]]);
        assert_eq!(kept, [(0, 1), (0, 1), (0, 1), (1, 0), (1, 0)]);
    }
}
