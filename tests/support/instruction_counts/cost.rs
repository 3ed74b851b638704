//! The cost of a request, and how it compares with the recorded one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::ProfileTotals;

/// By which part of itself a count may grow. Runs differ by one or two percent, because other threads of the server
/// wake by the clock.
pub const MAX_GROWTH: f64 = 0.05;

/// What a count may grow by in any case. A round has 40 requests, and allocations of other threads come on top.
const NOISE: f64 = 2.5;

/// Begins the file of the recorded counts.
const HEADING: &str = "\
# What one request costs the program that `cargo verify` builds, whose own code is not optimised: instructions and
# allocations. `cargo verify counts` compares with this file; docs/performance.md says how to write it anew.
";

/// What one request costs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    pub instructions: u64,
    pub allocations: f64,
}

/// The cost of each path, by its name.
pub type Costs = BTreeMap<String, Cost>;

impl Cost {
    /// The cost of one of `requests`.
    pub fn of_one(totals: ProfileTotals, requests: u32) -> Self {
        let allocations = totals.allocations as f64 / f64::from(requests);
        Self { instructions: totals.instructions / u64::from(requests), allocations }
    }

    /// Both counts, with the words for them.
    fn counts(self) -> [(f64, &'static str); 2] {
        [(self.instructions as f64, "instructions"), (self.allocations, "allocations")]
    }
}

/// Reads a file of counts.
///
/// # Errors
/// With the mistake in the text.
pub fn from_toml(text: &str) -> Result<Costs, toml::de::Error> {
    toml::from_str(text)
}

/// The file of these counts.
pub fn to_toml(costs: &Costs) -> String {
    let mut text = HEADING.to_owned();
    for (name, Cost { instructions, allocations }) in costs {
        let _ = write!(text, "\n[{name}]\ninstructions = {instructions}\nallocations = {allocations:.1}\n");
    }
    text
}

/// A sentence for each count that grew by more than [`MAX_GROWTH`], and for each path that only one of the two has.
pub fn regressions(recorded: &Costs, measured: &Costs) -> Vec<String> {
    let mut regressions = compare(recorded, measured, |growth| growth > MAX_GROWTH);
    let missing = |from: &Costs, in_other: &Costs| -> Vec<String> {
        from.keys().filter(|name| !in_other.contains_key(*name)).cloned().collect()
    };
    regressions.extend(missing(measured, recorded).iter().map(|name| format!("`{name}` is not recorded")));
    regressions.extend(missing(recorded, measured).iter().map(|name| format!("`{name}` was not counted")));
    regressions
}

/// A sentence for each count that fell by more than [`MAX_GROWTH`]: until it is recorded, it may grow again.
pub fn improvements(recorded: &Costs, measured: &Costs) -> Vec<String> {
    compare(recorded, measured, |growth| growth < -MAX_GROWTH)
}

fn compare(recorded: &Costs, measured: &Costs, is_told: impl Fn(f64) -> bool) -> Vec<String> {
    let mut told = Vec::new();
    for (name, cost) in measured {
        let Some(before) = recorded.get(name) else { continue };
        for ((now, what), (before, _)) in cost.counts().into_iter().zip(before.counts()) {
            let growth = now / before - 1.0;
            if is_told(growth) && (now - before).abs() > NOISE {
                let (percent, than) =
                    (growth.abs() * 100.0, if growth > 0.0 { "more than" } else { "less than" });
                told.push(format!(
                    "`{name}` takes {now:.0} {what} a request, {percent:.0} % {than} {before:.0}"
                ));
            }
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(instructions: u64, allocations: f64) -> Costs {
        Costs::from([("call".to_owned(), Cost { instructions, allocations })])
    }

    #[test]
    fn a_path_that_grew_is_named_with_how_much() {
        let recorded = costs(2_000_000, 130.0);
        let grown = regressions(&recorded, &costs(2_460_000, 130.4));
        assert_eq!(grown, ["`call` takes 2460000 instructions a request, 23 % more than 2000000"]);
        let grown = regressions(&recorded, &costs(2_460_000, 143.0));
        assert_eq!(grown.len(), 2);
        assert_eq!(grown[1], "`call` takes 143 allocations a request, 10 % more than 130");
    }

    #[test]
    fn noise_is_no_growth() {
        let recorded = costs(2_000_000, 130.0);
        for (instructions, allocations) in
            [(2_000_000, 130.0), (2_099_000, 136.0), (1_901_000, 124.0), (1, 1.0)]
        {
            assert!(regressions(&recorded, &costs(instructions, allocations)).is_empty());
        }
        assert!(improvements(&recorded, &costs(1_901_000, 124.0)).is_empty());
        // A few allocations are more than 5 % of a short path.
        let short = costs(2_000_000, 20.0);
        assert!(regressions(&short, &costs(2_000_000, 22.5)).is_empty());
        assert_eq!(regressions(&short, &costs(2_000_000, 22.6)).len(), 1);
    }

    #[test]
    fn what_became_cheaper_is_told_so_that_it_is_recorded() {
        let saved = improvements(&costs(2_000_000, 130.0), &costs(1_500_000, 130.0));
        assert_eq!(saved, ["`call` takes 1500000 instructions a request, 25 % less than 2000000"]);
    }

    #[test]
    fn a_path_that_is_on_one_side_only_fails() {
        let one = costs(1, 1.0);
        assert_eq!(regressions(&Costs::new(), &one), ["`call` is not recorded"]);
        assert_eq!(regressions(&one, &Costs::new()), ["`call` was not counted"]);
    }

    #[test]
    fn what_is_written_is_read() {
        let costs = costs(1_965_102, 136.5);
        assert_eq!(from_toml(&to_toml(&costs)).unwrap(), costs);
        assert!(from_toml("[call]\ninstructions = 1\n").is_err());
    }

    #[test]
    fn the_cost_of_one_request_is_a_part_of_the_total() {
        let totals = ProfileTotals { instructions: 1_005, allocations: 25 };
        assert_eq!(Cost::of_one(totals, 10), Cost { instructions: 100, allocations: 2.5 });
    }
}
