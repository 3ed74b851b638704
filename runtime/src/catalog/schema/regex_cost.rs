//! How many states a regular expression has: the worst cost of a search for each byte of the text.
//!
//! The engine is linear in the text, but a search whose states do not fit its cache follows all of them at once. The
//! states are counted in the engine's own automaton, after the validator's rewriting of the pattern. The pattern's text
//! does not show their number: flags widen classes, some spaces are skipped, and `\s` becomes a class of its own.

use jsonschema_regex::to_rust_regex;
use regex_automata::nfa::thompson::{Compiler, Config, State, WhichCaptures};
use regex_automata::util::look::Look;

/// Bytes of one state, at least.
const STATE: usize = 16;

/// States that every pattern has: the start of the match, its end, and the match state.
const FRAME: u64 = 3;

/// Transitions out of a state that cost as much as one more state.
const WAYS: u64 = 4;

/// The cost of a word boundary, which decodes the characters on both sides.
const WORD: u64 = 8;

/// States of a pattern that is compiled to at most `size` bytes. One that does not compile has as many as fit there.
pub(super) fn states(pattern: &str, size: usize) -> u64 {
    let forward = Config::new().nfa_size_limit(Some(size));
    // A match is found forward or backward, and a class of Unicode has more states backward.
    let backward = forward.clone().reverse(true).which_captures(WhichCaptures::None);
    let counted = to_rust_regex(pattern)
        .ok()
        .and_then(|pattern| Some(compiled(&pattern, forward)?.max(compiled(&pattern, backward)?)));
    counted.map_or((size / STATE) as u64, |states| states.saturating_sub(FRAME)).max(1)
}

/// The worst cost of rewriting a pattern, in parsed bytes: the validator parses the whole pattern anew for each escape.
pub(super) fn rewriting(pattern: &str) -> u64 {
    (pattern.matches('\\').count() as u64).saturating_mul(pattern.len() as u64)
}

fn compiled(pattern: &str, config: Config) -> Option<u64> {
    let compiled = Compiler::new().configure(config).build(pattern).ok()?;
    Some(compiled.states().iter().map(state_cost).sum())
}

fn state_cost(state: &State) -> u64 {
    match state {
        State::Sparse(sparse) => 1 + sparse.transitions.len() as u64 / WAYS,
        State::Union { alternates } => 1 + alternates.len() as u64 / WAYS,
        State::Look { look, .. } => match look {
            Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => 1,
            _ => WORD,
        },
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::states;

    const SIZE: usize = 16 << 20;

    #[test]
    fn repetitions_count_as_often_as_they_may_repeat() {
        for (pattern, least) in [
            ("", 1),
            ("a{100}", 100),
            ("(ab{10}){10,20}", 220),
            ("((a{50}){50}){50}", 125_000),
            (r"\p{L}{3}", 300),
            ("[0-9a-f]{8}-[0-9a-f]{4}", 13),
        ] {
            let counted = states(pattern, SIZE);
            assert!(counted >= least, "{pattern}: {counted}");
        }
    }

    #[test]
    fn no_spelling_makes_them_fewer() {
        for (pattern, least) in [
            ("a[ab]{ 900}[^ab]", 900),
            ("a[ab]{900 }[^ab]", 900),
            ("(?x)a[ab] {900}[^ab]", 900),
            ("(?x)a[ab] # {1}\n {900}[^ab]", 900),
            (r"(?x)\p{L} {90}", 9_000),
            (r"\s{900}", 2_700),
            (r"[\s]{900}", 2_700),
            (r"(?i)k{900}", 1_800),
            (r"(?i)[k]{900}", 1_800),
            (r"[\p{L}\p{N}\p{S}]{9}", 2_700),
            (r"[^\p{L}\p{N}]{9}", 2_700),
            (r"[acegikmoqsuwy02468]{900}", 3_600),
            (r"(?:\ba?){900}", 7_200),
            ("(((((a)))))?{100}", 1_000),
        ] {
            let counted = states(pattern, SIZE);
            assert!(counted >= least, "{pattern}: {counted}");
        }
    }

    #[test]
    fn what_is_simple_stays_cheap() {
        for (pattern, most) in [
            ("^abc$", 6),
            ("^[A-Za-z0-9+/=]*$", 6),
            ("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", 60),
            (r"^[^@\s]+@[^@\s]+$", 1_000),
        ] {
            let counted = states(pattern, SIZE);
            assert!(counted <= most, "{pattern}: {counted}");
        }
    }

    #[test]
    fn what_does_not_compile_has_as_many_as_would_fit() {
        for pattern in ["(a|b", "(?=a)b", r"(a)\1", "((a{1,500}){1,500}){1,500}", "(".repeat(1_000).as_str()]
        {
            assert_eq!(states(pattern, 1 << 20), 65_536, "{pattern}");
        }
    }
}
