//! The limits of application-service, version 1 (spec: "Advertised limits"): each with its value and its meaning,
//! once for who publishes and who reads them.

host::limits! {
    /// What every server of version 1 publishes. A later one may publish more.
    pub struct Limits {
        max_record_bytes = 65_536, "Bytes of one line with its LF, both ways. A longer request is `record_too_large`, and the next line is served.";
        max_payload_bytes = 32_768, "Bytes of a payload as JSON without insignificant whitespace, both ways. Beyond it: `payload_too_large`.";
        max_error_message_bytes = 512, "Bytes of `error.message`.";
        max_id_bytes = 128, "Bytes of a request, session, turn or event id and of a list's or replay's `after`.";
        max_name_bytes = 64, "Bytes of a method, capability or event name.";
        max_string_bytes = 16_384, "Bytes of UTF-8 in one string or key, both ways, after escapes are undone. Beyond it: `limit_exceeded`.";
        max_json_depth = 32, "Objects and arrays that may be open at once, the record's own object included. Deeper is `limit_exceeded`.";
        max_array_items = 64, "Items of one array. Beyond it: `limit_exceeded`.";
        max_object_fields = 64, "Members of one object. Beyond it: `limit_exceeded`.";
        max_negotiation_items = 8, "Items of each list in the payload of `initialize`. What the answer advertises may be longer.";
        max_session_attachments = 16, "Sessions that one process holds at once, by `session.create`, by `session.open` or by a running turn. Beyond it: `limit_exceeded`.";
        max_session_page_items = 32, "Items of one page of `session.list` or `session.replay`: the largest and the default `limit`.";
        max_session_replay_page_bytes = 16_384, "Bytes of one replay page as JSON; the rest follows on the next page.";
        max_session_replay_window_bytes = 2_097_152, "Bytes at the end of a session's file that a replay reads. What is older is a `gap`.";
        max_session_list_scan_entries = 20_000, "Directory entries that one list looks at. Beyond it: `limit_exceeded`.";
        max_catalog_page_items = 32, "Items of one page of a catalog, where this build links one.";
    }
}
