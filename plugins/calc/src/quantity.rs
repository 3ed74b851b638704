//! Numbers with units. A number is a fraction of integers in SI base units, so that sums, products and conversions are
//! exact; what only floating point can tell (most roots, logarithms) is marked, and the mark spreads to all made of it.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Signed as _, ToPrimitive as _, Zero as _};

use crate::CalcError;

/// Some 5000 digits. It bounds the time of every operation too.
const MAX_BITS: u64 = 1 << 14;
/// The base units, in the order of their exponents in `Dims`.
pub(crate) const BASE: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "bit"];

pub(crate) type Dims = [i32; BASE.len()];

/// How a number is told: in multiples of `factor`, above `zero`.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) factor: BigRational,
    /// Where the scale begins, for degrees Celsius and Fahrenheit.
    pub(crate) zero: BigRational,
}

#[derive(Debug, Clone)]
pub(crate) struct Quantity {
    pub(crate) number: BigRational,
    pub(crate) exact: bool,
    pub(crate) dims: Dims,
    pub(crate) unit: Option<Unit>,
}

impl Quantity {
    pub(crate) fn plain(number: BigRational) -> Self {
        Self { number, exact: true, dims: Dims::default(), unit: None }
    }

    /// What floating point makes of it.
    pub(crate) fn float(number: f64) -> Result<Self, CalcError> {
        let number = BigRational::from_float(number).ok_or(CalcError::Undefined)?;
        Ok(Self { exact: false, ..Self::plain(number) })
    }

    /// The length of the longer half of the fraction.
    pub(crate) fn bits(&self) -> u64 {
        self.number.numer().bits().max(self.number.denom().bits())
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.dims == Dims::default()
    }

    /// For what is defined for numbers only.
    pub(crate) fn pure(&self) -> Result<&BigRational, CalcError> {
        if self.is_plain() { Ok(&self.number) } else { Err(CalcError::NotPlain(self.dimension())) }
    }

    /// The dimension in base units.
    pub(crate) fn dimension(&self) -> String {
        let parts = BASE.iter().zip(self.dims).filter(|(_, power)| *power != 0);
        let named = parts
            .map(|(name, power)| if power == 1 { (*name).to_owned() } else { format!("{name}^{power}") });
        let names: Vec<_> = named.collect();
        if names.is_empty() { "a plain number".to_owned() } else { names.join(" ") }
    }

    pub(crate) fn add(self, other: Self) -> Result<Self, CalcError> {
        if self.dims != other.dims {
            return Err(CalcError::Incompatible(other.dimension(), self.dimension()));
        }
        let (left, right) = (self.measured()?, other.measured()?);
        let unit = left.unit.or(right.unit);
        Self { number: left.number + right.number, exact: left.exact && right.exact, unit, ..left }.bounded()
    }

    /// The other side of the scale's zero.
    pub(crate) fn negative(mut self) -> Self {
        let zero = self.unit.as_ref().map_or_else(BigRational::zero, |unit| unit.zero.clone());
        self.number = &zero + &zero - self.number;
        self
    }

    /// As many of `unit`, as in `5 km`.
    pub(crate) fn of(self, unit: Self) -> Result<Self, CalcError> {
        match &unit.unit {
            Some(scale) if !scale.zero.is_zero() => {
                let number = self.pure()? * &scale.factor + &scale.zero;
                Ok(Self { number, exact: self.exact, ..unit })
            }
            _ => self.times(unit),
        }
    }

    pub(crate) fn times(self, other: Self) -> Result<Self, CalcError> {
        let (left, right) = (self.measured()?, other.measured()?);
        let unit = match (left.is_plain(), right.is_plain()) {
            (_, true) => left.unit,
            (true, _) => right.unit,
            _ => None,
        };
        let dims = std::array::from_fn(|at| pick(&left.dims, at) + pick(&right.dims, at));
        Self { number: left.number * right.number, exact: left.exact && right.exact, dims, unit }.bounded()
    }

    pub(crate) fn over(self, other: Self) -> Result<Self, CalcError> {
        let other = other.measured()?;
        if other.number.is_zero() {
            return Err(CalcError::DivisionByZero);
        }
        let dims = other.dims.map(|power| -power);
        self.times(Self { number: other.number.recip(), dims, unit: None, exact: other.exact })
    }

    pub(crate) fn remainder(self, other: &Self) -> Result<Self, CalcError> {
        let (left, right) = (self.pure()?, other.pure()?);
        if right.is_zero() {
            return Err(CalcError::DivisionByZero);
        }
        let number = left - right * (left / right).floor();
        Ok(Self { exact: self.exact && other.exact, ..Self::plain(number) })
    }

    pub(crate) fn power(self, exponent: &Self) -> Result<Self, CalcError> {
        let exact = self.exact && exponent.exact;
        let (by, base) = (exponent.pure()?.clone(), self.measured()?);
        match (by.numer().to_i32(), by.denom().to_i32()) {
            (Some(by), Some(1)) => Ok(Self { exact, ..base.integer_power(by)? }),
            (Some(over @ -64..=64), Some(under @ 2..=64)) => base.integer_power(over)?.root(under, exact),
            _ => Self::float(float(base.pure()?).powf(float(&by))),
        }
    }

    pub(crate) fn factorial(&self) -> Result<Self, CalcError> {
        let number = self.pure()?;
        let count = number.to_u32().filter(|_| number.is_integer()).ok_or(CalcError::Undefined)?;
        let mut product = BigInt::from(1);
        for factor in 2..=count {
            product *= factor;
            if product.bits() > MAX_BITS {
                return Err(CalcError::TooLarge);
            }
        }
        Ok(Self { exact: self.exact, ..Self::plain(product.into()) })
    }

    fn root(self, degree: i32, exact: bool) -> Result<Self, CalcError> {
        if self.dims.iter().any(|power| power % degree != 0) {
            return Err(CalcError::NotPlain(self.dimension()));
        }
        let dims = self.dims.map(|power| power / degree);
        let (over, under) = (self.number.numer(), self.number.denom());
        if over.is_negative() && degree % 2 == 0 {
            return Err(CalcError::Undefined);
        }
        let whole =
            BigRational::new(over.nth_root(degree.unsigned_abs()), under.nth_root(degree.unsigned_abs()));
        if Pow::pow(&whole, degree) == self.number {
            return Ok(Self { number: whole, exact, dims, unit: None });
        }
        let size = float(&self.number.abs()).powf(f64::from(degree).recip());
        Ok(Self { dims, ..Self::float(if over.is_negative() { -size } else { size })? })
    }

    fn integer_power(self, by: i32) -> Result<Self, CalcError> {
        let bits = self.bits();
        if bits.saturating_sub(1).saturating_mul(by.unsigned_abs().into()) > MAX_BITS {
            return Err(CalcError::TooLarge);
        }
        if self.number.is_zero() && by <= 0 {
            return Err(CalcError::Undefined);
        }
        let dims = self.dims.map(|power| power.saturating_mul(by));
        let unit = self.unit.filter(|_| by == 1);
        Self { number: Pow::pow(&self.number, by), dims, unit, exact: self.exact }.bounded()
    }

    /// Degrees above a zero that is not nothing can be converted, and not calculated with.
    fn measured(self) -> Result<Self, CalcError> {
        match &self.unit {
            Some(unit) if !unit.zero.is_zero() => Err(CalcError::Degrees(unit.name.clone())),
            _ => Ok(self),
        }
    }

    fn bounded(self) -> Result<Self, CalcError> {
        if self.bits() > MAX_BITS { Err(CalcError::TooLarge) } else { Ok(self) }
    }
}

fn pick(dims: &Dims, at: usize) -> i32 {
    dims.get(at).copied().unwrap_or_default()
}

/// The nearest floating point number.
pub(crate) fn float(number: &BigRational) -> f64 {
    number.to_f64().unwrap_or(f64::NAN)
}
