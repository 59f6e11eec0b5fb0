//! Giving memory back to the system when a long conversation is let go.
//! What is kept, and for how long, is decided elsewhere.

use provider::Message;

/// From how many bytes on a conversation is long: below that, what the allocator keeps is used again soon.
const LONG_BYTES: usize = 1024 * 1024;

/// Frees a conversation. Blocks for some milliseconds when it is long.
///
/// Its texts are small pieces, and others were allocated between them: the C library finds no whole page at the end of its
/// heaps and would keep all of it for as long as the process lives. Asked for it, it gives back every free page.
pub(crate) fn free(messages: Vec<Message>) {
    let bytes: usize = messages.iter().map(message_bytes).sum();
    drop(messages);
    if bytes >= LONG_BYTES {
        give_back();
        tracing::debug!(bytes, "a long conversation was freed");
    }
}

/// Bytes of a message's text and images.
pub(crate) fn message_bytes(message: &Message) -> usize {
    match message {
        Message::Summary { text, .. }
        | Message::User { text, .. }
        | Message::Assistant { text, .. } => text.len(),
        Message::ToolResult {
            content, images, ..
        } => images
            .iter()
            .fold(content.len(), |sum, image| sum + image.bytes().len()),
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn give_back() {
    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> i32;
    }
    // SAFETY: of the C library since 1996, takes a number, holds its own locks, and touches free memory only.
    unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_conversations_are_freed() {
        for count in [0, 1, 3] {
            let text = "x".repeat(LONG_BYTES / 2);
            free(vec![Message::User { text }; count]);
        }
    }
}
