//! What the name of a type says about its values.

use syn::{GenericArgument, PathArguments, Type};

/// The kind of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    Integer(&'static Integer),
    Float,
    Text,
    /// A list or a map.
    Collection,
    /// Something that no limit is for.
    Unlimited,
    /// A type of the author's own, for instance.
    Unknown,
}

/// A type of integers.
#[derive(PartialEq, Eq)]
pub(super) struct Integer {
    pub(super) name: &'static str,
    pub(super) min: i128,
    pub(super) max: i128,
}

const fn integer(name: &'static str, min: i128, max: i128) -> Integer {
    Integer { name, min, max }
}

static INTEGERS: [Integer; 10] = [
    integer("u8", 0, u8::MAX as i128),
    integer("u16", 0, u16::MAX as i128),
    integer("u32", 0, u32::MAX as i128),
    integer("u64", 0, u64::MAX as i128),
    integer("usize", 0, u64::MAX as i128),
    integer("i8", i8::MIN as i128, i8::MAX as i128),
    integer("i16", i16::MIN as i128, i16::MAX as i128),
    integer("i32", i32::MIN as i128, i32::MAX as i128),
    integer("i64", i64::MIN as i128, i64::MAX as i128),
    integer("isize", i64::MIN as i128, i64::MAX as i128),
];

impl ArgumentKind {
    /// The kind of a type, or of what an `Option` or a `Box` has.
    pub(super) fn of(ty: &Type) -> Self {
        let Type::Path(path) = ty else { return Self::Unknown };
        let Some(last) = path.path.segments.last() else { return Self::Unknown };
        let name = last.ident.to_string();
        if let Some(integer) = INTEGERS.iter().find(|integer| integer.name == name) {
            return Self::Integer(integer);
        }
        match name.as_str() {
            "Option" | "Box" => inner(&last.arguments).map_or(Self::Unknown, Self::of),
            "f32" | "f64" => Self::Float,
            "String" | "PathBuf" => Self::Text,
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" | "HashMap" | "BTreeMap" => Self::Collection,
            "bool" => Self::Unlimited,
            _ => Self::Unknown,
        }
    }
}

fn inner(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
