//! The units, each by what one of it is in the base unit of its line. All are defined exactly; currencies are not among
//! them, for they change by the minute.

use num_rational::BigRational;

use crate::{CalcError, parse};

/// Names with factors, and for degrees with the zero of their scale. An `s` for the plural is understood.
pub(crate) const UNITS: &[(&str, &str)] = &[
    ("m", "m 1, km 1000, cm 0.01, mm 0.001, µm 0.000001, nm 0.000000001, nmi 1852"),
    ("m", "metre 1, kilometre 1000, centimetre 0.01, millimetre 0.001"),
    ("m", "meter 1, kilometer 1000, centimeter 0.01, millimeter 0.001"),
    ("m", "in 0.0254, inch 0.0254, inches 0.0254, ft 0.3048, foot 0.3048, feet 0.3048"),
    ("m", "yd 0.9144, yard 0.9144, mi 1609.344, mile 1609.344"),
    ("kg", "kg 1, kilogram 1, g 0.001, gram 0.001, mg 0.000001, milligram 0.000001, t 1000, tonne 1000"),
    ("kg", "lb 0.45359237, pound 0.45359237, oz 0.45359237/16, ounce 0.45359237/16"),
    ("s", "s 1, sec 1, second 1, ms 0.001, millisecond 0.001, µs 0.000001, us 0.000001, ns 0.000000001"),
    ("s", "min 60, minute 60, h 3600, hr 3600, hour 3600, d 86400, day 86400"),
    ("s", "week 604800, year 365.25*86400"),
    ("B", "B 1, byte 1, kB 1000, MB 10^6, GB 10^9, TB 10^12, KiB 2^10, MiB 2^20, GiB 2^30, TiB 2^40"),
    ("B", "bit 1/8, kbit 1000/8, Mbit 10^6/8, Gbit 10^9/8"),
    ("m/s", "m/s 1, km/h 1/3.6, kph 1/3.6, mph 0.44704, knot 1852/3600"),
    ("l", "l 1, L 1, litre 1, liter 1, ml 0.001, mL 0.001"),
    ("l", "gal 3.785411784, gallon 3.785411784, cup 0.2365882365"),
    ("K", "K 1, kelvin 1, °C 1 273.15, C 1 273.15, celsius 1 273.15"),
    ("K", "°F 5/9 459.67*5/9, F 5/9 459.67*5/9, fahrenheit 5/9 459.67*5/9"),
];

/// A number of it is, in the base unit, that number times `factor`, plus `zero`.
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) base: &'static str,
    pub(crate) factor: BigRational,
    pub(crate) zero: BigRational,
}

/// Parts a value into its number and the name of its unit.
pub(crate) fn split(value: &str) -> (&str, &str) {
    let number = value.trim_end_matches(|next: char| next.is_alphabetic() || "°/".contains(next));
    value.split_at(number.len())
}

pub(crate) fn find(name: &str) -> Result<Unit, CalcError> {
    let unit = exactly(name).or_else(|| exactly(name.strip_suffix('s')?));
    let (base, factor, zero) = unit.ok_or_else(|| CalcError::Unit(name.to_owned()))?;
    Ok(Unit { name: name.to_owned(), base, factor: parse::number(factor)?, zero: parse::number(zero)? })
}

/// The base unit, the factor and the zero of what has this name.
fn exactly(name: &str) -> Option<(&'static str, &'static str, &'static str)> {
    UNITS.iter().find_map(|(base, units)| {
        let meaning = units.split(", ").find_map(|unit| unit.strip_prefix(name)?.strip_prefix(' '))?;
        let (factor, zero) = meaning.split_once(' ').unwrap_or((meaning, "0"));
        Some((*base, factor, zero))
    })
}
