//! Names, texts and numbers at which languages could differ.

use super::kind::{Limits, Pattern};

/// Names of members: keywords of each language and of JSON Schema, what every object of JavaScript has, and letters
/// that no identifier has.
pub const NAMES: &[&str] = &[
    "name",
    "class",
    "type",
    "default",
    "required",
    "properties",
    "enum",
    "items",
    "in",
    "for",
    "func",
    "self",
    "None",
    "async",
    "await",
    "let",
    "this",
    "toString",
    "constructor",
    "__proto__",
    "größe",
    "snake_case",
    "camelCase",
    "kebab-case",
    "with space",
    "a.b",
    "$ref",
    "const",
    "examples",
    "call",
    "range",
    "select",
    "def",
    "lambda",
    "crate",
    "fn",
    "match",
    "int",
    "static",
    "null",
    "true",
    "日本",
    "é",
    "X",
    "x",
    "id",
    "is",
    "description",
    "title",
    "anyOf",
    "additionalProperties",
    "len",
    "args",
    "_",
    "a/b",
    "a~b",
    "format",
    "pattern",
    "minimum",
    "eval",
    "yield",
    "super",
    "map",
    "chan",
    "json",
    "value",
    "😀",
];

pub const TEXTS: &[&str] = &[
    "",
    "a",
    "abc",
    "zzzz",
    "Ünïcödé",
    "日本語",
    "😀😀",
    "é",
    "12",
    "a b",
    "\"q\"",
    "back\\slash",
    "tab\t",
    "new\nline",
    "</script>",
    "%d{}",
    "0123456789abcdef",
    "null",
    "true",
    "𝒳",
    "1.5",
    "ab",
];

/// Choices have neither `,` nor `|`, with which Go and C separate them.
pub const CHOICES: &[&str] = &[
    "red",
    "green",
    "blue",
    "RED",
    "ünï",
    "with space",
    "type",
    "null",
    "1",
    "a-b",
    "日本",
    "\"q\"",
    "true",
    "x.y",
];

pub const PATTERNS: &[Pattern] = &[
    Pattern { source: "^[a-z]+$", matching: ["abc", "zzzz"] },
    Pattern { source: "^\\d{2}$", matching: ["12", "77"] },
    Pattern { source: "é", matching: ["caféé", "é"] },
    Pattern { source: "^.{0,5}$", matching: ["日本", "😀😀😀😀😀"] },
    Pattern { source: "^(a|b)*c?$", matching: ["ababc", ""] },
    Pattern { source: "\\.", matching: ["1.5", "."] },
];

/// Whole numbers in every notation, up to those that no language holds, and some that are not whole.
pub const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "7",
    "100",
    "-0",
    "1.0",
    "-3.0",
    "1e3",
    "1.5e1",
    "10e-1",
    "0.0",
    "-0.0",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993.0",
    "1e18",
    "9.223372036854775807e18",
    "1e20",
    "123456789012",
    "100000000000000000000000",
    "12345678901234567.0",
];

pub const NUMBERS: &[&str] = &[
    "0.5",
    "-2.5",
    "1e-7",
    "1e308",
    "1.7976931348623157e308",
    "5e-324",
    "0.1",
    "-1e308",
    "3.141592653589793",
    "1E5",
    "2.50",
    "0.9385958677423489",
    "3.8120423768821246",
    "-0.0",
    "9007199254740993",
    "1",
    "-1.5",
    "0.75",
];

const fn from(min: &'static str) -> Limits {
    Limits { min: Some(min), max: None }
}

const fn to(max: &'static str) -> Limits {
    Limits { min: None, max: Some(max) }
}

const fn between(min: &'static str, max: &'static str) -> Limits {
    Limits { min: Some(min), max: Some(max) }
}

/// Limits on both sides come first: C has no others.
pub const INTEGER_LIMITS: &[Limits] = &[
    between("0", "100"),
    between("-5", "5"),
    between("-9007199254740991", "9007199254740990"),
    from("0"),
    from("-3"),
    to("10"),
    to("9007199254740991"),
];

pub const NUMBER_LIMITS: &[Limits] =
    &[between("0", "1"), between("-1.5", "1.5"), between("0.1", "100"), from("0.5"), to("1e300")];

/// How many of each are limits on both sides.
pub const TWO_SIDED: usize = 3;

pub const TEXT_LIMITS: &[Limits] = &[from("1"), from("3"), to("2"), to("8"), between("1", "4")];

pub const LIST_LIMITS: &[Limits] = &[from("1"), to("3"), between("1", "4")];
