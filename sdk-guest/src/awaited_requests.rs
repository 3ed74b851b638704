//! Client requests that an `async fn` awaits.
//!
//! Those that wait at the same time are sent together, as an [`InputBatch`](crate::InputBatch) is, so that the client
//! needs one round trip for all of them. A request is sent when no task of the call can go on without it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::call::CallBackend;
use crate::client_requests::ClientRequest;
use crate::elicitation::{self, ElicitResult};
use crate::executor::{self, Slot, Source};
use crate::roots::{self, Root};
use crate::sampling::{CreateMessageRequest, CreateMessageResult};
use crate::{Call, Error, inputs};

type Outcome = Result<String, Error>;

/// A request that is not sent yet.
struct Queued {
    call: Weak<CallBackend>,
    key: String,
    request: ClientRequest,
    slot: Weak<Slot<Outcome>>,
}

thread_local! {
    static QUEUE: RefCell<Vec<Queued>> = const { RefCell::new(Vec::new()) };
}

/// The same requests for `async` functions. Those that are awaited at the same time reach the client together.
impl Call {
    /// As [`Call::sample`].
    ///
    /// # Errors
    /// Those of [`Call::sample`].
    pub async fn sample_async(
        &self,
        request: impl Into<CreateMessageRequest>,
    ) -> Result<CreateMessageResult, Error> {
        let request = request.into();
        let key = request.key.clone();
        CreateMessageResult::parse(&send(self, key, ClientRequest::CreateMessage(request.params()?)).await?)
    }

    /// As [`Call::elicit`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub async fn elicit_async<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<ElicitResult<T>, Error> {
        let params = elicitation::typed::<T>(message.into())?;
        elicitation::parse(&elicit(self, &params).await?)
    }

    /// As [`Call::elicit_form`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub async fn elicit_form_async(
        &self,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<ElicitResult<Map<String, Value>>, Error> {
        elicitation::parse(&elicit(self, &elicitation::form(message.into(), schema)).await?)
    }

    /// As [`Call::elicit_url`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub async fn elicit_url_async(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult<()>, Error> {
        elicitation::parse_visit(&elicit(self, &elicitation::page(message.into(), url.into())).await?)
    }

    /// As [`Call::roots`].
    ///
    /// # Errors
    /// Those of [`Call::roots`].
    pub async fn roots_async(&self) -> Result<Vec<Root>, Error> {
        roots::parse(&send(self, None, ClientRequest::ListRoots).await?)
    }
}

async fn elicit(call: &Call, params: &Value) -> Outcome {
    send(call, None, ClientRequest::Elicit(params.to_string())).await
}

async fn send(call: &Call, key: Option<String>, request: ClientRequest) -> Outcome {
    executor::register(Source::ClientRequests, send_queued);
    let slot = Slot::new();
    let key = key.unwrap_or_else(|| call.next_key());
    let queued = Queued { call: Rc::downgrade(call.backend()), key, request, slot: Rc::downgrade(&slot) };
    QUEUE.with_borrow_mut(|queue| queue.push(queued));
    slot.filled().await
}

/// Sends what is queued for one call. Requests that nobody waits for any more are not sent.
fn send_queued() -> bool {
    let mut queue = QUEUE.take();
    queue.retain(|queued| queued.slot.strong_count() > 0);
    let Some(call) = queue.first().and_then(|first| first.call.upgrade()) else { return false };
    let is_due = |queued: &Queued| std::ptr::eq(queued.call.as_ptr(), Rc::as_ptr(&call));
    let (due, rest): (Vec<_>, Vec<_>) = queue.into_iter().partition(is_due);
    QUEUE.set(rest);
    let (requests, mut waiting): (Vec<_>, Vec<_>) = due
        .into_iter()
        .map(|queued| ((queued.key.clone(), queued.request), (queued.key, queued.slot)))
        .unzip();
    match inputs::send(&call, requests) {
        Ok(outcomes) => {
            for (key, outcome) in outcomes {
                if let Some(position) = waiting.iter().position(|(other, _)| *other == key) {
                    fill(&waiting.swap_remove(position).1, outcome);
                }
            }
            let none = || Err(Error::Internal("the host has no response for this request".to_owned()));
            waiting.iter().for_each(|(_, slot)| fill(slot, none()));
        }
        Err(error) => waiting.iter().for_each(|(_, slot)| fill(slot, Err(error.clone()))),
    }
    true
}

fn fill(slot: &Weak<Slot<Outcome>>, outcome: Outcome) {
    if let Some(slot) = slot.upgrade() {
        slot.fill(outcome);
    }
}
