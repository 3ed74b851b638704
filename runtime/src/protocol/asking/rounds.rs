//! Multi round-trip requests (2026-07-28): a call that asks is answered with `input_required`, and the same request with
//! the answers goes on where the call stopped.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::context::{RequestContext, Round};
use super::super::error::RpcError;
use super::super::exchange::Running;
use super::super::field;
use super::super::message::Request;
use super::super::reply::{Reply, SERVER_INFO};
use super::super::server::Server;
use super::abilities::Abilities;
use super::binding;
use super::parked::{Asking, ParkedCall};
use super::question::Prepared;
use crate::json::RawObject;

/// Answers that one request may bring: as many as a call may ever ask.
const ANSWERS: usize = 1_000;

/// What a request brings back from an earlier round.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Returned {
    /// `requestState`, if the client was given one.
    pub(in crate::protocol) state: Option<String>,
    /// `inputResponses`. Without a state they answer the questions of a fresh call as they come.
    pub(in crate::protocol) answers: RawObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RetryParams<'a> {
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input_responses: Option<&'a RawValue>,
}

impl Returned {
    /// Reads what a request brings back; for most that is nothing.
    ///
    /// # Errors
    /// When either has the wrong form.
    pub(in crate::protocol) fn read(request: &Request) -> Result<Self, RpcError> {
        let invalid = RpcError::invalid_params;
        let text = request.params.as_deref().map_or("{}", RawValue::get);
        if !request.method.may_ask() || !(text.contains("requestState") || text.contains("inputResponses")) {
            return Ok(Self::default());
        }
        let params: RetryParams<'_> = serde_json::from_str(text)
            .map_err(|error| invalid(&field::fault::<RetryParams<'_>>("params", text, &error)))?;
        let answers = params.input_responses.map(|answers| RawObject::parse(answers.get())).transpose();
        let answers = answers
            .map_err(|error| invalid(&format!("`params.inputResponses`: {}", field::reason(&error))))?;
        if answers.as_ref().is_some_and(|answers| answers.iter().nth(ANSWERS).is_some()) {
            return Err(invalid(&format!("`params.inputResponses` has more than {ANSWERS} answers")));
        }
        Ok(Self { state: params.request_state.map(Cow::into_owned), answers: answers.unwrap_or_default() })
    }
}

#[derive(Serialize)]
struct InputRequest<'a> {
    method: &'static str,
    params: &'a RawValue,
}

/// The result that asks. Written in one go: questions may be large.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'a> {
    result_type: &'static str,
    input_requests: BTreeMap<&'a str, InputRequest<'a>>,
    request_state: &'a str,
    #[serde(rename = "_meta")]
    meta: BTreeMap<&'static str, &'a RawValue>,
}

/// Keeps a call that asks, and words its questions as the result.
pub(in crate::protocol) fn park(
    server: &Server,
    work: Running,
    context: Arc<RequestContext>,
    asking: Asking,
) -> Result<Reply, RpcError> {
    let parked = Arc::clone(&context.parked);
    let questions = asking.open.iter().map(|(_, question)| question);
    let worded: Vec<_> =
        questions.map(|question| (question.key.clone(), question.method, question.params.clone())).collect();
    let state = parked.park(ParkedCall { work, context, asking });
    let state = state.ok_or_else(|| RpcError::internal("the server is about to end; call again later"))?;
    let worded = worded.iter().map(|(key, method, params)| (key.as_str(), InputRequest { method, params }));
    let result = InputRequired {
        result_type: "input_required",
        input_requests: worded.collect(),
        request_state: &state,
        meta: BTreeMap::from([(SERVER_INFO, &*server.info)]),
    };
    let written = serde_json::to_vec(&result).map(Reply::from_json);
    written.map_err(|error| RpcError::internal(&error.to_string()))
}

/// A guest that has all its answers and does not know yet.
pub(in crate::protocol) struct Waking {
    pub(in crate::protocol) context: Arc<RequestContext>,
    asking: Asking,
}

impl Waking {
    /// Begins the next round and only then hands the answers over: the guest may speak at once, and must be heard.
    pub(in crate::protocol) fn wake(self, round: Round) -> Arc<RequestContext> {
        self.context.next_round(round);
        // A guest that gave up meanwhile does not wait any more; its call ends by itself.
        let _ = self.asking.resume.send(self.asking.answered);
        self.context
    }
}

/// How a retry goes on.
pub(in crate::protocol) enum Resumed {
    /// The guest has its answers: drive its call on.
    Call(Waking, Running),
    /// Some are still missing: the new questions.
    AskedAgain(Arc<RequestContext>, Reply),
}

/// Takes up the call that `state` stands for, with these answers.
///
/// # Errors
/// When there is no such call for this request, or an answer does not fit its question; the call is kept then.
pub(in crate::protocol) fn resume(
    server: &Server,
    request: &Request,
    state: &str,
    answers: &RawObject,
    abilities: Abilities,
) -> Result<Resumed, RpcError> {
    let bound = binding::of(None, &request.method, request.params.as_deref());
    let taken =
        server.parked.take(state, bound).map_err(|lost| RpcError::invalid_params(&lost.to_string()))?;
    // Its plugin may have been retired meanwhile: no answer helps any more, and the client hears why.
    if taken.call.work.is_over() {
        let ParkedCall { work, context, asking, .. } = taken.call;
        return Ok(Resumed::Call(Waking { context, asking }, work));
    }
    if let Some(unfit) = taken.call.asking.open.iter().find_map(|(_, question)| unfit(question, answers)) {
        server.parked.put_back(taken);
        return Err(unfit);
    }
    // Every request stands on its own: what this one does not declare is not asked of it.
    let lacking = |(_, question): &&(usize, Prepared)| {
        answers.get(&question.key).is_none() && !abilities.has(question.capability())
    };
    if let Some((_, question)) = taken.call.asking.open.iter().find(lacking) {
        let lacking = RpcError::missing_capability(question.capability());
        server.parked.put_back(taken);
        return Err(lacking);
    }
    let ParkedCall { work, context, mut asking, .. } = taken.call;
    let mut left = Vec::new();
    for (at, question) in std::mem::take(&mut asking.open) {
        match answers.get(&question.key).map(|answer| question.read(answer)) {
            Some(Ok(answer)) => asking.answered.push((at, answer)),
            _ => left.push((at, question)),
        }
    }
    asking.open = left;
    if !asking.open.is_empty() {
        let again = Arc::clone(&context);
        return park(server, work, context, asking).map(|reply| Resumed::AskedAgain(again, reply));
    }
    Ok(Resumed::Call(Waking { context, asking }, work))
}

/// Why the answer to a question cannot be used, if there is one.
fn unfit(question: &Prepared, answers: &RawObject) -> Option<RpcError> {
    let why = question.read(answers.get(&question.key)?).err()?;
    let key = &question.key;
    Some(RpcError::invalid_params(&format!("`inputResponses`: the answer to `{key}` does not fit: {why}")))
}
