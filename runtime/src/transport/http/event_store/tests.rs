use super::*;
use crate::call_env::Caller;
use crate::mcp::BufferBudget;
use futures_util::FutureExt as _;

fn message(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn read(reader: &mut EventReader) -> Option<Option<String>> {
    let event = reader.next_if(|| true).now_or_never()?;
    Some(event.map(|event| String::from_utf8(event.message.unwrap().to_vec()).unwrap()))
}

/// Makes the store of a caller, and the budget of `capacity` bytes against which its events count.
fn store_within(capacity: usize) -> (Arc<EventStore>, Arc<BufferBudget>) {
    let buffers = BufferBudget::new(capacity);
    (EventStore::new(1, buffers.share(&Caller::Stdio)), buffers)
}

fn store() -> Arc<EventStore> {
    store_within(64 << 20).0
}

fn large() -> Bytes {
    vec![b'x'; 1 << 20].into()
}

#[test]
fn what_was_never_read_is_bounded_too() {
    let (store, buffers) = store_within(256 << 20);
    (0..100).for_each(|_| assert!(store.push(large(), EventPriority::ClientRequest)));
    assert_eq!(store.bytes(), MAX_BYTES);
    assert!(buffers.used() < MAX_BYTES + (1 << 20));
    store.push(message("answer"), EventPriority::Response);
    let mut reader = store.read_new();
    reader.after = 0;
    let all: Vec<_> = std::iter::from_fn(|| reader.next_if(|| true).now_or_never()?).collect();
    assert!(all.len() == 4 && all[3].message.as_deref() == Some(b"answer"));
    drop((all, reader, store));
    assert_eq!(buffers.used(), 0);
}

#[test]
fn streams_that_were_left_make_room_and_those_that_are_read_do_not() {
    let (left, buffers) = store_within(9 << 20);
    let share = buffers.share(&Caller::Stdio);
    let read = EventStore::new(2, share.clone());
    for store in [&left, &read] {
        store.push(large(), EventPriority::ClientRequest);
        store.push(large(), EventPriority::ClientRequest);
    }
    let reader = read.read_new();
    left.end();
    read.end();
    assert_eq!(buffers.used() >> 20, 4);
    let third = EventStore::new(3, share);
    third.push(large(), EventPriority::ClientRequest);
    assert_eq!((left.bytes(), read.bytes() >> 20, third.bytes() >> 20), (0, 2, 1));
    assert_eq!(left.read_after(0).err(), Some(EventGone));
    drop(reader);
    third.push(large(), EventPriority::ClientRequest);
    third.push(large(), EventPriority::ClientRequest);
    assert_eq!((read.bytes(), third.bytes() >> 20), (0, 3), "its reader has gone meanwhile");
}

#[test]
fn a_stream_without_room_cuts_its_reader_off_and_goes_on() {
    let (store, buffers) = store_within(256 << 10);
    let reservation = buffers.share(&Caller::Stdio).reserve(128 << 10);
    let mut reader = store.read_new();
    store.push(vec![b'x'; 128 << 10].into(), EventPriority::Notification);
    assert_eq!(read(&mut reader), None);
    assert!(!store.push(vec![b'x'; 128 << 10].into(), EventPriority::ClientRequest));
    assert_eq!(read(&mut reader), Some(None));
    drop(reservation);
    let mut reader = store.read_new();
    assert!(store.push(message("again"), EventPriority::ClientRequest));
    assert_eq!(read(&mut reader), Some(Some("again".into())));
}

#[test]
fn an_answer_without_room_is_replaced_by_an_error() {
    let (store, buffers) = store_within(64 << 10);
    let share = buffers.share(&Caller::Stdio);
    let _reservation: Vec<_> = std::iter::from_fn(|| share.reserve(1 << 10)).collect();
    let mut reader = store.read_new();
    assert!(!store.push(message("answer"), EventPriority::Response));
    assert_eq!(read(&mut reader), None);
    store.push_error(Some(&RequestId::Number(7)));
    assert!(read(&mut reader).unwrap().unwrap().starts_with(r#"{"jsonrpc":"2.0","id":7,"error":"#));
}

#[test]
fn a_reader_resumes_where_another_was_cut_off() {
    let store = EventStore::new(5, store().share.clone());
    for text in ["a", "b", "c"] {
        store.push(message(text), EventPriority::Notification);
    }
    let mut first = store.read_after(0).unwrap();
    assert_eq!(read(&mut first), Some(Some("a".into())));
    let (stream, event) = parse_id(&first.id()).unwrap();
    assert_eq!((stream, event), (5, 1));
    let mut second = store.read_after(event).unwrap();
    assert_eq!(read(&mut first), Some(None), "it was taken over");
    assert_eq!(read(&mut second), Some(Some("b".into())));
    assert_eq!(read(&mut second), Some(Some("c".into())));
    assert_eq!(read(&mut second), None);
    store.end();
    assert_eq!(read(&mut second), Some(None));
}

#[test]
fn without_a_reader_notifications_are_dropped_and_answers_are_not() {
    let store = store();
    for at in 0..2 * MAX_EVENTS {
        store.push(message(&at.to_string()), EventPriority::Notification);
    }
    store.push(message("answer"), EventPriority::Response);
    let mut reader = store.read_after(1).unwrap();
    for at in 1..MAX_EVENTS {
        assert_eq!(read(&mut reader), Some(Some(at.to_string())));
    }
    assert_eq!(read(&mut reader), Some(Some("answer".into())));
}

#[test]
fn what_was_delivered_makes_room() {
    let store = store();
    let mut reader = store.read_after(0).unwrap();
    for at in 0..3 * MAX_EVENTS {
        store.push(message(&at.to_string()), EventPriority::Notification);
        assert_eq!(read(&mut reader), Some(Some(at.to_string())));
    }
    assert_eq!(store.read_after(1).err(), Some(EventGone));
    assert_eq!(store.read_after(u64::MAX).err(), Some(EventGone));
    assert!(store.read_after(store.read_new().after - 5).is_ok());
}

#[test]
fn ids_that_we_did_not_make_are_rejected() {
    for id in ["", "1", "-", "x-1", "1-x", "1-2-3"] {
        assert_eq!(parse_id(id), None, "{id}");
    }
}
