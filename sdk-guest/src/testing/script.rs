//! What a client answers in a test, written down before.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::Error;
use crate::ask::Question;
use crate::testing::Recorder;

/// A question that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// The name that the question was given.
    pub key: Option<String>,
    /// `sampling/createMessage`, `elicitation/create` or `roots/list`.
    pub method: &'static str,
    /// Its parameters.
    pub params: Value,
}

/// `None` when the client does not offer this at all.
type Queue = RefCell<Option<VecDeque<Result<Value, Error>>>>;

#[derive(Debug, Default)]
pub(super) struct Answers {
    sampling: Queue,
    elicitation: Queue,
    roots: RefCell<Option<Value>>,
    asked: RefCell<Vec<Asking>>,
}

impl Answers {
    pub(super) fn answer(&self, key: Option<&str>, question: &Question) -> Result<String, Error> {
        let (method, params) = match question {
            Question::CreateMessage(params) => ("sampling/createMessage", params.as_str()),
            Question::Elicit(params) => ("elicitation/create", params.as_str()),
            Question::ListRoots => ("roots/list", "{}"),
        };
        let params = serde_json::from_str(params).unwrap_or_else(|_| params.into());
        self.asked.borrow_mut().push(Asking { key: key.map(str::to_owned), method, params });
        let answer = match question {
            Question::CreateMessage(_) => next(&self.sampling, "sampling"),
            Question::Elicit(_) => next(&self.elicitation, "elicitation"),
            Question::ListRoots => {
                let roots = self.roots.borrow().clone();
                roots.ok_or_else(|| Error::MissingCapability("roots".to_owned()))
            }
        };
        answer.map(|answer| answer.to_string())
    }
}

fn next(queue: &Queue, capability: &str) -> Result<Value, Error> {
    match queue.borrow_mut().as_mut() {
        None => Err(Error::MissingCapability(capability.to_owned())),
        Some(answers) => answers.pop_front().unwrap_or_else(|| {
            Err(Error::Internal(format!("the test has no more answers for {capability}")))
        }),
    }
}

/// Answers to questions, each to the next one of its kind. A client that has one to give offers the capability too.
impl Recorder {
    /// Lets the model say this.
    #[must_use]
    pub fn samples(self, text: impl Into<String>) -> Self {
        let content = json!({"type": "text", "text": text.into()});
        let answer =
            json!({"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"});
        self.samples_with(Ok(answer))
    }

    /// Lets sampling have this outcome: the result of `sampling/createMessage`, or an error.
    #[must_use]
    pub fn samples_with(self, outcome: Result<Value, Error>) -> Self {
        self.0.client.borrow_mut().sampling = true;
        self.0.answers.sampling.borrow_mut().get_or_insert_default().push_back(outcome);
        self
    }

    /// Lets the person fill in the form like this.
    #[must_use]
    pub fn accepts(self, content: Value) -> Self {
        self.elicits_with(Ok(json!({"action": "accept", "content": content})))
    }

    /// Lets the person go to a web page.
    #[must_use]
    pub fn visits(self) -> Self {
        self.elicits_with(Ok(json!({"action": "accept"})))
    }

    /// Lets the person say no.
    #[must_use]
    pub fn declines(self) -> Self {
        self.elicits_with(Ok(json!({"action": "decline"})))
    }

    /// Lets the person go away.
    #[must_use]
    pub fn closes(self) -> Self {
        self.elicits_with(Ok(json!({"action": "cancel"})))
    }

    /// Lets elicitation have this outcome: the result of `elicitation/create`, or an error.
    #[must_use]
    pub fn elicits_with(self, outcome: Result<Value, Error>) -> Self {
        self.0.client.borrow_mut().elicitation = true;
        self.0.answers.elicitation.borrow_mut().get_or_insert_default().push_back(outcome);
        self
    }

    /// Lets the user have these folders: URIs, and names where they have them.
    #[must_use]
    pub fn has_roots<'a>(self, roots: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let listed = roots.into_iter().map(|(uri, name)| match name {
            Some(name) => json!({"uri": uri, "name": name}),
            None => json!({"uri": uri}),
        });
        let listed = json!({"roots": listed.collect::<Value>()});
        self.0.client.borrow_mut().roots = true;
        self.0.answers.roots.replace(Some(listed));
        self
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asking> {
        self.0.answers.asked.borrow().clone()
    }
}
