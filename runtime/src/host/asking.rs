//! What the imports that ask the client share: the grants, the bounds, the wait.
//!
//! One path for single questions and for several at once, so that no import is bounded less than another. Whether the
//! client can answer, and how it is asked, is decided above, behind [`ClientPort`](super::ClientPort).

use std::collections::HashSet;
use std::sync::Arc;

use wasmtime::component::Resource;

use super::budget::OneCall;
use super::client_port::{AskError, Question, QuestionBody};
use super::failure::denied;
use super::{Call, Failure, State};
use crate::bindings::plugport::plugin::types::{Error, RpcError};
use crate::config::{Limits, kib};

/// Longest key of a question, bytes.
const KEY: usize = 128;

/// What a question costs beside its text, as if it were so many bytes.
const QUESTION: usize = 2_000;

/// The outcome of each question, in order.
pub(super) type Outcomes = Vec<Result<String, Error>>;

impl State {
    /// Asks one question.
    pub(super) async fn ask_one(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        body: QuestionBody,
    ) -> Result<String, Failure> {
        let mut outcomes = self.ask(call, vec![Question { key, body }]).await?;
        let outcome =
            outcomes.pop().unwrap_or_else(|| Err(Error::Internal("the question was lost".to_owned())));
        Ok(outcome?)
    }

    /// Asks several questions in one round trip.
    pub(super) async fn ask(
        &mut self,
        call: Resource<Call>,
        questions: Vec<Question>,
    ) -> Result<Outcomes, Failure> {
        let size = |question: &Question| {
            question.body.size() + question.key.as_ref().map_or(0, String::len) + QUESTION
        };
        self.meter.charge(questions.iter().map(size).sum()).await?;
        let port = Arc::clone(&self.calls.get(&call)?.port);
        if let Err(error) = self.admit(&questions) {
            self.note_budget(&error);
            return Err(error.into());
        }
        let (asked, outcomes) = self.granted(questions);
        if asked.is_empty() {
            return Ok(outcomes.into_iter().filter_map(Outcome::known).collect());
        }
        let mut answers = self.waiting.outside(port.ask(asked)).await.into_iter();
        let mut size = 0;
        let mut take = |cost: Option<u64>| {
            let answer = answers.next().unwrap_or(Err(AskError::TimedOut));
            size += answer.as_ref().map_or(0, String::len);
            if let (Err(error), Some(cost), Some(hourly)) = (&answer, cost, &self.shared.sampling)
                && error.is_free()
            {
                OneCall::unasked(hourly, cost);
            }
            answer.map_err(in_words)
        };
        let outcomes = outcomes.into_iter().map(|outcome| match outcome {
            Outcome::Refused(error) => Err(error),
            Outcome::Asked { tokens } => take(tokens),
        });
        let outcomes = outcomes.collect();
        self.meter.charge(size).await?;
        Ok(outcomes)
    }

    /// Whether a call may ask so many more questions; how many it then may still ask.
    fn left(&self, count: usize) -> Result<u64, Error> {
        let Questions { most, left, .. } = self.questions;
        let over = || Error::OverBudget(format!("a call may ask {most} questions (limit `questions`)"));
        left.checked_sub(count as u64).ok_or_else(over)
    }

    /// The same for questions that are still to be put together.
    pub(super) fn has_room(&mut self, count: usize) -> Result<(), Error> {
        self.left(count).inspect_err(|error| self.note_budget(error)).map(|_| ())
    }

    /// Counts the questions against the call's budget, before anything else is done for them, and looks at their form.
    fn admit(&mut self, questions: &[Question]) -> Result<(), Error> {
        self.questions.left = self.left(questions.len())?;
        let longest = self.questions.longest;
        let mut keys = HashSet::new();
        for question in questions {
            if question.body.size() > longest {
                let kib = longest >> 10;
                let why = format!("a question has at most {kib} KiB (limit `question_kib`)");
                return Err(Error::OverBudget(why));
            }
            let Some(key) = &question.key else { continue };
            let is_text = (1..=KEY).contains(&key.len()) && !key.chars().any(char::is_control);
            if !is_text || !keys.insert(key) {
                return Err(Error::InvalidParams(format!(
                    "keys are unique and have 1 to {KEY} bytes of text"
                )));
            }
        }
        Ok(())
    }

    /// The questions that the operator lets this plugin ask, and what becomes of every one.
    fn granted(&mut self, questions: Vec<Question>) -> (Vec<Question>, Vec<Outcome>) {
        let mut asked = Vec::new();
        let mut outcomes = Vec::new();
        for question in questions {
            match self.admit_one(&question.body) {
                Ok(tokens) => {
                    asked.push(question);
                    outcomes.push(Outcome::Asked { tokens });
                }
                Err(error) => {
                    self.note_budget(&error);
                    outcomes.push(Outcome::Refused(error));
                }
            }
        }
        (asked, outcomes)
    }

    fn note_budget(&mut self, error: &Error) {
        if let Error::OverBudget(why) = error {
            self.reached(why);
        }
    }

    /// Whether one question may be asked, and for how many tokens.
    fn admit_one(&mut self, body: &QuestionBody) -> Result<Option<u64>, Error> {
        let shared = Arc::clone(&self.shared);
        let grants = &shared.config.grants;
        let budget = &mut self.questions.budget;
        match (body, &shared.sampling) {
            (QuestionBody::CreateMessage(params), Some(hourly)) => budget.sample(hourly, params).map(Some),
            (QuestionBody::Elicit(_), _) if grants.elicitation => budget.elicit().map(|()| None),
            (QuestionBody::ListRoots, _) if grants.roots => Ok(None),
            _ => {
                let capability = body.capability();
                self.deny(capability, format!("{capability} = true"));
                Err(denied(capability))
            }
        }
    }
}

/// What becomes of a question.
enum Outcome {
    /// It is not asked.
    Refused(Error),
    /// It is; one to the model was counted as so many tokens.
    Asked { tokens: Option<u64> },
}

impl Outcome {
    fn known(self) -> Option<Result<String, Error>> {
        match self {
            Self::Refused(error) => Some(Err(error)),
            Self::Asked { .. } => None,
        }
    }
}

/// What a call may still ask.
#[derive(Debug)]
pub(super) struct Questions {
    most: u64,
    left: u64,
    longest: usize,
    budget: OneCall,
}

impl Questions {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.questions,
            left: limits.questions,
            longest: kib(limits.question_kib),
            budget: OneCall::new(limits),
        }
    }
}

fn in_words(error: AskError) -> Error {
    match error {
        AskError::Missing(capability) => Error::MissingCapability(capability.to_owned()),
        AskError::Invalid(why) => Error::InvalidParams(why),
        AskError::Rejected(why) => Error::Rejected(why),
        AskError::TimedOut => Error::TimedOut,
        AskError::Cancelled => Error::Cancelled,
        AskError::OverBudget(why) => Error::OverBudget(why),
        AskError::Failed { code, message } => Error::Rpc(RpcError { code, message, data: None }),
    }
}
