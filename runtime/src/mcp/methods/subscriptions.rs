//! Subscriptions to changes: `subscriptions/listen` (2026-07-28), `resources/subscribe` and `resources/unsubscribe`
//! (the revisions with sessions).

use bytes::Bytes;
use serde::Deserialize;
use serde::ser::SerializeMap;
use serde_json::{Value, json};

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::jsonrpc::notification;
use super::super::notification_queue::OutgoingMessage;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EmptyResult, EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::sessions::server_notifications::method_of;
use super::super::sessions::subscriptions::Subscriptions;
use super::super::tasks::TaskNotification;
use super::task_access::ReadTask;
use super::task_subscription::TaskSubscription;
use super::{item_access, read};
use crate::catalog::{CatalogChange, ChangeReceiver};
use crate::json::RawObject;

/// The key in `_meta` for the id of the `subscriptions/listen` to which a message belongs.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

pub(in super::super) fn subscribe(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let add_known = |subscriptions: &Subscriptions, uri: &str| {
        Subscriptions::fits(uri)?;
        // A URI of no plugin would never be updated. A template includes all URIs that it matches.
        let unknown = || RpcError::resource_not_found(uri, context.revision);
        let (plugin, template) = view.snapshot.route_uri(uri).ok_or_else(unknown)?;
        let subscribing = ("resources/subscribe", uri);
        let checked = item_access::check_uri(view, &context.caller, plugin, subscribing, template.as_ref());
        // A subscription is not a call, so no quota counts it.
        checked.map(drop).map_err(|error| error.into_rpc(unknown))?;
        subscriptions.add(uri)
    };
    change(server, context, params, add_known)
}

pub(in super::super) fn unsubscribe(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    change(server, context, params, |uris, uri| {
        uris.remove(uri);
        Ok(())
    })
}

fn change(
    server: &Server,
    context: &RequestContext,
    params: &Params,
    change: impl FnOnce(&Subscriptions, &str) -> Result<(), RpcError>,
) -> Result<EncodedResult, RpcError> {
    let uri = params.uri()?;
    if let Some(session) = &context.session {
        change(&session.subscriptions, &uri)?;
    }
    EncodedResult::new(&EmptyResult, context.revision, &server.info)
}

#[derive(Deserialize)]
struct ListenParams {
    notifications: SubscriptionFilter,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SubscriptionFilter {
    tools_list_changed: bool,
    resources_list_changed: bool,
    prompts_list_changed: bool,
    resource_subscriptions: Vec<String>,
    task_ids: Option<Vec<String>>,
}

/// The subscription of one `subscriptions/listen`.
pub(in super::super) struct SubscriptionStream {
    id: Value,
    filter: SubscriptionFilter,
    uris: Subscriptions,
    /// `None` if the client subscribed to no tasks.
    tasks: Option<TaskSubscription>,
}

impl SubscriptionStream {
    /// Reads a `subscriptions/listen`.
    ///
    /// # Errors
    /// When its parameters are malformed, there are too many URIs or tasks, or the client has not declared tasks.
    pub(in super::super) async fn open(
        server: &Server,
        context: &RequestContext,
        params: &Params,
    ) -> Result<Self, RpcError> {
        let mut opened =
            server.reading().in_place(params.len(), || Self::new(server, context, params)).await?;
        let task_ids = opened.filter.task_ids.take();
        opened.tasks = TaskSubscription::open(server, context, task_ids).await?;
        Ok(opened)
    }

    /// The URIs whose updates the client subscribed to.
    pub(in super::super) fn uris(&self) -> Vec<String> {
        self.uris.all()
    }

    /// Sends notifications of changes until the client cancels the request or the server stops. The request gets a
    /// result only if the server stops.
    pub(in super::super) async fn listen(
        mut self,
        server: &Server,
        context: &RequestContext,
    ) -> Option<Result<EncodedResult, RpcError>> {
        let leg = context.leg();
        let queue = &leg.queue;
        let mut changes = server.changes(&context.caller);
        queue.deliver(OutgoingMessage::Message(self.acknowledgement())).await.ok()?;
        let mut tasks = self.tasks.take();
        loop {
            let next_task = async {
                match &mut tasks {
                    Some(tasks) => tasks.next(server, context).await,
                    None => std::future::pending().await,
                }
            };
            let messages = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return None,
                () = server.stopping.cancelled() => return Some(self.ended(server, context.revision)),
                change = changes.next() => match change {
                    Some(change) => self.messages_for(&change, &changes),
                    None => return Some(self.ended(server, context.revision)),
                },
                task = next_task => match self.changed_task(server, task).await {
                    Ok(message) => vec![message],
                    Err(error) => return Some(Err(error)),
                },
            };
            for message in messages {
                if queue.deliver(OutgoingMessage::Message(message)).await.is_err() {
                    return Some(Err(RpcError::overloaded("a notification of the subscription")));
                }
            }
        }
    }

    fn new(server: &Server, context: &RequestContext, params: &Params) -> Result<Self, RpcError> {
        let ListenParams { notifications: mut filter } = read(params)?;
        let uris = Subscriptions::new(server.share(&context.caller));
        uris.add_all(std::mem::take(&mut filter.resource_subscriptions))?;
        let id = serde_json::to_value(&context.request.id).map_err(|_| {
            RpcError::invalid_request("the id of a subscription is a string, or an integer of 64 bits")
        })?;
        Ok(Self { id, filter, uris, tasks: None })
    }

    async fn changed_task(
        &self,
        server: &Server,
        read: Result<ReadTask, RpcError>,
    ) -> Result<Bytes, RpcError> {
        let (task, _reservation) = read?;
        let meta = json!({ SUBSCRIPTION_ID: self.id });
        let write = || notification("notifications/tasks", &TaskNotification { task: &task, meta: &meta });
        Ok(server.reading().in_place(task.size(), write).await)
    }

    fn tagged(&self, method: &str, mut params: Value) -> Bytes {
        if let Some(fields) = params.as_object_mut() {
            fields.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID: self.id }));
        }
        notification(method, &params)
    }

    /// The first message: the accepted filter, which is the requested filter without tasks that do not exist.
    fn acknowledgement(&self) -> Bytes {
        let mut accepted = serde_json::Map::new();
        for (name, is_requested) in [
            ("toolsListChanged", self.filter.tools_list_changed),
            ("resourcesListChanged", self.filter.resources_list_changed),
            ("promptsListChanged", self.filter.prompts_list_changed),
        ] {
            if is_requested {
                accepted.insert(name.to_owned(), true.into());
            }
        }
        let uris = self.uris.all();
        if !uris.is_empty() {
            accepted.insert("resourceSubscriptions".to_owned(), uris.into());
        }
        if let Some(tasks) = &self.tasks {
            accepted.insert("taskIds".to_owned(), tasks.ids().into());
        }
        self.tagged("notifications/subscriptions/acknowledged", json!({ "notifications": accepted }))
    }

    fn messages_for(&self, change: &CatalogChange, changes: &ChangeReceiver) -> Vec<Bytes> {
        match change {
            CatalogChange::Lost => self.updated_all(changes),
            change => self.message_for(change).into_iter().collect(),
        }
    }

    fn message_for(&self, change: &CatalogChange) -> Option<Bytes> {
        let is_requested = match change {
            CatalogChange::Tools => self.filter.tools_list_changed,
            CatalogChange::Resources => self.filter.resources_list_changed,
            CatalogChange::Prompts => self.filter.prompts_list_changed,
            CatalogChange::Updated(uri) => self.uris.contains(uri),
            CatalogChange::Lost => false,
        };
        if !is_requested {
            return None;
        }
        Some(match (method_of(change), change) {
            (Some(method), _) => self.tagged(method, json!({})),
            (None, CatalogChange::Updated(uri)) => self.updated(uri),
            (None, _) => return None,
        })
    }

    /// One update for each subscribed resource that the caller sees, for when more updates have happened than are
    /// stored.
    fn updated_all(&self, changes: &ChangeReceiver) -> Vec<Bytes> {
        let mut uris = self.uris.all();
        changes.retain_seen(&mut uris);
        uris.iter().map(|uri| self.updated(uri)).collect()
    }

    fn updated(&self, uri: &str) -> Bytes {
        self.tagged("notifications/resources/updated", json!({ "uri": uri }))
    }

    fn ended(&self, server: &Server, revision: Revision) -> Result<EncodedResult, RpcError> {
        let extra = json!({ "_meta": { SUBSCRIPTION_ID: self.id } }).to_string();
        let extra = RawObject::parse(&extra).map_err(|error| RpcError::internal(&error.to_string()))?;
        EncodedResult::new(&ListenResult { extra }, revision, &server.info)
    }
}

struct ListenResult {
    extra: RawObject,
}

impl ResultFields for ListenResult {
    fn write<M: SerializeMap>(&self, _: &mut M, _: Revision) -> Result<(), M::Error> {
        Ok(())
    }

    fn extra(&self) -> Option<&RawObject> {
        Some(&self.extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_env::Caller;
    use crate::catalog::{Catalog, SeesOnly, Snapshot};
    use crate::mcp::BufferBudget;

    fn subscription_to(uris: &[&str]) -> SubscriptionStream {
        let subscriptions = Subscriptions::new(BufferBudget::new(1 << 20).share(&Caller::Stdio));
        subscriptions.add_all(uris.iter().map(|uri| (*uri).to_owned()).collect()).unwrap();
        let filter = SubscriptionFilter::default();
        SubscriptionStream { id: json!("l"), filter, uris: subscriptions, tasks: None }
    }

    #[tokio::test]
    async fn after_lost_updates_the_client_is_told_of_each_resource_that_it_sees() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        let subscription = subscription_to(&["a:seen", "a:hidden", "a:also"]);
        let view = SeesOnly::new(&["a:seen", "a:also", "a:unasked"]);
        let mut changes = catalog.changes().seen_by(view.clone());
        (0..500).for_each(|_| catalog.resource_updated("a:hidden"));
        let change = changes.next().await.unwrap();
        assert_eq!(change, CatalogChange::Lost);
        let messages = subscription.messages_for(&change, &changes);
        let mut messages: Vec<Value> =
            messages.iter().map(|message| serde_json::from_slice(message).unwrap()).collect();
        messages.sort_by_key(|message| message["params"]["uri"].to_string());
        let updated = |uri: &str| {
            let params = json!({ "uri": uri, "_meta": { SUBSCRIPTION_ID: "l" } });
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params })
        };
        assert_eq!(messages, [updated("a:also"), updated("a:seen")]);
        assert_eq!(view.lookups(), 1, "of the view, for all resources");
    }
}
