//! Types, values and JSON by chance, the same in every run.

use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use super::super::shape::{Integer, Shape};

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn half(&mut self) -> bool {
        self.below(2) == 0
    }

    fn named<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<(String, T)> {
        let count = 1 + self.below(4);
        (0..count).map(|at| (["a", "b-c", "ok", "some", "d"][at].to_owned(), item(self))).collect()
    }

    pub(super) fn shape(&mut self, depth: usize) -> Shape {
        const WIDTHS: [Integer; 8] = [
            Integer::S8,
            Integer::U8,
            Integer::S16,
            Integer::U16,
            Integer::S32,
            Integer::U32,
            Integer::S64,
            Integer::U64,
        ];
        match self.below(if depth == 0 { 8 } else { 17 }) {
            0 => Shape::Bool,
            1 => Shape::Integer(WIDTHS[self.below(8)]),
            2 => Shape::F32,
            3 => Shape::F64,
            4 => Shape::Char,
            5 => Shape::String,
            6 => Shape::Enum(self.named(|_| ()).into_iter().collect()),
            7 => Shape::Flags(self.named(|_| ()).into_iter().collect()),
            8 => Shape::List(Box::new(self.shape(depth - 1))),
            9 => Shape::Fixed(Box::new(self.shape(depth - 1)), 2),
            10 => Shape::Map(Box::new((self.shape(0), self.shape(depth - 1)))),
            11 | 12 => Shape::Record(self.named(|dice| dice.shape(depth - 1))),
            13 => Shape::Tuple((0..=self.below(3)).map(|_| self.shape(depth - 1)).collect()),
            14 => Shape::Variant(
                self.named(|dice| dice.half().then(|| dice.shape(depth - 1))).into_iter().collect(),
            ),
            15 => Shape::Option(Box::new(self.shape(depth - 1))),
            _ => {
                let mut part = || self.half().then(|| Box::new(self.shape(depth - 1)));
                Shape::Result(part(), part())
            }
        }
    }

    fn text(&mut self) -> String {
        const LETTERS: [char; 8] = ['a', '"', '\\', '\n', 'é', '\u{0}', '😀', ' '];
        (0..self.below(6)).map(|_| LETTERS[self.below(8)]).collect()
    }

    fn float(&mut self) -> f64 {
        const ODD: [f64; 7] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN_POSITIVE];
        match self.below(3) {
            0 => ODD[self.below(7)],
            1 => (self.next() as i64) as f64 / 1024.0,
            _ => f64::from_bits(self.next()),
        }
    }

    fn whole(&mut self, integer: Integer) -> Val {
        let (least, largest) = integer.range();
        let number = match self.below(4) {
            0 => least,
            1 => largest,
            _ => least + i128::from(self.next()) % (largest - least + 1),
        };
        integer.val(number).unwrap()
    }

    fn vals(&mut self, shape: &Shape, count: usize) -> Vec<Val> {
        (0..count).map(|_| self.val(shape)).collect()
    }

    pub(super) fn val(&mut self, shape: &Shape) -> Val {
        let count = self.below(4);
        match shape {
            Shape::Bool => Val::Bool(self.half()),
            Shape::Integer(integer) => self.whole(*integer),
            Shape::F32 => Val::Float32(self.float() as f32),
            Shape::F64 => Val::Float64(self.float()),
            Shape::Char => Val::Char(['a', '"', '\u{10ffff}', '\n'][self.below(4)]),
            Shape::String => Val::String(self.text()),
            Shape::List(item) => Val::List(self.vals(item, count)),
            Shape::Fixed(item, length) => Val::FixedLengthList(self.vals(item, *length as usize)),
            Shape::Map(pair) => {
                Val::Map((0..count).map(|_| (self.val(&pair.0), self.val(&pair.1))).collect())
            }
            Shape::Record(fields) => {
                Val::Record(fields.iter().map(|(name, shape)| (name.clone(), self.val(shape))).collect())
            }
            Shape::Tuple(shapes) => Val::Tuple(shapes.iter().map(|shape| self.val(shape)).collect()),
            Shape::Variant(cases) => {
                let (name, shape) = cases.iter().nth(self.below(cases.len())).unwrap();
                Val::Variant(name.to_owned(), shape.as_ref().map(|shape| Box::new(self.val(shape))))
            }
            Shape::Enum(names) => Val::Enum(names.iter().nth(self.below(names.len())).unwrap().0.to_owned()),
            Shape::Option(inner) => Val::Option(self.half().then(|| Box::new(self.val(inner)))),
            Shape::Result(ok, err) => {
                let mut part =
                    |shape: &Option<Box<Shape>>| shape.as_ref().map(|shape| Box::new(self.val(shape)));
                Val::Result(if count.is_multiple_of(2) { Ok(part(ok)) } else { Err(part(err)) })
            }
            Shape::Flags(names) => {
                let set = names.iter().filter(|_| self.half()).map(|(name, ())| name.to_owned());
                Val::Flags(set.collect())
            }
        }
    }

    /// Anything that JSON can say, in the words that the types here use.
    pub(super) fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.half()),
            2 => json!(self.below(300) as i64 - 40),
            3 => json!(self.float()),
            4 => json!(["NaN", "a", "b-c", "é", "-1", "18446744073709551616", "00"][self.below(7)]),
            5 => json!(self.text()),
            6 => json!(self.next()),
            7 => (0..self.below(4)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let fields: Map<_, _> = self.named(|dice| dice.json(depth - 1)).into_iter().collect();
                Value::Object(fields)
            }
        }
    }
}
