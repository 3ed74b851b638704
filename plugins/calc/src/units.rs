//! The units: a table in the calculator's own language, so that a line can be checked by eye against its definition.
//! They are defined exactly, but for the degree of an angle. Currencies are not among them: they change by the minute.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Zero as _};

use crate::parse;
use crate::quantity::{BASE, Dims, Quantity, Unit};

/// Names, the first of which is shown, and what one of it is. A `*` lets symbols and names be prefixed, as in `km`.
const UNITS: &[(&str, &str)] = &[
    ("*g gram grams", "kg / 1000"),
    ("*m metre metres meter meters", "m"),
    ("*s second seconds sec secs", "s"),
    ("*A ampere amperes amp amps", "A"),
    ("*K kelvin kelvins", "K"),
    ("*mol mole moles", "mol"),
    ("*cd candela candelas", "cd"),
    ("*bit bits", "bit"),
    ("*B byte bytes", "8 bit"),
    ("*N newton newtons", "kg m / s^2"),
    ("*J joule joules", "N m"),
    ("*W watt watts", "J / s"),
    ("*Pa pascal pascals", "N / m^2"),
    ("*Hz hertz", "1 / s"),
    ("*C coulomb coulombs", "A s"),
    ("*V volt volts", "W / A"),
    ("*ohm ohms Ω", "V / A"),
    ("*F farad farads", "C / V"),
    ("*Wh", "3600 J"),
    ("*cal calorie calories", "4.184 J"),
    ("*eV", "1.602176634e-19 J"),
    ("*l L litre litres liter liters", "m^3 / 1000"),
    ("*bar bars", "100000 Pa"),
    ("*t tonne tonnes", "1000 kg"),
    ("min minute minutes mins", "60 s"),
    ("h hour hours hr hrs", "60 min"),
    ("d day days", "24 h"),
    ("week weeks", "7 d"),
    ("year years", "365.25 d"),
    ("in inch inches", "2.54 cm"),
    ("ft foot feet", "12 in"),
    ("yd yard yards", "3 ft"),
    ("mi mile miles", "1760 yd"),
    ("nmi", "1852 m"),
    ("ly lightyear lightyears", "299792458 m/s * 365.25 d"),
    ("au", "149597870700 m"),
    ("mph", "mi / h"),
    ("kph kmh", "km / h"),
    ("knot knots kn", "nmi / h"),
    ("acre acres", "4840 yd^2"),
    ("ha hectare hectares", "10000 m^2"),
    ("lb lbs pound pounds", "0.45359237 kg"),
    ("oz ounce ounces", "lb / 16"),
    ("stone", "14 lb"),
    ("lbf", "9.80665 lb m / s^2"),
    ("psi", "lbf / in^2"),
    ("atm", "101325 Pa"),
    ("mmHg", "133.322387415 Pa"),
    ("hp", "550 ft lbf / s"),
    ("BTU Btu", "1055.05585262 J"),
    ("gal gallon gallons", "231 in^3"),
    ("qt quart quarts", "gal / 4"),
    ("pt pint pints", "gal / 8"),
    ("cup cups", "gal / 16"),
    ("floz", "gal / 128"),
    ("tbsp", "gal / 256"),
    ("tsp", "gal / 768"),
    ("rpm", "1 / min"),
    ("bps", "bit / s"),
    ("deg degree degrees °", "pi / 180"),
    ("rad radian radians", "1"),
    ("dozen", "12"),
];

/// Symbol, name and power of ten; those of two stand below.
const PREFIXES: &[(&str, &str, i32)] = &[
    ("T", "tera", 12),
    ("G", "giga", 9),
    ("M", "mega", 6),
    ("k", "kilo", 3),
    ("h", "hecto", 2),
    ("d", "deci", -1),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("µ", "micro", -6),
    ("μ", "micro", -6),
    ("u", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("P", "peta", 15),
];
const BINARY: &[(&str, u32)] = &[("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50)];

/// One of the unit that is meant.
pub(crate) fn find(name: &str) -> Option<Quantity> {
    let (number, dims, zero, exact) = degrees(name).or_else(|| scaled(name))?;
    let factor = number.clone();
    let unit = Some(Unit { name: name.to_owned(), factor, zero: zero.clone() });
    Some(Quantity { number: number + zero, exact, dims, unit })
}

type Scale = (BigRational, Dims, BigRational, bool);

fn degrees(name: &str) -> Option<Scale> {
    let ratio = |over: i64, under: i64| BigRational::new(over.into(), under.into());
    let (factor, zero) = match name {
        "°C" | "degC" | "celsius" | "Celsius" => (ratio(1, 1), ratio(27_315, 100)),
        "°F" | "degF" | "fahrenheit" | "Fahrenheit" => (ratio(5, 9), ratio(45_967, 180)),
        _ => return None,
    };
    Some((factor, BASE.map(|base| i32::from(base == "K")), zero, true))
}

fn scaled(name: &str) -> Option<Scale> {
    if let Some(found) = exactly(name, false) {
        return Some(found);
    }
    let ten = BigRational::from(BigInt::from(10));
    let decimal = PREFIXES.iter().flat_map(|(symbol, word, power)| [(*symbol, *power), (*word, *power)]);
    let decimal = decimal.map(|(prefix, power)| (prefix, Pow::pow(&ten, power)));
    let binary = BINARY.iter().map(|(prefix, power)| (*prefix, BigRational::from(BigInt::from(1) << *power)));
    decimal.chain(binary).find_map(|(prefix, by)| {
        let (factor, dims, zero, exact) = exactly(name.strip_prefix(prefix)?, true)?;
        // A thousandth of a bit is a megabit with a slip, and `dB` is no tenth of a byte.
        let sensible = dims.last() == Some(&0) || by.is_integer();
        sensible.then(|| (factor * by, dims, zero, exact))
    })
}

fn exactly(name: &str, prefixed: bool) -> Option<Scale> {
    let base = BASE.iter().position(|base| *base == name).filter(|_| !prefixed);
    if let Some(base) = base {
        let dims = std::array::from_fn(|at| i32::from(at == base));
        return Some((BigRational::from(BigInt::from(1)), dims, BigRational::zero(), true));
    }
    let of = |names: &str| names.trim_start_matches('*').split(' ').any(|known| known == name);
    let (_, meaning) = UNITS.iter().find(|(names, _)| of(names) && (!prefixed || names.starts_with('*')))?;
    let value = parse::quantity(meaning).ok()?;
    Some((value.number, value.dims, BigRational::zero(), value.exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_meaning_and_every_name_is_one_unit() {
        let mut seen = std::collections::HashSet::new();
        for (names, meaning) in UNITS {
            for name in names.trim_start_matches('*').split(' ') {
                assert!(find(name).is_some(), "{name} = {meaning}");
                assert!(seen.insert(name), "{name} is there twice");
            }
        }
    }
}
