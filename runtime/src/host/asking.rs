//! What the imports that ask the client share: the grants, the bounds, the wait.
//!
//! One path for single questions and for several at once, so that no import is bounded less than another. Whether the
//! client can answer, and how it is asked, is decided above, behind [`ClientPort`](super::ClientPort).

use std::collections::HashSet;
use std::sync::Arc;

use wasmtime::component::Resource;

use super::client_port::{AskError, Question, QuestionBody};
use super::failure::denied;
use super::{Call, Failure, State};
use crate::bindings::plugport::plugin::types::{Error, RpcError};

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
        let port = Arc::clone(&self.table.get(&call)?.port);
        self.admit(&questions)?;
        let (asked, outcomes) = self.granted(questions);
        if asked.is_empty() {
            return Ok(outcomes.into_iter().flatten().collect());
        }
        let mut answers = self.waiting.outside(port.ask(asked)).await.into_iter();
        let mut size = 0;
        let outcomes = outcomes
            .into_iter()
            .map(|refused| {
                refused.unwrap_or_else(|| {
                    let answer = answers.next().unwrap_or(Err(AskError::TimedOut));
                    size += answer.as_ref().map_or(0, String::len);
                    answer.map_err(in_words)
                })
            })
            .collect();
        self.meter.charge(size).await?;
        Ok(outcomes)
    }

    /// Counts the questions against the call's budget, before anything else is done for them, and looks at their form.
    fn admit(&mut self, questions: &[Question]) -> Result<(), Error> {
        let (most, longest) = (self.questions.most, self.questions.longest);
        let left = self.questions.left.checked_sub(questions.len() as u64);
        self.questions.left = left.ok_or_else(|| {
            Error::OverBudget(format!("a call may ask {most} questions (limit `questions`)"))
        })?;
        let mut keys = HashSet::new();
        for question in questions {
            if question.body.size() > longest {
                let kib = longest >> 10;
                let why = format!("a question has at most {kib} KiB (limit `question_kib`)");
                return Err(Error::OverBudget(why));
            }
            let Some(key) = &question.key else { continue };
            if !keys.insert(key) || key.is_empty() || key.len() > KEY || key.chars().any(char::is_control) {
                return Err(Error::InvalidParams(format!(
                    "keys are unique and have 1 to {KEY} bytes of text"
                )));
            }
        }
        Ok(())
    }

    /// The questions that the operator lets this plugin ask, and a place for the outcome of every one.
    fn granted(&mut self, questions: Vec<Question>) -> (Vec<Question>, Vec<Option<Result<String, Error>>>) {
        let mut asked = Vec::new();
        let mut outcomes = Vec::new();
        for question in questions {
            let granted = match question.body {
                QuestionBody::CreateMessage(_) => self.questions.sampling,
                QuestionBody::Elicit(_) => self.questions.elicitation,
                QuestionBody::ListRoots => self.questions.roots,
            };
            if granted {
                asked.push(question);
                outcomes.push(None);
            } else {
                let capability = question.body.capability();
                self.deny(capability, &format!("{capability} = true"));
                outcomes.push(Some(Err(denied(capability))));
            }
        }
        (asked, outcomes)
    }
}

/// What a call may still ask.
#[derive(Debug)]
pub(super) struct Questions {
    most: u64,
    left: u64,
    longest: usize,
    sampling: bool,
    elicitation: bool,
    roots: bool,
}

impl Questions {
    pub(super) fn new(grants: &crate::config::Grants, limits: &crate::config::Limits) -> Self {
        Self {
            most: limits.questions,
            left: limits.questions,
            longest: crate::config::kib(limits.question_kib),
            sampling: grants.sampling,
            elicitation: grants.elicitation,
            roots: grants.roots,
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
