//! What an argument type is made of, in no language yet.

use super::json::Json;

/// The type of a value.
#[derive(Debug, Clone)]
pub enum Kind {
    Boolean,
    Text { limits: Limits, pattern: Option<&'static Pattern> },
    Integer(Limits),
    Number(Limits),
    Choice(Vec<&'static str>),
    List { limits: Limits, items: Box<Kind> },
    Map(Box<Kind>),
    Object(ObjectType),
}

/// The least and the greatest number, or length; as JSON, so that every language gets the same digits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    pub min: Option<&'static str>,
    pub max: Option<&'static str>,
}

/// A regular expression, and texts that it matches.
#[derive(Debug)]
pub struct Pattern {
    pub source: &'static str,
    pub matching: [&'static str; 2],
}

/// An object, whose number is part of its name in each language.
#[derive(Debug, Clone)]
pub struct ObjectType {
    pub number: usize,
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub presence: Presence,
}

/// Whether a member may be missing, and what it is then.
#[derive(Debug, Clone)]
pub enum Presence {
    Required,
    Optional,
    Default(Json),
}

/// The arguments of one tool.
#[derive(Debug, Clone)]
pub struct ArgumentType {
    pub tool: String,
    pub object: ObjectType,
    /// All fields are scalars, as C has them.
    pub is_flat: bool,
}

impl Kind {
    /// The limits of a value of this type; of a number as well as of a length.
    pub fn limits(&self) -> Limits {
        match self {
            Self::Text { limits, .. }
            | Self::Integer(limits)
            | Self::Number(limits)
            | Self::List { limits, .. } => *limits,
            _ => Limits::default(),
        }
    }

    /// The pattern of a text.
    pub fn pattern(&self) -> Option<&'static str> {
        match self {
            Self::Text { pattern: Some(pattern), .. } => Some(pattern.source),
            _ => None,
        }
    }
}

impl ObjectType {
    /// This object and all within it, the inner ones first.
    pub fn all(&self) -> Vec<&Self> {
        let mut found: Vec<&Self> = self.fields.iter().flat_map(|field| objects_in(&field.kind)).collect();
        found.push(self);
        found
    }
}

fn objects_in(kind: &Kind) -> Vec<&ObjectType> {
    match kind {
        Kind::List { items, .. } => objects_in(items),
        Kind::Map(values) => objects_in(values),
        Kind::Object(object) => object.all(),
        _ => Vec::new(),
    }
}
