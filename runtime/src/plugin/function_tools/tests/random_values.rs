//! Types, values and JSON by chance, the same in every run.

use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use super::super::types::{IntType, ValType};

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
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

    pub(super) fn ty(&mut self, depth: usize) -> ValType {
        const WIDTHS: [IntType; 8] = [
            IntType::S8,
            IntType::U8,
            IntType::S16,
            IntType::U16,
            IntType::S32,
            IntType::U32,
            IntType::S64,
            IntType::U64,
        ];
        match self.below(if depth == 0 { 8 } else { 17 }) {
            0 => ValType::Bool,
            1 => ValType::Integer(WIDTHS[self.below(8)]),
            2 => ValType::F32,
            3 => ValType::F64,
            4 => ValType::Char,
            5 => ValType::String,
            6 => ValType::Enum(self.named(|_| ()).into_iter().collect()),
            7 => ValType::Flags(self.named(|_| ()).into_iter().collect()),
            8 => ValType::List(Box::new(self.ty(depth - 1))),
            9 => ValType::Fixed(Box::new(self.ty(depth - 1)), 2),
            10 => ValType::Map(Box::new((self.ty(0), self.ty(depth - 1)))),
            11 | 12 => ValType::Record(self.named(|random| random.ty(depth - 1))),
            13 => ValType::Tuple((0..=self.below(3)).map(|_| self.ty(depth - 1)).collect()),
            14 => ValType::Variant(
                self.named(|random| random.half().then(|| random.ty(depth - 1))).into_iter().collect(),
            ),
            15 => ValType::Option(Box::new(self.ty(depth - 1))),
            _ => {
                let mut part = || self.half().then(|| Box::new(self.ty(depth - 1)));
                ValType::Result(part(), part())
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

    fn whole(&mut self, integer: IntType) -> Val {
        let (least, largest) = integer.range();
        let number = match self.below(4) {
            0 => least,
            1 => largest,
            _ => least + i128::from(self.next()) % (largest - least + 1),
        };
        integer.val(number).unwrap()
    }

    fn vals(&mut self, ty: &ValType, count: usize) -> Vec<Val> {
        (0..count).map(|_| self.val(ty)).collect()
    }

    pub(super) fn val(&mut self, ty: &ValType) -> Val {
        let count = self.below(4);
        match ty {
            ValType::Bool => Val::Bool(self.half()),
            ValType::Integer(integer) => self.whole(*integer),
            ValType::F32 => Val::Float32(self.float() as f32),
            ValType::F64 => Val::Float64(self.float()),
            ValType::Char => Val::Char(['a', '"', '\u{10ffff}', '\n'][self.below(4)]),
            ValType::String => Val::String(self.text()),
            ValType::List(item) => Val::List(self.vals(item, count)),
            ValType::Fixed(item, length) => Val::FixedLengthList(self.vals(item, *length as usize)),
            ValType::Map(pair) => {
                Val::Map((0..count).map(|_| (self.val(&pair.0), self.val(&pair.1))).collect())
            }
            ValType::Record(fields) => {
                Val::Record(fields.iter().map(|(name, ty)| (name.clone(), self.val(ty))).collect())
            }
            ValType::Tuple(types) => Val::Tuple(types.iter().map(|ty| self.val(ty)).collect()),
            ValType::Variant(cases) => {
                let (name, ty) = cases.iter().nth(self.below(cases.len())).unwrap();
                Val::Variant(name.to_owned(), ty.as_ref().map(|ty| Box::new(self.val(ty))))
            }
            ValType::Enum(names) => {
                Val::Enum(names.iter().nth(self.below(names.len())).unwrap().0.to_owned())
            }
            ValType::Option(inner) => Val::Option(self.half().then(|| Box::new(self.val(inner)))),
            ValType::Result(ok, err) => {
                let mut part = |ty: &Option<Box<ValType>>| ty.as_ref().map(|ty| Box::new(self.val(ty)));
                Val::Result(if count.is_multiple_of(2) { Ok(part(ok)) } else { Err(part(err)) })
            }
            ValType::Flags(names) => {
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
                let fields: Map<_, _> = self.named(|random| random.json(depth - 1)).into_iter().collect();
                Value::Object(fields)
            }
        }
    }
}
