//! Messages that the server sends to a session outside of requests: `list_changed`, updates of subscribed resources,
//! client requests of tasks, and pings, which detect clients that are gone.
//!
//! A slow client misses nothing that is still true: a list that changed several times is notified once, and if there
//! are more updates than are stored, all subscribed resources are notified as updated.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::super::client_requests::pending_requests::{PendingReply, PendingRequests};
use super::super::jsonrpc::{notification, request};
use super::session::{Session, SessionActivity};
use super::subscriptions::Subscriptions;
use super::task_requests::TaskRequests;
use crate::catalog::{CatalogChange, ChangeReceiver, ListenerView};

/// How a message of [`updated`] begins.
const UPDATE_BEGINNING: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/resources/updated","#;

/// The source of one session's server notifications and pings.
#[derive(Debug)]
pub(crate) struct ServerNotifications {
    subscriptions: Arc<Subscriptions>,
    task_requests: Arc<TaskRequests>,
    pending_requests: Arc<PendingRequests>,
    activity: Arc<SessionActivity>,
    changes: ChangeReceiver,
    due: VecDeque<Bytes>,
    ping_period: Duration,
    next_ping: Instant,
    /// The last ping, and the session's activity count when it was sent.
    pinged: Option<(PendingReply, u64)>,
}

/// The client no longer responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl ServerNotifications {
    /// Pings every `ping_period`; never if it is zero.
    pub(crate) fn new(session: &Session, changes: ChangeReceiver, ping_period: Duration) -> Self {
        let next_ping = Instant::now() + ping_period;
        Self {
            subscriptions: Arc::clone(&session.subscriptions),
            task_requests: Arc::clone(&session.task_requests),
            pending_requests: Arc::clone(&session.pending_requests),
            activity: Arc::clone(&session.activity),
            changes,
            due: VecDeque::new(),
            ping_period,
            next_ping,
            pinged: None,
        }
    }

    /// Returns the next message. Dropping the future loses no message.
    ///
    /// # Errors
    /// When the client neither responded to a ping nor sent anything else until the next ping was due.
    pub(crate) async fn next(&mut self) -> Result<Bytes, ClientGone> {
        loop {
            if let Some(message) = self.due.pop_front() {
                return Ok(message);
            }
            tokio::select! {
                change = self.changes.next() => self.record_change(change).await,
                message = self.task_requests.next() => return Ok(message),
                () = tokio::time::sleep_until(self.next_ping), if !self.ping_period.is_zero() => return self.ping(),
            }
        }
    }

    /// Puts back a message that could not be sent. A client request waits again with the others that no stream has passed
    /// on; anything else is the next message.
    pub(crate) fn put_back(&mut self, message: Bytes) {
        if !self.task_requests.put_back(&message) {
            self.due.push_front(message);
        }
    }

    async fn record_change(&mut self, change: Option<CatalogChange>) {
        match change {
            Some(CatalogChange::Updated(uri)) => {
                if self.subscriptions.contains(&uri) {
                    self.due.push_back(updated(&uri));
                }
            }
            Some(CatalogChange::Lost) => {
                let mut uris = self.subscriptions.all();
                self.changes.retain_seen(&mut uris);
                self.due.extend(uris.iter().map(|uri| updated(uri)));
            }
            Some(change) => self.due.extend(list_changed(&change)),
            // The catalog is gone, so the server is about to end.
            None => std::future::pending().await,
        }
    }

    fn ping(&mut self) -> Result<Bytes, ClientGone> {
        let count = self.activity.count();
        if let Some((pinged, before)) = &mut self.pinged
            && pinged.response.try_recv().is_err()
            && *before == count
        {
            return Err(ClientGone);
        }
        let pinged = self.pending_requests.register();
        let message = request(pinged.id, "ping", &json!({}));
        self.pinged = Some((pinged, count));
        self.next_ping = Instant::now() + self.ping_period;
        Ok(message)
    }
}

/// The notification method for a changed list.
pub(crate) fn method_of(change: &CatalogChange) -> Option<&'static str> {
    match change {
        CatalogChange::Tools => Some("notifications/tools/list_changed"),
        CatalogChange::Resources => Some("notifications/resources/list_changed"),
        CatalogChange::Prompts => Some("notifications/prompts/list_changed"),
        CatalogChange::Updated(_) | CatalogChange::Lost => None,
    }
}

fn list_changed(change: &CatalogChange) -> Option<Bytes> {
    method_of(change).map(|method| notification(method, &json!({})))
}

fn updated(uri: &str) -> Bytes {
    notification("notifications/resources/updated", &json!({ "uri": uri }))
}

/// The part of an update that names the resource.
#[derive(Deserialize)]
struct ResourceUpdatedNotification {
    params: ResourceUpdatedNotificationParams,
}

#[derive(Deserialize)]
struct ResourceUpdatedNotificationParams {
    uri: String,
}

/// Whether a listener may get a message of [`ServerNotifications`] that was made for another listener, or before the
/// view of this one changed. Only an update names something of the catalog.
pub(crate) fn is_seen_by(message: &[u8], listener: &dyn ListenerView) -> bool {
    let is_update = message.starts_with(UPDATE_BEGINNING);
    let sees = |update: ResourceUpdatedNotification| listener.sees_uri(&update.params.uri);
    !is_update || serde_json::from_slice(message).is_ok_and(sees)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::super::task_requests::TaskRequest;
    use super::*;
    use crate::catalog::{Catalog, SeesOnly, Snapshot};
    use crate::mcp::request_id::RequestId;

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn updates_are_told_and_none_is_lost_to_a_slow_client() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let session = Session::for_tests();
        session.subscriptions.add("a:b").unwrap();
        let mut notifications = ServerNotifications::new(&session, catalog.changes(), Duration::ZERO);
        catalog.resource_updated("a:other");
        catalog.resource_updated("a:b");
        assert!(text(&notifications.next().await.unwrap()).contains(r#""a:b""#));
        (0..500).for_each(|_| catalog.resource_updated("a:other"));
        assert!(
            text(&notifications.next().await.unwrap()).contains(r#""a:b""#),
            "it may have been among them"
        );
    }

    #[tokio::test]
    async fn updates_that_were_lost_are_not_told_to_whoever_does_not_see_the_resource() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let session = Session::for_tests();
        session.subscriptions.add("a:b").unwrap();
        let changes = catalog.changes().seen_by(SeesOnly::new(&[]));
        let mut notifications = ServerNotifications::new(&session, changes, Duration::ZERO);
        (0..500).for_each(|_| catalog.resource_updated("a:b"));
        assert!(notifications.next().now_or_never().is_none());
    }

    #[test]
    fn an_update_is_seen_by_whoever_sees_its_resource() {
        let view = SeesOnly::new(&["a:seen", "a:\"quoted\""]);
        for (message, is_seen) in [
            (updated("a:seen"), true),
            (updated("a:\"quoted\""), true),
            (updated("a:hidden"), false),
            (list_changed(&CatalogChange::Resources).unwrap(), true),
            (request(1, "ping", &json!({})), true),
        ] {
            assert_eq!(is_seen_by(&message, &*view), is_seen, "{message:?}");
        }
    }

    #[tokio::test]
    async fn updates_that_were_lost_cost_one_look_up_for_all_resources() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let session = Session::for_tests();
        (0..100).for_each(|number| session.subscriptions.add(&format!("a:{number}")).unwrap());
        let view = SeesOnly::new(&["a:7"]);
        let changes = catalog.changes().seen_by(view.clone());
        let mut notifications = ServerNotifications::new(&session, changes, Duration::ZERO);
        (0..500).for_each(|_| catalog.resource_updated("a:8"));
        assert!(text(&notifications.next().await.unwrap()).contains(r#""a:7""#));
        assert_eq!(view.lookups(), 1);
    }

    #[tokio::test]
    async fn a_client_request_that_could_not_be_sent_comes_once() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let session = Session::for_tests();
        let mut notifications = ServerNotifications::new(&session, catalog.changes(), Duration::ZERO);
        session.task_requests.push(1, TaskRequest::new("asked".into()));
        let asked = notifications.next().await.unwrap();
        notifications.put_back(asked);
        // As a new stream does that resumes none.
        session.task_requests.repeat();
        assert_eq!(notifications.next().await.unwrap(), "asked");
        assert!(notifications.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_client_that_does_not_answer_pings_is_gone() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let session = Session::for_tests();
        let mut notifications =
            ServerNotifications::new(&session, catalog.changes(), Duration::from_millis(30));
        let ping = notifications.next().await.unwrap();
        assert_eq!(text(&ping), r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
        session.complete(
            &RequestId::Number(1),
            &crate::call_env::Caller::Unknown,
            Ok(serde_json::value::RawValue::from_string("{}".into()).unwrap()),
            None,
        );
        assert!(notifications.next().await.is_ok());
        session.touch();
        assert!(notifications.next().await.is_ok(), "the client did not respond, but sent something else");
        assert_eq!(notifications.next().await, Err(ClientGone));
    }
}
