//! Orders candidates by how well they fit the text typed so far.

use super::{Completion, IntoCompletion};

/// How well a candidate fits; the less, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchRank {
    Exact,
    Prefix,
    WordPrefix,
    /// All letters are there in order, with so many others between them.
    Scattered(usize),
}

/// The candidates that fit, the best ones first, without regard to upper and lower case.
///
/// First come candidates that equal `value`, then those that begin with it, then those with a word that begins with it,
/// and at last those that have its letters in this order. Candidates that fit equally well keep their order.
///
/// ```
/// use plugport_sdk::completions::rank;
///
/// let cities = ["Las Palmas", "Paris", "Aspar", "Pa", "Oslo"];
/// assert_eq!(rank("pa", cities).values, ["Pa", "Paris", "Las Palmas", "Aspar"]);
/// ```
pub fn rank(value: &str, candidates: impl IntoIterator<Item: Into<String>>) -> Completion {
    let query = value.to_lowercase();
    let mut fitting: Vec<(MatchRank, String)> = candidates
        .into_iter()
        .map(Into::into)
        .filter_map(|candidate: String| Some((fit(&query, &candidate.to_lowercase())?, candidate)))
        .collect();
    fitting.sort_by_key(|(fit, _)| *fit);
    let total = u32::try_from(fitting.len()).ok();
    let values = fitting.into_iter().map(|(_, candidate)| candidate);
    Completion { total, ..values.into_completion() }
}

fn fit(query: &str, candidate: &str) -> Option<MatchRank> {
    if query == candidate {
        return Some(MatchRank::Exact);
    }
    if candidate.starts_with(query) {
        return Some(MatchRank::Prefix);
    }
    let words = candidate.split(|c: char| !c.is_alphanumeric());
    if words.into_iter().any(|word| word.starts_with(query)) {
        return Some(MatchRank::WordPrefix);
    }
    scattered(query, candidate).map(MatchRank::Scattered)
}

/// The number of other letters between the first and the last letter of the query, if all letters occur in order.
fn scattered(query: &str, candidate: &str) -> Option<usize> {
    let mut letters = candidate.chars().enumerate();
    let mut positions = Vec::new();
    for letter in query.chars() {
        positions.push(letters.find(|(_, other)| *other == letter)?.0);
    }
    let (first, last) = (positions.first()?, positions.last()?);
    Some((last - first + 1).saturating_sub(positions.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(value: &str, candidates: &[&str]) -> Vec<String> {
        rank(value, candidates.iter().copied()).values
    }

    #[test]
    fn better_fits_come_first_and_no_fits_not_at_all() {
        let all = ["xpa", "the-park", "Park", "PA", "p-a", "oslo"];
        assert_eq!(ranked("pa", &all), ["PA", "Park", "the-park", "xpa", "p-a"]);
    }

    #[test]
    fn equal_fits_keep_their_order_and_nothing_typed_fits_everything() {
        assert_eq!(ranked("", &["b", "a"]), ["b", "a"]);
        assert_eq!(ranked("é", &["Éclair", "eclair"]), ["Éclair"]);
    }

    #[test]
    fn the_total_counts_what_was_cut() {
        let many = rank("1", (0..1000).map(|n| n.to_string()));
        assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(271), true));
        assert_eq!(many.values.first().map(String::as_str), Some("1"));
    }
}
