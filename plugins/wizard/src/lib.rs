//! Plans an event by asking a person, one form after the other.
//!
//! Each form depends on the answers before it, which is what a dialogue is for: what can be known from the arguments is
//! not asked, what does not matter for this event is not asked either, and the person can leave at every step.

mod plan;

use plugport_sdk::prelude::*;
use plugport_sdk::{ElicitResult, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plan::Plan;

/// What kind of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Around a table.
    Dinner,
    /// In front of an audience.
    Talk,
    /// Outdoors.
    Hike,
}

/// The first form.
#[derive(Debug, Deserialize, JsonSchema)]
struct Basics {
    /// What kind of event is it?
    kind: Kind,
    /// On which day?
    #[schemars(extend("format" = "date"))]
    date: String,
    /// How many people come?
    #[schemars(range(min = 1, max = 500))]
    guests: u32,
}

/// What someone may not or does not want to eat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Diet {
    /// No meat.
    Vegetarian,
    /// Nothing from animals.
    Vegan,
    /// No gluten.
    GlutenFree,
    /// No nuts.
    NutFree,
}

/// The second form of a dinner.
#[derive(Debug, Deserialize, JsonSchema)]
struct Table {
    /// What has to be minded?
    #[serde(default)]
    diets: Vec<Diet>,
    /// How much may it cost for each person?
    #[schemars(range(min = 0))]
    budget: Option<f64>,
}

/// The second form of a talk.
#[derive(Debug, Deserialize, JsonSchema)]
struct Stage {
    /// Who speaks?
    #[schemars(length(min = 1))]
    speaker: String,
    /// Is it to be recorded?
    #[serde(default)]
    recorded: bool,
}

/// The second form of a hike.
#[derive(Debug, Deserialize, JsonSchema)]
struct Trail {
    /// How many kilometres?
    #[schemars(range(min = 1, max = 60))]
    kilometres: f64,
    /// Do children come along?
    #[serde(default)]
    children: bool,
}

/// The last form.
#[derive(Debug, Deserialize, JsonSchema)]
struct Confirmation {
    /// Is this right?
    right: bool,
    /// Anything to add?
    note: Option<String>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the person did not want to go on; nothing was planned")]
    Left,
    #[error("the person said that the plan is not right; call again to start over")]
    NotRight,
    #[error("the person could not be asked")]
    ClientRequest(#[from] Error),
}

/// Plan an event together with the person at the client, who is asked step by step.
#[tool]
fn plan_event(
    call: &Call,
    /// What the event is called.
    title: String,
) -> Result<Plan, Fault> {
    call.progress(0.0, 3.0, "asking for the basics");
    let basics: Basics = answered(call.keyed("basics").elicit(format!("Let us plan “{title}”."))?)?;
    call.progress(1.0, 3.0, "asking for the details");
    let details = details(call, &basics)?;
    let mut plan = Plan::new(title, basics, details);
    call.progress(2.0, 3.0, "asking whether it is right");
    let question = format!("{}\n\nShall it be like this?", plan.in_words());
    let confirmation: Confirmation = answered(call.keyed("confirmation").elicit(question)?)?;
    if !confirmation.right {
        return Err(Fault::NotRight);
    }
    plan.note = confirmation.note.filter(|note| !note.trim().is_empty());
    call.progress(3.0, 3.0, "planned");
    Ok(plan)
}

/// Asks what matters for this kind of event.
fn details(call: &Call, basics: &Basics) -> Result<plan::Details, Fault> {
    let keyed = call.keyed("details");
    Ok(match basics.kind {
        Kind::Dinner => {
            let Table { diets, budget } = answered(keyed.elicit("About the dinner:")?)?;
            plan::Details::Dinner { diets, budget }
        }
        Kind::Talk => {
            let Stage { speaker, recorded } = answered(keyed.elicit("About the talk:")?)?;
            plan::Details::Talk { speaker, recorded }
        }
        Kind::Hike => {
            let Trail { kilometres, children } = answered(keyed.elicit("About the hike:")?)?;
            plan::Details::Hike { kilometres, children }
        }
    })
}

fn answered<T>(elicited: ElicitResult<T>) -> Result<T, Fault> {
    elicited.ok().ok_or(Fault::Left)
}

plugport_sdk::export! { tools: [plan_event] }

#[cfg(test)]
mod tests;
