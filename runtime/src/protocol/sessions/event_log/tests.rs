use super::*;
use crate::host::Caller;
use crate::protocol::Buffers;
use futures_util::FutureExt as _;

fn message(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn read(reader: &mut Reader) -> Option<Option<String>> {
    let event = reader.next().now_or_never()?;
    Some(event.map(|event| String::from_utf8(event.message.unwrap().to_vec()).unwrap()))
}

/// A stream of a caller for whom `most` bytes are kept in all.
fn log_within(most: usize) -> (Arc<EventLog>, Arc<Buffers>) {
    let buffers = Buffers::new(most);
    (EventLog::new(1, buffers.share(&Caller::Stdio)), buffers)
}

fn log() -> Arc<EventLog> {
    log_within(64 << 20).0
}

fn large() -> Bytes {
    vec![b'x'; 1 << 20].into()
}

#[test]
fn what_was_never_read_is_bounded_too() {
    let (log, buffers) = log_within(256 << 20);
    (0..100).for_each(|_| assert!(log.push(large(), Weight::Question)));
    assert_eq!(log.bytes(), KEPT_BYTES);
    assert!(buffers.used() < KEPT_BYTES + (1 << 20));
    log.push(message("answer"), Weight::Answer);
    let mut reader = log.read_on();
    reader.after = 0;
    let all: Vec<_> = std::iter::from_fn(|| reader.next().now_or_never()?).collect();
    assert!(all.len() == 4 && all[3].message.as_deref() == Some(b"answer"));
    drop((all, reader, log));
    assert_eq!(buffers.used(), 0);
}

#[test]
fn streams_that_were_left_make_room_and_those_that_are_read_do_not() {
    let (left, buffers) = log_within(9 << 20);
    let share = buffers.share(&Caller::Stdio);
    let read = EventLog::new(2, share.clone());
    for log in [&left, &read] {
        log.push(large(), Weight::Question);
        log.push(large(), Weight::Question);
    }
    let reader = read.read_on();
    left.end();
    read.end();
    assert_eq!(buffers.used() >> 20, 4);
    let third = EventLog::new(3, share);
    third.push(large(), Weight::Question);
    assert_eq!((left.bytes(), read.bytes() >> 20, third.bytes() >> 20), (0, 2, 1));
    assert_eq!(left.read(0).err(), Some(Forgotten));
    drop(reader);
    third.push(large(), Weight::Question);
    third.push(large(), Weight::Question);
    assert_eq!((read.bytes(), third.bytes() >> 20), (0, 3), "its reader has gone meanwhile");
}

#[test]
fn a_stream_without_room_cuts_its_reader_off_and_goes_on() {
    let (log, buffers) = log_within(256 << 10);
    let held = buffers.share(&Caller::Stdio).hold(128 << 10);
    let mut reader = log.read_on();
    log.push(vec![b'x'; 128 << 10].into(), Weight::Notification);
    assert_eq!(read(&mut reader), None);
    assert!(!log.push(vec![b'x'; 128 << 10].into(), Weight::Question));
    assert_eq!(read(&mut reader), Some(None));
    drop(held);
    let mut reader = log.read_on();
    assert!(log.push(message("again"), Weight::Question));
    assert_eq!(read(&mut reader), Some(Some("again".into())));
}

#[test]
fn an_answer_without_room_is_replaced_by_an_error() {
    let (log, buffers) = log_within(64 << 10);
    let share = buffers.share(&Caller::Stdio);
    let _held: Vec<_> = std::iter::from_fn(|| share.hold(1 << 10)).collect();
    let mut reader = log.read_on();
    assert!(!log.push(message("answer"), Weight::Answer));
    assert_eq!(read(&mut reader), None);
    log.refuse(Some(&Id::Number(7)));
    assert!(read(&mut reader).unwrap().unwrap().starts_with(r#"{"jsonrpc":"2.0","id":7,"error":"#));
}

#[test]
fn a_reader_resumes_where_another_was_cut_off() {
    let log = EventLog::new(5, log().share.clone());
    for text in ["a", "b", "c"] {
        log.push(message(text), Weight::Notification);
    }
    let mut first = log.read(0).unwrap();
    assert_eq!(read(&mut first), Some(Some("a".into())));
    let (stream, event) = parse_id(&first.id()).unwrap();
    assert_eq!((stream, event), (5, 1));
    let mut second = log.read(event).unwrap();
    assert_eq!(read(&mut first), Some(None), "it was taken over");
    assert_eq!(read(&mut second), Some(Some("b".into())));
    assert_eq!(read(&mut second), Some(Some("c".into())));
    assert_eq!(read(&mut second), None);
    log.end();
    assert_eq!(read(&mut second), Some(None));
}

#[test]
fn without_a_reader_notifications_are_dropped_and_answers_are_not() {
    let log = log();
    for at in 0..2 * KEPT {
        log.push(message(&at.to_string()), Weight::Notification);
    }
    log.push(message("answer"), Weight::Answer);
    let mut reader = log.read(1).unwrap();
    for at in 1..KEPT {
        assert_eq!(read(&mut reader), Some(Some(at.to_string())));
    }
    assert_eq!(read(&mut reader), Some(Some("answer".into())));
}

#[test]
fn what_was_delivered_makes_room() {
    let log = log();
    let mut reader = log.read(0).unwrap();
    for at in 0..3 * KEPT {
        log.push(message(&at.to_string()), Weight::Notification);
        assert_eq!(read(&mut reader), Some(Some(at.to_string())));
    }
    assert_eq!(log.read(1).err(), Some(Forgotten));
    assert_eq!(log.read(u64::MAX).err(), Some(Forgotten));
    assert!(log.read(log.read_on().after - 5).is_ok());
}

#[test]
fn ids_that_we_did_not_make_are_refused() {
    for id in ["", "1", "-", "x-1", "1-x", "1-2-3"] {
        assert_eq!(parse_id(id), None, "{id}");
    }
}
