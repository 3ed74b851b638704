//! What a number is, whatever way it is written in: its digits, exactly.

/// The digits of a whole number; `None` if it has a fraction.
pub fn whole(number: &str) -> Option<i128> {
    let (sign, unsigned) = number.strip_prefix('-').map_or((1, number), |unsigned| (-1, unsigned));
    let lower = unsigned.to_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (before, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shift: i64 = exponent.parse::<i64>().unwrap() - i64::try_from(fraction.len()).unwrap();
    let digits: i128 = format!("{before}{fraction}").parse().unwrap();
    let power = 10i128.checked_pow(u32::try_from(shift.unsigned_abs()).unwrap());
    if digits == 0 {
        return Some(0);
    }
    match (shift < 0, power) {
        (false, power) => digits.checked_mul(power?).map(|digits| sign * digits),
        (true, Some(power)) if digits % power == 0 => Some(sign * (digits / power)),
        _ => None,
    }
}

/// The nearest `f64`.
pub fn real(number: &str) -> f64 {
    number.parse().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_has_the_same_digits_in_every_notation() {
        assert_eq!(whole("-1.50e1"), Some(-15));
        assert_eq!(whole("10e-1"), Some(1));
        assert_eq!(whole("9007199254740993.0"), Some(9_007_199_254_740_993));
        assert_eq!(whole("-0.0"), Some(0));
        assert_eq!((whole("1.5"), whole("1e-7"), whole("1e308")), (None, None, None));
    }
}
