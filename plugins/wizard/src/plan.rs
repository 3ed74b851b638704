//! The plan, and the sentence that describes it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Basics, Diet, Kind};

/// What was planned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    title: String,
    kind: Kind,
    date: String,
    guests: u32,
    details: Details,
    /// What the person added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What matters for one kind of event only.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Details {
    Dinner { diets: Vec<Diet>, budget: Option<f64> },
    Talk { speaker: String, recorded: bool },
    Hike { kilometres: f64, children: bool },
}

impl Plan {
    pub(crate) fn new(title: String, basics: Basics, details: Details) -> Self {
        let Basics { kind, date, guests } = basics;
        Self { title, kind, date, guests, details, note: None }
    }

    /// One sentence for a person to agree to.
    pub(crate) fn in_words(&self) -> String {
        let Self { title, date, guests, .. } = self;
        let people = if *guests == 1 { "1 person".to_owned() } else { format!("{guests} people") };
        let details = match &self.details {
            Details::Dinner { diets, budget } => {
                let minding =
                    if diets.is_empty() { String::new() } else { format!(", minding {}", listed(diets)) };
                let costs = budget.map_or(String::new(), |budget| format!(", for up to {budget:.2} each"));
                format!("a dinner{minding}{costs}")
            }
            Details::Talk { speaker, recorded } => {
                let recorded = if *recorded { ", recorded" } else { "" };
                format!("a talk by {speaker}{recorded}")
            }
            Details::Hike { kilometres, children } => {
                let children = if *children { ", with children" } else { "" };
                format!("a hike of {kilometres} km{children}")
            }
        };
        format!("“{title}” on {date} with {people}: {details}.")
    }
}

fn listed(diets: &[Diet]) -> String {
    let name = |diet: &Diet| match diet {
        Diet::Vegetarian => "vegetarians",
        Diet::Vegan => "vegans",
        Diet::GlutenFree => "those without gluten",
        Diet::NutFree => "those without nuts",
    };
    diets.iter().map(name).collect::<Vec<_>>().join(", ")
}
