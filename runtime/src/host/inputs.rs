//! `plugport:plugin/inputs`: several questions at once, answered in one round trip.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::inputs::{self, Answer, Body, Host};

use super::client_port::{Question, QuestionBody};
use super::{Call, Failure, State};

/// What a question takes in the list that a guest hands over, beside its text, bytes.
const ENTRY: usize = 64;

impl Host for State {
    async fn gather(
        &mut self,
        call: Resource<Call>,
        questions: Vec<inputs::Question>,
    ) -> Result<Vec<Answer>, Failure> {
        // Before anything is made of them: there may be as many as one call can hand over. They are gone before anything waits.
        if let Err(error) = self.has_room(questions.len()) {
            let price = questions.len().saturating_mul(ENTRY);
            drop(questions);
            self.meter.charge_work(price, 0).await?;
            return Err(error.into());
        }
        let keys: Vec<String> = questions.iter().map(|question| question.key.clone()).collect();
        let questions = questions.into_iter().map(|question| Question {
            key: Some(question.key),
            body: match question.body {
                Body::CreateMessage(params) => QuestionBody::CreateMessage(params),
                Body::Elicit(params) => QuestionBody::Elicit(params),
                Body::ListRoots => QuestionBody::ListRoots,
            },
        });
        let outcomes = self.ask(call, questions.collect()).await?;
        Ok(keys.into_iter().zip(outcomes).map(|(key, outcome)| Answer { key, outcome }).collect())
    }
}
