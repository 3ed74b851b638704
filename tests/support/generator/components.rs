//! Random components and random calls, from a seed.

use serde_json::{Value, json};

use super::{AdapterComponent, Direction, ENCODINGS, PassedValue, Random};

/// The tools of `hostile_costly_schemas`.
const CHECKS: [&str; 17] = [
    "mixed_enum",
    "long_enum",
    "const",
    "unique_numbers",
    "unique_lists",
    "unique_objects",
    "one_of",
    "any_of",
    "contains",
    "each",
    "pattern",
    "backreference",
    "names",
    "multiple",
    "digits",
    "format",
    "unevaluated",
];

/// Two instances that pass each other values, within a plugin's maximum memory.
pub fn random_adapter(random: &mut Random) -> AdapterComponent {
    let count = u32::try_from(1 + random.of_any_size(18)).unwrap();
    let all = [
        PassedValue::Text,
        PassedValue::Text,
        PassedValue::Texts(count),
        PassedValue::Records(count),
        PassedValue::Options(count),
        PassedValue::Bytes,
        PassedValue::Numbers,
    ];
    let what = random.one_of(&all);
    let direction = random.one_of(&[Direction::Given, Direction::Returned]);
    let rounds = random.below(2) * (random.below(10_000) + 1);
    let passing = AdapterComponent {
        name: "random",
        encodings: [random.one_of(&ENCODINGS), random.one_of(&ENCODINGS)],
        what,
        direction,
        bytes: u32::try_from(random.of_any_size(25)).unwrap().next_multiple_of(16),
        wide: random.below(3) == 0,
        depth: u32::try_from(random.below(3) * random.below(16)).unwrap(),
        rounds: u32::try_from(rounds).unwrap(),
        at_start: random.below(8) == 0,
    };
    within_memory(passing)
}

/// The same with a text that fits into both memories.
fn within_memory(passing: AdapterComponent) -> AdapterComponent {
    let mut passing = passing;
    while passing.memory() > 60 << 20 {
        passing.bytes = (passing.bytes / 2).next_multiple_of(16);
    }
    passing
}

/// A call of one of the plugins: those made from the seed, and the two that call and return at random.
pub fn random_call(random: &mut Random, plugins: &[String]) -> (String, Value) {
    let seed = random.below(1 << 32);
    match random.below(4) {
        0 => {
            let bits = random.one_of(&[12, 16, 20, 23]);
            let arguments = json!({ "seed": seed, "steps": 1 + random.of_any_size(12), "bits": bits });
            ("hostile_host_functions-random".to_owned(), arguments)
        }
        1 => {
            let kind = random.one_of(&CHECKS);
            (format!("hostile_costly_schemas-{kind}"), json!({ "bytes": random.of_any_size(22) }))
        }
        _ => {
            let at = usize::try_from(random.below(plugins.len() as u64)).unwrap();
            (format!("{}-go", plugins[at]), json!({}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Encoding;
    use super::*;

    fn assert_loads(passing: &AdapterComponent) {
        let mut config = wasmtime::Config::new();
        config.consume_fuel(true);
        let engine = wasmtime::Engine::new(&config).unwrap();
        let component = passing.assembled();
        let compiled = engine.precompile_component(&component);
        assert!(compiled.is_ok(), "{passing:?}: {:?}\n{}", compiled.err(), passing.text_format());
    }

    #[test]
    fn every_kind_is_a_component_in_every_encoding_and_both_ways() {
        let kinds = [
            PassedValue::Text,
            PassedValue::Texts(9),
            PassedValue::Records(9),
            PassedValue::Options(9),
            PassedValue::Bytes,
            PassedValue::Numbers,
        ];
        for (at, what) in kinds.into_iter().enumerate() {
            let (from, to) = (ENCODINGS[at % 3], ENCODINGS[(at + 1) % 3]);
            let argument = AdapterComponent::text("given", from, to, 4096).of(what).wide().below(2);
            assert_loads(&argument);
            assert_loads(&argument.returned());
        }
        assert_loads(&AdapterComponent::text("start", Encoding::Utf8, Encoding::Utf8, 16).at_start());
    }

    #[test]
    fn a_seed_gives_a_component_that_fits_into_a_plugins_memory() {
        let mut random = Random::new(7);
        for _ in 0..10 {
            let passing = random_adapter(&mut random);
            assert!(passing.memory() <= 60 << 20, "{passing:?}");
            assert_loads(&passing);
        }
    }
}
