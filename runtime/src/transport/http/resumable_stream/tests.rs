use futures_util::FutureExt as _;

use super::*;
use crate::access::policy::Policy;
use crate::access::{AuthenticatedCaller, Principal, PrincipalKind};
use crate::catalog::{Catalog, Snapshot};
use crate::config::{ItemPattern, RoleConfig, RolesConfig, Rule, ServerConfig, WhoPattern};
use crate::mcp::Session;

const UPDATED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
const LIST_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}"#;

/// The same principal with a token of these groups.
fn token(groups: &[&str]) -> Caller {
    let principal = Principal {
        id: "token:ada".into(),
        kind: PrincipalKind::Token,
        issuer: None,
        subject: "ada".into(),
        client: None,
        scopes: Vec::new(),
        groups: groups.iter().map(|group| (*group).into()).collect(),
        is_dpop_bound: false,
        expires: None,
    };
    Caller::Principal(AuthenticatedCaller { principal: Arc::new(principal), address: None })
}

/// A role for the members of a group, which allows everything.
fn role(group: &str) -> RoleConfig {
    let who = Rule { value: WhoPattern::Group(group.into()), text: group.into(), line: 1 };
    let allow = Rule { value: ItemPattern::Everything, text: "*".into(), line: 2 };
    RoleConfig { name: group.to_owned(), who: vec![who], allow: vec![allow], ..RoleConfig::default() }
}

fn set_roles(catalog: &Catalog, groups: &[&str]) {
    let roles = groups.iter().map(|group| role(group)).collect();
    catalog.set_policy(Arc::new(Policy::new(&RolesConfig { roles })));
}

/// A server without plugins, which has a role for each of these groups.
fn server(groups: &[&str]) -> Server {
    let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
    set_roles(&catalog, groups);
    Server::new(catalog, ServerConfig::default())
}

fn session_of(caller: &Caller) -> Arc<HttpSession> {
    HttpSession::new(Session::for_caller(caller))
}

#[tokio::test]
async fn the_stream_of_a_request_is_resumed_by_whoever_may_use_as_much_as_its_sender() {
    let (reader, both) = (token(&["readers"]), token(&["readers", "writers"]));
    let cases: [(&[&str], bool); 3] = [(&["readers", "writers"], false), (&["readers"], true), (&[], true)];
    for (groups, of_reader) in cases {
        let server = server(groups);
        let session = session_of(&both);
        let resume = |stream: u64, caller: &Caller| {
            ResumableStream::resume(&server, &session, &format!("{stream:x}-0"), caller).is_some()
        };
        for sender in [&both, &reader] {
            let store = session.streams.open_stream(server.sender(sender));
            store.push(Bytes::from_static(b"{}"), EventPriority::Response);
            store.end();
        }
        assert_eq!((resume(1, &both), resume(1, &reader)), (true, of_reader), "{groups:?}");
        assert_eq!((resume(2, &both), resume(2, &reader)), (true, true), "{groups:?}");
        assert!(!resume(3, &both), "there is no such stream");
    }
}

/// A session with the stream of a request that was sent under roles for `groups`.
fn sent_under(groups: &[&str], sender: &Caller) -> (Arc<Catalog>, Server, Arc<HttpSession>, Arc<EventStore>) {
    let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
    let server = Server::new(Arc::clone(&catalog), ServerConfig::default());
    set_roles(&catalog, groups);
    let session = session_of(sender);
    let store = session.streams.open_stream(server.sender(sender));
    (catalog, server, session, store)
}

#[tokio::test]
async fn a_change_of_roles_opens_the_stream_of_an_earlier_request_to_nobody_else() {
    let (reader, both) = (token(&["readers"]), token(&["readers", "writers"]));
    let (all, readers, none): (&[&str], &[&str], &[&str]) = (&["readers", "writers"], &["readers"], &[]);
    for (before, after, of_reader) in [
        (all, readers, false),
        (all, none, false),
        // The response may be made after the change, for more than the reader may see.
        (none, all, false),
        (readers, all, false),
        (none, readers, true),
        (readers, none, true),
    ] {
        let (catalog, server, session, store) = sent_under(before, &both);
        store.push(Bytes::from_static(b"{}"), EventPriority::Response);
        store.end();
        set_roles(&catalog, after);
        let resumes = |caller: &Caller| ResumableStream::resume(&server, &session, "1-0", caller).is_some();
        assert_eq!((resumes(&both), resumes(&reader)), (true, of_reader), "{before:?} {after:?}");
    }
}

#[tokio::test]
async fn a_stream_that_was_resumed_ends_when_its_caller_no_longer_covers_the_sender() {
    let (reader, both) = (token(&["readers"]), token(&["readers", "writers"]));
    for (caller, is_read) in [(&reader, false), (&both, true)] {
        let (catalog, server, session, store) = sent_under(&["readers"], &both);
        let mut resumed = ResumableStream::resume(&server, &session, "1-0", caller).unwrap();
        set_roles(&catalog, &["readers", "writers"]);
        store.push(Bytes::from_static(b"{}"), EventPriority::Response);
        let event = resumed.next_event().now_or_never().unwrap();
        assert_eq!(event.is_some(), is_read, "{caller:?}");
        // What was refused counts as not delivered, so the sender can still have all of it.
        for _ in 0..300 {
            store.push(Bytes::from_static(b"{}"), EventPriority::Notification);
        }
        let is_stored = ResumableStream::resume(&server, &session, "1-0", &both).is_some();
        assert_eq!(is_stored, !is_read, "{caller:?}");
    }
}

#[tokio::test]
async fn the_caller_that_reads_the_notifications_is_the_listener() {
    let (reader, both) = (token(&["readers"]), token(&["readers", "writers"]));
    let (server, session) = (server(&["readers"]), session_of(&both));
    // Both tokens are of one caller.
    let groups = || match &**session.streams.listener.load() {
        Caller::Principal(caller) => caller.principal.groups.len(),
        _ => 0,
    };
    let _first = ResumableStream::standalone(&server, &session, &both);
    assert_eq!(groups(), 2);
    assert!(ResumableStream::resume(&server, &session, "0-7", &reader).is_none(), "there is no such event");
    assert_eq!(groups(), 2, "who was refused does not listen");
    let _second = ResumableStream::resume(&server, &session, "0-0", &reader).unwrap();
    assert_eq!(groups(), 1);
}

/// What is written for a client that resumes the standalone stream from its beginning.
fn replayed(server: &Server, session: &Arc<HttpSession>, caller: &Caller) -> Vec<String> {
    let mut resumed = ResumableStream::resume(server, session, "0-0", caller).unwrap();
    let mut events = Vec::new();
    while let Some(Some(EncodedEvent::Whole(event))) = resumed.next_event().now_or_never() {
        events.push(String::from_utf8(event.to_vec()).unwrap());
    }
    events
}

#[tokio::test]
async fn a_stored_update_is_not_replayed_to_whoever_does_not_see_the_resource() {
    let caller = token(&["readers"]);
    // With roles, nobody sees a resource that no plugin publishes.
    let cases: [(&[&str], bool); 2] = [(&["readers"], false), (&[], true)];
    for (groups, is_seen) in cases {
        let (server, session) = (server(groups), session_of(&caller));
        for message in [UPDATED, LIST_CHANGED] {
            let message = Bytes::from_static(message.as_bytes());
            session.streams.standalone.push(message, EventPriority::Notification);
        }
        let events = replayed(&server, &session, &caller);
        let has = |text: &str| events.iter().any(|event| event.ends_with(&format!("data: {text}\n\n")));
        assert_eq!((has(UPDATED), has(LIST_CHANGED)), (is_seen, true), "{events:?}");
    }
}
