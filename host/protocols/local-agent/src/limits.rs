//! The limits of local-agent, version 1: each with its value and its meaning, once for who publishes and who reads them.
//! No method is named here but where a limit is about it.

use schemars::JsonSchema;

use crate::words::NAME_BYTES;

host::limits! {
    /// What a server holds to. Bytes are UTF-8 bytes, time is milliseconds.
    #[derive(Copy, JsonSchema)]
    pub struct Limits {
        frame_bytes = 65_536, "Bytes of one line: of a request without its LF, of an output frame with it. A longer request is `frame_too_large`.";
        json_depth = 32, "Objects and arrays that may be open at once in a request, the frame's own object included. Deeper is `invalid_frame`.";
        id_bytes = NAME_BYTES, "Bytes of a request id, method, capability name, message id, revision or cursor. A longer id or method is `invalid_request`, a longer capability name or message id `invalid_params`; a longer session id is `session_invalid`, a longer revision or cursor `stale_revision`, like any other that was not issued.";
        prompt_bytes = 16_384, "Bytes of UTF-8 in a `prompt`. Beyond it: `invalid_params`.";
        history_page_bytes = 32_768, "Bytes of one `history.page` result as JSON; the rest follows on the next page.";
        history_page_entries = 100, "Entries of one `history.page`.";
        content_chunk_bytes = 16_384, "Bytes of UTF-8 in the `text` of one history entry; longer texts come in parts. Live events carry at most 4,000.";
        pending_responses = 32, "Output frames that may wait for the client to read them. One more ends the child with status 1.";
        requests_per_child = 4096, "Request ids that a child remembers. One more is `request_limit` and closes.";
        output_deadline_ms = 2000, "Milliseconds from the moment that an output frame waits to its last byte read; partial progress does not extend it. Beyond it the child ends with status 1.";
    }
}
