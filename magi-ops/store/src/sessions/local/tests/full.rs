//! Tests of a session that is full: what could not be read again is not written.
//! That it goes on in another part is tested in `parts`.

use super::*;

#[test]
fn nothing_is_appended_that_could_not_be_read_again() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    let most = "x".repeat(MAX_READ_BYTES as usize / 2);
    append(&mut *writer, &most).unwrap();
    assert!(matches!(
        append(&mut *writer, &most),
        Err(AppendError::Full)
    ));
    // Not a failure of the file: what fits is still taken.
    append(&mut *writer, "end").unwrap();
    drop(writer);
    assert_eq!(open(&place, &id).unwrap().1.len(), 2);

    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    let body = || Body::Diagnostic {
        code: "c".into(),
        summary: String::new(),
    };
    let many = |count: usize| (0..count).map(|_| body()).collect();
    writer
        .append(None, many(MAX_READ_LINES), Flush::Written)
        .unwrap();
    let beyond = writer.append(None, many(1), Flush::Written);
    assert!(matches!(beyond, Err(AppendError::Full)));
    drop(writer);
    assert_eq!(open(&place, &id).unwrap().1.len(), MAX_READ_LINES);
}
