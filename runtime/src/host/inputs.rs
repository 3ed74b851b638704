//! `plugport:plugin/inputs`: several questions at once. Not bridged to clients yet, like the single ones.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::inputs::{Answer, Host, Question};

use super::failure::denied;
use super::{Call, Failure, State};

impl Host for State {
    async fn gather(&mut self, _: Resource<Call>, questions: Vec<Question>) -> Result<Vec<Answer>, Failure> {
        self.meter.charge(questions.len() * 64).await?;
        Err(denied("inputs"))
    }
}
