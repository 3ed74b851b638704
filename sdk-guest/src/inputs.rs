//! The interface `inputs`: several questions in one round trip.
//!
//! Asked one after the other, three questions cost a client of the stateless protocol three retries of the whole
//! request. Whatever does not depend on another answer belongs together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ask::{Asked, Question, Script};
use crate::bindings::inputs as wit;
use crate::elicitation::{self, Elicited};
use crate::roots::{self, Root};
use crate::sampling::{Sample, Sampled};
use crate::{Call, Error};

/// Questions to be asked together, each under a name of its own, for [`Call::gather`].
#[derive(Debug, Clone, Default)]
pub struct Gather {
    questions: Vec<(String, Result<Question, Error>)>,
}

impl Gather {
    /// No question yet.
    pub const fn new() -> Self {
        Self { questions: Vec::new() }
    }

    /// Asks the model, as [`Call::sample`] does.
    #[must_use]
    pub fn sample(self, key: impl Into<String>, sample: impl Into<Sample>) -> Self {
        self.with(key.into(), sample.into().params().map(Question::CreateMessage))
    }

    /// Shows a form, as [`Call::elicit`] does.
    #[must_use]
    pub fn elicit<T: JsonSchema>(self, key: impl Into<String>, message: impl Into<String>) -> Self {
        let params = elicitation::typed::<T>(message.into());
        self.with(key.into(), params.map(|params| Question::Elicit(params.to_string())))
    }

    /// Shows a form, as [`Call::elicit_form`] does.
    #[must_use]
    pub fn elicit_form(self, key: impl Into<String>, message: impl Into<String>, schema: Value) -> Self {
        let params = elicitation::form(message.into(), schema);
        self.with(key.into(), Ok(Question::Elicit(params.to_string())))
    }

    /// Sends the person to a web page, as [`Call::elicit_url`] does.
    #[must_use]
    pub fn elicit_url(
        self,
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        let params = elicitation::page(message.into(), url.into());
        self.with(key.into(), Ok(Question::Elicit(params.to_string())))
    }

    /// Asks for the user's folders, as [`Call::roots`] does.
    #[must_use]
    pub fn roots(self, key: impl Into<String>) -> Self {
        self.with(key.into(), Ok(Question::ListRoots))
    }

    fn with(mut self, key: String, question: Result<Question, Error>) -> Self {
        self.questions.push((key, question));
        self
    }
}

/// The answers, each under the name of its question.
#[derive(Debug, Clone)]
pub struct Gathered {
    answers: BTreeMap<String, Result<String, Error>>,
}

impl Gathered {
    /// What the model said.
    ///
    /// # Errors
    /// Those of [`Call::sample`], and `Internal` when there was no such question.
    pub fn sampled(&self, key: &str) -> Result<Sampled, Error> {
        Sampled::parse(self.answer(key)?)
    }

    /// What the person answered, when the question was [`Gather::elicit`] or [`Gather::elicit_form`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`], and `Internal` when there was no such question.
    pub fn elicited<T: DeserializeOwned>(&self, key: &str) -> Result<Elicited<T>, Error> {
        elicitation::parse(self.answer(key)?)
    }

    /// The same when the question was [`Gather::elicit_form`], as it came.
    ///
    /// # Errors
    /// Those of [`Gathered::elicited`].
    pub fn elicited_form(&self, key: &str) -> Result<Elicited<Map<String, Value>>, Error> {
        self.elicited(key)
    }

    /// Whether the person went to the page of [`Gather::elicit_url`].
    ///
    /// # Errors
    /// Those of [`Gathered::elicited`].
    pub fn visited(&self, key: &str) -> Result<Elicited<()>, Error> {
        elicitation::parse_visit(self.answer(key)?)
    }

    /// The user's folders.
    ///
    /// # Errors
    /// Those of [`Call::roots`], and `Internal` when there was no such question.
    pub fn roots(&self, key: &str) -> Result<Vec<Root>, Error> {
        roots::parse(self.answer(key)?)
    }

    fn answer(&self, key: &str) -> Result<&str, Error> {
        match self.answers.get(key) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::Internal(format!("no question was called `{key}`"))),
        }
    }
}

impl Call {
    /// Asks several questions at once. Each has its own outcome, so that one refusal does not spoil the others.
    ///
    /// ```
    /// use plugport_sdk::prelude::*;
    ///
    /// # let call = plugport_sdk::testing::Recorder::new().samples("Hi!").has_roots([("file:///a", None)]).call();
    /// let answers = call.gather(Gather::new().sample("greeting", "Greet me.").roots("folders"))?;
    /// assert_eq!(answers.sampled("greeting")?.text(), "Hi!");
    /// assert_eq!(answers.roots("folders")?[0].uri, "file:///a");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Internal` when a form is none, and the host's when it asks none of the questions.
    pub fn gather(&self, gather: Gather) -> Result<Gathered, Error> {
        let mut questions = Vec::new();
        for (key, question) in gather.questions {
            questions.push((key, question?));
        }
        let answers = match self.asked() {
            Asked::Host(handle) => {
                let questions: Vec<_> = questions.into_iter().map(question).collect();
                let answers = wit::request_inputs(handle, &questions)?;
                answers.into_iter().map(|answer| (answer.key, answer.outcome)).collect()
            }
            Asked::Script(script) => questions.into_iter().map(|asked| scripted(script, asked)).collect(),
        };
        Ok(Gathered { answers })
    }
}

fn question((key, question): (String, Question)) -> wit::InputRequest {
    let body = match question {
        Question::CreateMessage(params) => wit::Body::CreateMessage(params),
        Question::Elicit(params) => wit::Body::Elicit(params),
        Question::ListRoots => wit::Body::ListRoots,
    };
    wit::InputRequest { key, body }
}

fn scripted(script: &dyn Script, (key, question): (String, Question)) -> (String, Result<String, Error>) {
    let outcome = script.answer(Some(&key), &question);
    (key, outcome)
}
