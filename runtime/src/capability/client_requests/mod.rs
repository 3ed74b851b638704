//! Client requests of a guest (sampling, elicitation, roots): checks limits, sends them and waits.
//!
//! One path for a single request and for several at once, so that all imports have the same limits. The layer above,
//! behind [`Client`](crate::call_env::Client), decides whether the client supports a request and how it is sent. The
//! capability of a request decides whether the operator lets the plugin send it, with a [`Check`]: no module here knows
//! any of these capabilities.

pub(super) mod grant;
mod request_span;

use std::collections::HashSet;
use std::sync::Arc;

use wasmtime::component::Resource;

use super::{Call, HostCallError, InstanceCtx};
use crate::bindings::plugport::plugin::types::{Error, RpcError};
use crate::call_env::{ClientRequest, ClientRequestBody, ClientRequestError, GrantHint};
use crate::config::fixed_limits::CLIENT_REQUEST_KIB;
use crate::config::kib;

/// Longest key of a request, bytes.
const MAX_KEY: usize = 128;

/// Bytes that a request is charged beside its text.
const REQUEST_CHARGE: usize = 2_000;

/// The outcome of each request, in order.
pub(super) type ClientResults = Vec<Result<String, Error>>;

/// Decides whether the operator lets the plugin send a request, and returns what was counted for it.
pub(super) type Check<R> = fn(&mut InstanceCtx, &ClientRequestBody) -> Result<R, Error>;

/// What was counted for a request before it is sent.
pub(super) trait Reservation {
    /// The request was never sent, so it does not count.
    fn refund(self);
}

impl Reservation for () {
    fn refund(self) {}
}

impl<R: Reservation> Reservation for Option<R> {
    fn refund(self) {
        if let Some(reservation) = self {
            reservation.refund();
        }
    }
}

impl InstanceCtx {
    /// Sends one client request.
    pub(super) async fn send_client_request<R: Reservation + Send>(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        body: ClientRequestBody,
        check: Check<R>,
    ) -> Result<String, HostCallError> {
        let mut outcomes = self.send_client_requests(call, vec![ClientRequest { key, body }], check).await?;
        let outcome =
            outcomes.pop().unwrap_or_else(|| Err(Error::Internal("the client request was lost".to_owned())));
        Ok(outcome?)
    }

    /// Sends several client requests in one round trip.
    pub(super) async fn send_client_requests<R: Reservation + Send>(
        &mut self,
        call: Resource<Call>,
        requests: Vec<ClientRequest>,
        check: Check<R>,
    ) -> Result<ClientResults, HostCallError> {
        let size = |request: &ClientRequest| {
            request.body.size() + request.key.as_ref().map_or(0, String::len) + REQUEST_CHARGE
        };
        self.host_fuel.charge(requests.iter().map(size).sum()).await?;
        let client = Arc::clone(&self.current_call.get(&call)?.client);
        if let Err(error) = self.check_requests(&requests) {
            self.record_over_budget(&error);
            return Err(error.into());
        }
        let (granted, decisions) = self.check_grants(requests, check);
        if granted.is_empty() {
            return Ok(decisions.into_iter().filter_map(Decision::rejection).collect());
        }
        let spans = request_span::begin(self.trace.as_ref(), &granted);
        let responses = self.suspension.suspend_while(client.send_requests(granted)).await;
        request_span::end(spans, &responses);
        for response in &responses {
            if let Err(ClientRequestError::OverQuota(why)) = response {
                self.limit_reached(why);
            }
        }
        let mut responses = responses.into_iter();
        let mut size = 0;
        let mut next_response = |reservation: R| {
            let response = responses.next().unwrap_or(Err(ClientRequestError::TimedOut));
            size += response.as_ref().map_or(0, String::len);
            if response.as_ref().is_err_and(ClientRequestError::was_never_sent) {
                reservation.refund();
            }
            response.map_err(to_wit_error)
        };
        let outcomes = decisions.into_iter().map(|decision| match decision {
            Decision::Rejected(error) => Err(error),
            Decision::Sent(reservation) => next_response(reservation),
        });
        let outcomes = outcomes.collect();
        self.host_fuel.charge(size).await?;
        Ok(outcomes)
    }

    /// How many requests the call may still send after `count` more.
    fn left_after(&self, count: usize) -> Result<u64, Error> {
        let RequestBudget { max, left } = self.request_budget;
        let over = || {
            Error::OverBudget(format!(
                "a call may send at most {max} client requests (limit `client_requests`)"
            ))
        };
        left.checked_sub(count as u64).ok_or_else(over)
    }

    /// Whether the call may send `count` more requests. Counts nothing.
    pub(super) fn check_count(&mut self, count: usize) -> Result<(), Error> {
        self.left_after(count).inspect_err(|error| self.record_over_budget(error)).map(|_| ())
    }

    /// Counts the requests against the call's budget, before anything else is done for them, and checks their form.
    fn check_requests(&mut self, requests: &[ClientRequest]) -> Result<(), Error> {
        self.request_budget.left = self.left_after(requests.len())?;
        let mut keys = HashSet::new();
        for request in requests {
            if request.body.size() > kib(CLIENT_REQUEST_KIB) {
                let why = format!("a client request may have at most {CLIENT_REQUEST_KIB} KiB");
                return Err(Error::OverBudget(why));
            }
            let Some(key) = &request.key else { continue };
            let is_text = (1..=MAX_KEY).contains(&key.len()) && !key.chars().any(char::is_control);
            if !is_text || !keys.insert(key) {
                return Err(Error::InvalidParams(format!(
                    "keys are unique and have 1 to {MAX_KEY} bytes of text"
                )));
            }
        }
        Ok(())
    }

    /// The requests that the operator lets this plugin send, and the decision on every request.
    fn check_grants<R>(
        &mut self,
        requests: Vec<ClientRequest>,
        check: Check<R>,
    ) -> (Vec<ClientRequest>, Vec<Decision<R>>) {
        let mut granted = Vec::new();
        let mut decisions = Vec::new();
        for request in requests {
            match check(self, &request.body) {
                Ok(reservation) => {
                    granted.push(request);
                    decisions.push(Decision::Sent(reservation));
                }
                Err(error) => {
                    self.record_over_budget(&error);
                    decisions.push(Decision::Rejected(error));
                }
            }
        }
        (granted, decisions)
    }

    fn record_over_budget(&mut self, error: &Error) {
        if let Error::OverBudget(why) = error {
            self.limit_reached(why);
        }
    }

    /// Records that a request is not granted, and returns the error for the guest.
    pub(super) fn deny_request(&mut self, capability: &str) -> Error {
        self.deny(capability, GrantHint::new(format!("{capability} = true"), [capability.to_owned()]));
        Error::Denied(format!("this server does not grant `{capability}` to the plugin"))
    }
}

/// Whether a request is sent.
enum Decision<R> {
    /// It is not sent.
    Rejected(Error),
    /// It is sent, and this was counted for it.
    Sent(R),
}

impl<R> Decision<R> {
    fn rejection(self) -> Option<Result<String, Error>> {
        match self {
            Self::Rejected(error) => Some(Err(error)),
            Self::Sent(_) => None,
        }
    }
}

/// What one call may spend on client requests: a number of requests or of tokens, and what is left of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestBudget {
    pub(super) max: u64,
    pub(super) left: u64,
}

impl RequestBudget {
    pub(super) fn new(max: u64) -> Self {
        Self { max, left: max }
    }

    pub(super) fn spend(&mut self, amount: u64) -> bool {
        let left = self.left.checked_sub(amount);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

fn to_wit_error(error: ClientRequestError) -> Error {
    match error {
        ClientRequestError::Missing(capability) => Error::MissingCapability(capability.to_owned()),
        ClientRequestError::Invalid(why) => Error::InvalidParams(why),
        ClientRequestError::Rejected(why) => Error::Rejected(why),
        ClientRequestError::TimedOut => Error::TimedOut,
        ClientRequestError::Cancelled => Error::Cancelled,
        ClientRequestError::OverBudget(why) | ClientRequestError::OverQuota(why) => Error::OverBudget(why),
        ClientRequestError::Failed { code, message } => Error::Rpc(RpcError { code, message, data: None }),
    }
}
