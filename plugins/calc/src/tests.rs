use plugport_sdk::testing::{Outcome, invoke};
use serde_json::{Value, json};

use super::*;

fn evaluated(expression: &str) -> Outcome {
    invoke::<evaluate>(json!({ "expression": expression }))
}

fn value(expression: &str) -> Value {
    let outcome = evaluated(expression);
    assert!(!outcome.is_error(), "{expression}: {}", outcome.text());
    outcome.structured().unwrap()
}

fn refusal(expression: &str) -> String {
    let outcome = evaluated(expression);
    assert!(outcome.is_error(), "{expression}: {}", outcome.text());
    outcome.text()
}

fn all(cases: &[(&str, &str)], exact: bool) {
    for (expression, result) in cases {
        let value = value(expression);
        assert_eq!((&value["result"], &value["exact"]), (&json!(result), &json!(exact)), "{expression}");
    }
}

#[test]
fn decimals_fractions_and_large_integers_are_exact() {
    let cases = [
        ("0.1 + 0.2", "0.3"),
        ("2^100", "1267650600228229401496703205376"),
        ("20! / 18!", "380"),
        ("1/3 + 1/6", "0.5"),
        ("1/3 to fraction", "1/3"),
        ("-17 mod 5", "3"),
        ("20% of 50", "10"),
        ("1,000,000 * 2", "2000000"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("2^3^2", "512"),
        ("sqrt(0.0625)", "0.25"),
        ("cbrt(-8)", "-2"),
        ("8^(2/3)", "4"),
        ("floor(10^25 / 3)", "3333333333333333333333333"),
        ("round(-2.5)", "-3"),
        ("1.5e3 × 2", "3000"),
        ("0xff + 0b11", "258"),
        ("255 to hex", "ff"),
        ("2(3 + 4)", "14"),
        ("10 - 4 - 3", "3"),
        ("1e-20", "0.00000000000000000001"),
    ];
    all(&cases, true);
}

#[test]
fn what_was_rounded_says_so() {
    let cases = [
        ("1/3", "0.333333333333"),
        ("2/3 to 2 dp", "0.67"),
        ("-0.125 to 2 dp", "-0.13"),
        ("2.5 to 0 dp", "3"),
        ("199.9 to 2 sf", "200"),
        ("9.99 to 2 sf", "10"),
        ("48464851.172764968985 / 813301853987874429", "0.0000000000595902381571"),
        ("0.0001 / 3 to 2 dp", "0"),
        ("pi", "3.14159265359"),
        ("sqrt(2)", "1.41421356237"),
        ("sqrt(2e-30)", "0.00000000000000141421356237"),
        ("sqrt(2)^2", "2"),
        ("sqrt(2) to 40 dp", "1.41421356237"),
        ("exp(1.726379373366)", "5.62026813356"),
        ("2^0.123456789", "1.08934187"),
        ("e^100 to 3 sf", "26900000000000000000000000000000000000000000"),
        ("sin(30 degrees)", "0.5"),
        ("log10(1000)", "3"),
    ];
    for (expression, result) in cases {
        let value = value(expression);
        assert!(value["result"].as_str().unwrap().starts_with(result), "{expression}: {value}");
        assert_eq!(value["exact"], false, "{expression}");
    }
}

#[test]
fn units_are_carried_and_converted() {
    let cases = [
        ("10 km / 20 min to km/h", "30 km/h"),
        ("10 km / (20 min) to km/h", "30 km/h"),
        ("5 ft 3 in to cm", "160.02 cm"),
        ("5 ft in cm", "152.4 cm"),
        ("2 h 30 min to min", "150 min"),
        ("100 °C to °F", "212 °F"),
        ("-40 °F to °C", "-40 °C"),
        ("0 °C to K", "273.15 K"),
        ("5 kg * 2", "10 kg"),
        ("1 km + 500 m", "1.5 km"),
        ("100 kWh to MJ", "360 MJ"),
        ("3 GiB to MB", "3221.225472 MB"),
        ("60 mph to m/s", "26.8224 m/s"),
        ("sqrt(9 m^2)", "3 m"),
        ("(1/2) kg", "0.5 kg"),
        ("1 / (2 s) to Hz", "0.5 Hz"),
        ("3 m * 4 m", "12 m^2"),
        ("1 acre to m^2", "4046.8564224 m^2"),
        ("6 km / 2 km", "3"),
        ("70 kg * 9.80665 m/s^2 to N", "686.4655 N"),
        ("1 week to days", "7 days"),
        ("1 l to cm^3", "1000 cm^3"),
        ("1 lightyear to km", "9460730472580.8 km"),
        ("500 mg to g to 2 dp", "0.5 g"),
    ];
    all(&cases, true);
    assert_eq!(value("72 °F to °C"), json!({"result": "22.2222222222 °C", "exact": false, "unit": "°C"}));
}

#[test]
fn a_value_is_converted_to_another_unit() {
    let converted = invoke::<convert>(json!({"value": "26.2 miles", "to": "km"}));
    assert_eq!(
        converted.structured().unwrap(),
        json!({"result": "42.1648128 km", "exact": true, "unit": "km"})
    );
    let wrong = invoke::<convert>(json!({"value": "5 kg", "to": "metres"}));
    assert!(wrong.text().starts_with("kg and m are different quantities"), "{}", wrong.text());
    let unknown = invoke::<convert>(json!({"value": "5 blorps", "to": "km"}));
    assert!(unknown.text().starts_with("`blorps` is not known here; units have"), "{}", unknown.text());
    let number = invoke::<convert>(json!({"value": "5 km", "to": "3 m"}));
    assert!(number.text().starts_with("`3 m` has a number in it"), "{}", number.text());
}

#[test]
fn what_would_change_from_day_to_day_is_refused() {
    assert!(refusal("10 EUR to USD").contains("this tool has no network"));
    assert!(refusal("roll(6)").contains("the same answer every time"));
    assert!(refusal("today").contains("use a clock tool"));
}

#[test]
fn mistakes_are_explained() {
    for (expression, text) in [
        ("1/0", "division by zero"),
        ("5 m + 3 s", "s and m are different quantities"),
        ("100 C to F", "s A and kg^-1 m^-2 s^4 A^2 are different quantities (`°C`"),
        ("20 °C + 5 °C", "`°C` can be converted, but not calculated with"),
        ("2 +", "the expression ends too early"),
        ("  ", "the expression is empty"),
        ("3 4", "`4` was not expected there"),
        ("(1 + 2", "a bracket is not closed"),
        ("(5 km to m) + 3 m", "a bracket is not closed; conversions"),
        ("1,5 + 2", "`1,5` is not a number; write"),
        ("sin 30", "`sin` needs brackets"),
        ("sqrt(-1)", "that has no real value"),
        ("ln(0)", "that has no real value"),
        ("0^0", "that has no real value"),
        ("2^(3 kg)", "a plain number is needed there, and this is in kg"),
        ("0.1 to binary", "the result is not a whole number"),
        ("pi to fraction", "the result is not a whole number or not exact"),
        ("1 to", "the expression ends too early"),
        ("a = 5", "`a` is not known here"),
        ("1/2 kg", "`1/2 km` can be read in two ways"),
        ("@", "`@` was not expected"),
        ("3 Gbit to mbit", "`mbit` is not known here"),
    ] {
        assert!(refusal(expression).starts_with(text), "{expression}: {}", refusal(expression));
    }
}

#[test]
fn no_expression_takes_long_or_grows_large() {
    for expression in ["9^9^9", "100000!", "2^(2^40)", "1e99999", "10^(-100000)", "9^(9^(9^9))", "exp(1000)"]
    {
        refusal(expression);
    }
    assert!(refusal(&"1+".repeat(1_001)).contains("at most 2000 bytes"));
    assert!(refusal(&"(".repeat(1_000)).contains("nested too deeply"));
    assert!(refusal(&"2^".repeat(999)).contains("nested too deeply"));
    assert_eq!(value(&("-".repeat(1_000) + "1"))["result"], "1");
    assert!(refusal(&("(3^5000/7^3000)+".repeat(120) + "1")).starts_with("the calculation takes too long"));
}
