//! Questions to a client with a session: server requests on the stream of the request that the guest serves.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use super::super::context::{RequestContext, Round};
use super::super::message::{notification, request};
use super::super::outbox::Outgoing;
use super::super::sessions::session::Session;
use super::asked::{Answered, Awaited, ClientError};
use super::parked::Whose;
use super::question::Prepared;
use crate::host::AskError;

type Answer = (usize, Result<String, AskError>);

/// Code with which clients say that the person or the model's owner said no.
const REJECTED: i64 = -1;

/// Asks all at once and waits for all answers, for as long as a call may wait.
pub(in crate::protocol) async fn in_session(
    context: &RequestContext,
    session: &Arc<Session>,
    plugin: &Arc<str>,
    most_parked: usize,
    open: Vec<(usize, Prepared)>,
) -> Vec<Answer> {
    let round = context.round();
    let all = |open: &[(usize, Prepared)], error: &AskError| {
        open.iter().map(|(at, _)| (*at, Err(error.clone()))).collect::<Vec<_>>()
    };
    if !round.can_ask {
        return open
            .iter()
            .map(|(at, question)| (*at, Err(AskError::Missing(question.capability()))))
            .collect();
    }
    let whose = Whose { plugin: Arc::clone(plugin), caller: context.caller.clone() };
    let Some(ticket) = context.parked.wait(whose, most_parked) else {
        return all(&open, &AskError::Cancelled);
    };
    let questions =
        join_all(open.iter().map(|(at, question)| ask(context, (session, &round), *at, question)));
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => all(&open, &AskError::Cancelled),
        answers = questions => answers,
        () = ticket.evicted.cancelled() => {
            let why = "too many calls wait for their clients (limits `parked_calls`); try again later";
            let evicted = AskError::OverBudget(why.to_owned());
            all(&open, if context.parked.is_closed() { &AskError::Cancelled } else { &evicted })
        }
        () = tokio::time::sleep(context.parked.lasts()) => all(&open, &AskError::TimedOut),
    }
}

async fn ask(
    context: &RequestContext,
    (session, round): (&Arc<Session>, &Round),
    at: usize,
    question: &Prepared,
) -> Answer {
    let mut pending = Pending { round, awaited: session.asked.begin(), settled: false };
    let message = request(pending.awaited.id, question.method, &question.params);
    if round.outbox.deliver(Outgoing::Message(message)).await.is_err() {
        return (at, Err(AskError::Cancelled));
    }
    let answered = (&mut pending.awaited.answer).await;
    pending.settled = true;
    let Ok((answered, held)) = answered else { return (at, Err(AskError::Cancelled)) };
    context.hold(held);
    (at, read(question, answered))
}

fn read(question: &Prepared, answered: Answered) -> Result<String, AskError> {
    match answered {
        Ok(result) => question.read(&result).map_err(|why| AskError::Failed {
            code: -32603,
            message: format!("the client's answer cannot be used: {why}"),
        }),
        Err(ClientError { code: REJECTED, message }) => Err(AskError::Rejected(message)),
        Err(ClientError { code, message }) => {
            Err(AskError::Failed { code: i32::try_from(code).unwrap_or(-32603), message })
        }
    }
}

/// Tells the client when a question of ours is no longer wanted.
struct Pending<'r> {
    round: &'r Round,
    awaited: Awaited,
    settled: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let params = json!({ "requestId": self.awaited.id, "reason": "the tool no longer waits for it" });
            self.round.outbox.send(notification("notifications/cancelled", &params));
        }
    }
}
