//! What a session hears without having asked: that lists have changed, that a resource it subscribed to was updated, and
//! now and then a ping, by which a client that is gone is found.
//!
//! Changes come through a bounded channel. A client that is away for long misses none of them: when too many have
//! gathered, they are told as one change of everything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;

use super::super::asking::asked::{Asked, Awaited};
use super::super::message::{notification, request};
use super::session::{Activity, Session};
use super::subscriptions::Subscriptions;
use crate::catalog::Change;

/// The way out for one session's own messages.
#[derive(Debug)]
pub(crate) struct Presence {
    subscriptions: Arc<Subscriptions>,
    asked: Arc<Asked>,
    activity: Arc<Activity>,
    changes: broadcast::Receiver<Change>,
    due: VecDeque<Bytes>,
    every: Duration,
    next_ping: Instant,
    /// The ping that is out, and how often the client had been heard of by then.
    pinged: Option<(Awaited, u64)>,
}

/// The client no longer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

impl Presence {
    /// Pings `every` so often; never, when that is zero.
    pub(crate) fn new(session: &Session, changes: broadcast::Receiver<Change>, every: Duration) -> Self {
        let next_ping = Instant::now() + every;
        Self {
            subscriptions: Arc::clone(&session.subscriptions),
            asked: Arc::clone(&session.asked),
            activity: Arc::clone(&session.activity),
            changes,
            due: VecDeque::new(),
            every,
            next_ping,
            pinged: None,
        }
    }

    /// The next message. Can be dropped and called again without losing any.
    ///
    /// # Errors
    /// When a ping has had no answer until the next one was due, and nothing else was heard of the client either.
    pub(crate) async fn next(&mut self) -> Result<Bytes, Gone> {
        loop {
            if let Some(message) = self.due.pop_front() {
                return Ok(message);
            }
            tokio::select! {
                change = self.changes.recv() => self.note(change).await,
                () = tokio::time::sleep_until(self.next_ping), if !self.every.is_zero() => return self.ping(),
            }
        }
    }

    async fn note(&mut self, change: Result<Change, RecvError>) {
        match change {
            Ok(Change::Updated(uri)) => {
                if self.subscriptions.contains(&uri) {
                    self.due.push_back(updated(&uri));
                }
            }
            Ok(change) => self.due.extend(list_changed(&change)),
            Err(RecvError::Lagged(_)) => {
                self.due.extend(Change::LISTS.iter().filter_map(list_changed));
                self.due.extend(self.subscriptions.all().iter().map(|uri| updated(uri)));
            }
            // The server is about to end.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    fn ping(&mut self) -> Result<Bytes, Gone> {
        let heard = self.activity.times();
        if let Some((pinged, before)) = &mut self.pinged
            && pinged.answer.try_recv().is_err()
            && *before == heard
        {
            return Err(Gone);
        }
        let pinged = self.asked.begin();
        let message = request(pinged.id, "ping", &json!({}));
        self.pinged = Some((pinged, heard));
        self.next_ping = Instant::now() + self.every;
        Ok(message)
    }
}

/// The method that tells of a change of a list.
pub(crate) fn method_of(change: &Change) -> Option<&'static str> {
    match change {
        Change::Tools => Some("notifications/tools/list_changed"),
        Change::Resources => Some("notifications/resources/list_changed"),
        Change::Prompts => Some("notifications/prompts/list_changed"),
        Change::Updated(_) => None,
    }
}

fn list_changed(change: &Change) -> Option<Bytes> {
    method_of(change).map(|method| notification(method, &json!({})))
}

fn updated(uri: &str) -> Bytes {
    notification("notifications/resources/updated", &json!({ "uri": uri }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::message::Id;

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn changes_are_told_and_none_is_lost_to_a_slow_client() {
        let (sender, receiver) = broadcast::channel(2);
        let session = Session::for_tests();
        session.subscriptions.add("a:b").unwrap();
        let mut presence = Presence::new(&session, receiver, Duration::ZERO);
        sender.send(Change::Prompts).unwrap();
        sender.send(Change::Updated("a:other".into())).unwrap();
        assert!(text(&presence.next().await.unwrap()).contains("prompts/list_changed"));
        for _ in 0..5 {
            sender.send(Change::Updated("a:other".into())).unwrap();
        }
        let mut told = Vec::new();
        for _ in 0..4 {
            told.push(text(&presence.next().await.unwrap()).to_owned());
        }
        for word in ["tools/list_changed", "resources/list_changed", "prompts/list_changed", "a:b"] {
            assert!(told.iter().any(|message| message.contains(word)), "{word}: {told:?}");
        }
    }

    #[tokio::test]
    async fn a_client_that_does_not_answer_pings_is_gone() {
        let (_sender, receiver) = broadcast::channel(2);
        let session = Session::for_tests();
        let mut presence = Presence::new(&session, receiver, Duration::from_millis(30));
        let ping = presence.next().await.unwrap();
        assert_eq!(text(&ping), r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
        session
            .asked
            .settle(&Id::Number(1), Ok(serde_json::value::RawValue::from_string("{}".into()).unwrap()));
        assert!(presence.next().await.is_ok());
        session.touch();
        assert!(presence.next().await.is_ok(), "it did not answer, but it is there");
        assert_eq!(presence.next().await, Err(Gone));
    }
}
