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

fn error_text(expression: &str) -> String {
    let outcome = evaluated(expression);
    assert!(outcome.is_error(), "{expression}: {}", outcome.text());
    outcome.text()
}

fn all(cases: &[(&str, &str)], exact: bool) {
    for (expression, result) in cases {
        assert_eq!(value(expression), json!({ "result": result, "exact": exact }), "{expression}");
    }
}

#[test]
fn decimals_fractions_and_large_integers_are_exact() {
    let cases = [
        ("0.1 + 0.2", "0.3"),
        ("2^100", "1267650600228229401496703205376"),
        ("2**10", "1024"),
        ("1/3 + 1/6", "0.5"),
        ("17 % 5", "2"),
        ("-17 % 5", "3"),
        ("5.5 % 2", "1.5"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-2", "0.25"),
        ("2^3^2", "512"),
        ("0^0", "1"),
        ("(-1)^(-2147483648)", "1"),
        ("1.5 × 2 ÷ 4", "0.75"),
        ("2 * (3 + 4)", "14"),
        ("10 - 4 - 3", "3"),
        ("2--3", "5"),
        (".5 - 1", "-0.5"),
        ("100 * 10", "1000"),
        ("0 * 5", "0"),
        ("10^-20", "0.00000000000000000001"),
        ("48 / 2 / 3", "8"),
    ];
    all(&cases, true);
}

#[test]
fn what_was_rounded_says_so() {
    let cases = [
        ("1/3", "0.333333333333333"),
        ("-2/3", "-0.666666666666667"),
        ("10^25 / 3", "3333333333333333333333333"),
        ("2 * 10^25 / 3", "6666666666666666666666667"),
        ("48464851.172764968985 / 813301853987874429", "0.00000000005959023815712036"),
        ("10^-20 / 3", "0.00000000000000000000333333333333333"),
        ("72 °F to °C", "22.2222222222222 °C"),
    ];
    all(&cases, false);
}

#[test]
fn units_are_converted() {
    let cases = [
        ("(5 + 3/12) ft to cm", "160.02 cm"),
        ("1/2 km to m", "500 m"),
        ("60 mph to m/s", "26.8224 m/s"),
        ("90km/h to m/s", "25 m/s"),
        ("100 °C to °F", "212 °F"),
        ("-40 F to C", "-40 C"),
        ("0 celsius to K", "273.15 K"),
        ("3 GiB to MB", "3221.225472 MB"),
        ("8 Mbit to kB", "1000 kB"),
        ("90 s to minutes", "1.5 minutes"),
        ("1 week to days", "7 days"),
        ("1 gallon to litres", "3.785411784 litres"),
        ("16 oz to lbs", "1 lbs"),
        ("3 inches to mm", "76.2 mm"),
    ];
    all(&cases, true);
}

#[test]
fn a_value_is_converted_to_another_unit() {
    let convert = |value: &str, to: &str| invoke::<convert>(json!({ "value": value, "to": to }));
    assert_eq!(convert("5 km", "m").structured().unwrap(), json!({"result": "5000 m", "exact": true}));
    assert_eq!(convert(" 26.2 miles ", " km ").structured().unwrap()["result"], "42.1648128 km");
    for (value, to, text) in [
        ("5 kg", "metres", "`kg` and `metres` measure different things"),
        ("5 blorps", "km", "`blorps` is not a unit known here"),
        ("5 km", "3 m", "`3 m` is not a unit known here"),
        ("5", "km", "`` is not a unit known here"),
        ("km", "m", "the expression ends too early"),
        ("10 EUR", "USD", "`EUR` is not a unit known here"),
    ] {
        assert!(convert(value, to).text().starts_with(text), "{value}: {}", convert(value, to).text());
    }
}

#[test]
fn mistakes_are_explained() {
    for (expression, text) in [
        ("1/0", "division by zero"),
        ("0^-1", "division by zero"),
        ("5 % 0", "division by zero"),
        ("2 +", "the expression ends too early"),
        ("  ", "the expression ends too early"),
        ("(1 + 2", "the expression ends too early"),
        ("3 4", "`4` was not expected there"),
        ("1,5 + 2", "`,` was not expected there"),
        ("1.2.3", "`1.2.3` was not expected there"),
        ("1.5e3", "`e3` was not expected there"),
        ("2 * sqrt(2)", "`sqrt` was not expected there"),
        ("5 m + 3 s", "`m` was not expected there"),
        ("20% of 50", "`of` was not expected there"),
        ("20% + 5", "`+` was not expected there"),
        ("100 * 20%", "the expression ends too early"),
        ("20% - 3", "`%` is the remainder by a positive number; write 20%"),
        ("2^0.5", "a power must be a whole number"),
        ("(1 + 2))", "`)` was not expected there"),
        ("@", "`@` was not expected"),
    ] {
        assert!(error_text(expression).starts_with(text), "{expression}: {}", error_text(expression));
    }
}

#[test]
fn no_expression_takes_long_or_grows_large() {
    for expression in ["9^9^9", "2^(2^40)", "2^-1025", "(2^1000)^2", "10^(0-100000)"] {
        assert!(
            error_text(expression).starts_with("a number in it has more than 300 digits"),
            "{expression}"
        );
    }
    for expression in ["1+".repeat(501), "(".repeat(51), "2^".repeat(51)] {
        assert!(error_text(&expression).starts_with("the expression is too long"), "{expression}");
    }
    assert_eq!(value(&("3^620/7^350".to_owned() + &"+1-1".repeat(240)))["exact"], false);
    assert_eq!(value(&("(".repeat(50) + "1" + &")".repeat(50)))["result"], "1");
}

#[test]
fn every_unit_has_a_meaning_and_every_name_is_one_unit() {
    let mut seen = std::collections::HashSet::new();
    for unit in units::UNITS.iter().flat_map(|(_, units)| units.split(", ")) {
        let name = unit.split(' ').next().unwrap();
        assert!(units::find(name).is_ok(), "{unit}");
        assert!(seen.insert(name), "{name} is there twice");
    }
}
