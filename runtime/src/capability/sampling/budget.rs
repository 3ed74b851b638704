//! Budgets of sampling, per call and per hour: the client's user pays for every token.
//!
//! A request is counted before it is sent, by its `maxTokens` and its own length, since clients do not report what the
//! model really used. A request that never reached the model costs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::bindings::plugport::plugin::types::Error;
use crate::capability::client_requests::RequestBudget;
use crate::config::{Limits, SamplingGrant};
use crate::token_bucket::TokenBucket;

/// Bytes of text that count as one token.
const TOKEN_BYTES: u64 = 4;

const HOUR: Duration = Duration::from_secs(3600);

/// What all calls of one plugin may spend in an hour.
#[derive(Debug)]
pub(in crate::capability) struct HourlySamplingBudget {
    grant: SamplingGrant,
    calls: TokenBucket,
    tokens: TokenBucket,
}

/// What one call may spend.
#[derive(Debug)]
pub(in crate::capability) struct CallSamplingBudget {
    calls: RequestBudget,
    tokens: RequestBudget,
}

/// Most tokens that a request may use. Text that is no request counts by its length only, and is rejected later. Of two
/// `maxTokens` the last counts, as it does where the request is sent.
pub(crate) fn tokens(params: &str) -> u64 {
    let max = serde_json::from_str::<MaxTokens>(params).unwrap_or_default().0.unwrap_or_default();
    // The cast saturates, and a fraction of a token is none.
    (max.max(0.0) as u64).saturating_add(params.len() as u64 / TOKEN_BYTES)
}

/// The last `maxTokens` of a request. The rest, which may be long, is skipped.
#[derive(Default)]
struct MaxTokens(Option<f64>);

impl<'de> Deserialize<'de> for MaxTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MaxTokensVisitor;

        impl<'de> Visitor<'de> for MaxTokensVisitor {
            type Value = MaxTokens;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MaxTokens, A::Error> {
                let mut max = MaxTokens::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "maxTokens" {
                        let value: Box<RawValue> = map.next_value()?;
                        max.0 = serde_json::from_str(value.get()).ok();
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(max)
            }
        }

        deserializer.deserialize_map(MaxTokensVisitor)
    }
}

/// The hourly budget of each plugin, by name: a new version goes on with what the version before it has left.
#[derive(Debug, Default)]
pub(crate) struct SamplingBudgets {
    plugins: Mutex<BTreeMap<String, Arc<HourlySamplingBudget>>>,
}

impl SamplingBudgets {
    pub(super) fn for_plugin(&self, plugin: &str, grant: SamplingGrant) -> Arc<HourlySamplingBudget> {
        let mut plugins = self.plugins.lock();
        let now = Instant::now();
        plugins.retain(|_, hourly| Arc::strong_count(hourly) > 1 || !hourly.is_untouched(now));
        if let Some(known) = plugins.get(plugin).filter(|known| known.grant == grant) {
            return Arc::clone(known);
        }
        let hourly = Arc::new(HourlySamplingBudget::new(grant));
        plugins.insert(plugin.to_owned(), Arc::clone(&hourly));
        hourly
    }
}

impl HourlySamplingBudget {
    fn is_untouched(&self, now: Instant) -> bool {
        self.calls.is_full(now) && self.tokens.is_full(now)
    }

    pub(super) fn new(grant: SamplingGrant) -> Self {
        let bucket = |max| TokenBucket::new(max, HOUR, Instant::now());
        Self { grant, calls: bucket(grant.calls_per_hour), tokens: bucket(grant.tokens_per_hour) }
    }
}

impl CallSamplingBudget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            calls: RequestBudget::new(limits.sampling_requests),
            tokens: RequestBudget::new(limits.sampling_tokens),
        }
    }

    /// Counts a request to the model. Returns the tokens that it was counted as.
    pub(super) fn count(&mut self, hourly: &HourlySamplingBudget, params: &str) -> Result<u64, Error> {
        let over = |why: String| Err(Error::OverBudget(why));
        let SamplingGrant { calls_per_hour, tokens_per_hour } = hourly.grant;
        if !self.calls.spend(1) {
            return over(format!(
                "a call may send at most {} sampling requests (limit `sampling_requests`)",
                self.calls.max
            ));
        }
        // Only now, since this reads the whole request.
        let (tokens, now) = (tokens(params), Instant::now());
        if !self.tokens.spend(tokens) {
            let RequestBudget { max, left } = self.tokens;
            return over(format!(
                "the request may cost {tokens} tokens, and of the {max} of a call {left} are left (limit `sampling_tokens`)"
            ));
        }
        if !hourly.calls.take(1, now) {
            return over(format!(
                "the plugin may send at most {calls_per_hour} sampling requests an hour (grant `sampling.calls_per_hour`)"
            ));
        }
        if !hourly.tokens.take(tokens, now) {
            hourly.calls.refund(1);
            return over(format!(
                "the request may cost {tokens} tokens, and the plugin has used most of its {tokens_per_hour} an hour \
                 (grant `sampling.tokens_per_hour`)"
            ));
        }
        Ok(tokens)
    }

    /// Gives back the hourly budget of a request that did not reach the model. It still counts for its call.
    pub(super) fn refund(hourly: &HourlySamplingBudget, tokens: u64) {
        hourly.calls.refund(1);
        hourly.tokens.refund(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(result: Result<u64, Error>) -> String {
        match result {
            Err(Error::OverBudget(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_costs_what_it_allows_and_what_it_says() {
        assert_eq!(tokens(r#"{"maxTokens":100}"#), 104);
        assert_eq!(tokens(r#"{"maxTokens":1e300}"#), u64::MAX);
        assert_eq!(tokens(r#"{"maxTokens":-5}"#), 4);
        assert_eq!(tokens("no json at all"), 3);
        assert_eq!(
            tokens(r#"{"a":[{"maxTokens":7}],"max\u0054okens":5,"b":1}"#),
            5 + 12,
            "however it is written"
        );
        assert_eq!(tokens(r#"{"maxTokens":"many"}"#), 5);
        assert_eq!(tokens(r#"{"maxTokens":1,"maxTokens":9000}"#), 9008, "the one that is sent");
    }

    #[test]
    fn a_call_and_an_hour_have_their_budgets() {
        let limits = Limits { sampling_requests: 3, sampling_tokens: 250, ..Limits::default() };
        let hourly = HourlySamplingBudget::new(SamplingGrant { calls_per_hour: 4, tokens_per_hour: 400 });
        let request = r#"{"maxTokens":96}"#;
        let mut call = CallSamplingBudget::new(&limits);
        assert_eq!(call.count(&hourly, request).unwrap(), 100);
        assert_eq!(call.count(&hourly, request).unwrap(), 100);
        assert!(why(call.count(&hourly, request)).contains("50 are left (limit `sampling_tokens`)"));
        assert!(
            why(call.count(&hourly, request)).contains("3 sampling requests (limit `sampling_requests`)")
        );
        let mut call = CallSamplingBudget::new(&limits);
        assert_eq!(call.count(&hourly, request).unwrap(), 100);
        CallSamplingBudget::refund(&hourly, 100);
        assert_eq!(call.count(&hourly, request).unwrap(), 100);
        let mut call = CallSamplingBudget::new(&limits);
        assert_eq!(call.count(&hourly, request).unwrap(), 100);
        assert!(why(call.count(&hourly, r#"{"maxTokens":4}"#)).contains("4 sampling requests an hour"));
    }

    #[test]
    fn the_hours_tokens_end_too() {
        let hourly = HourlySamplingBudget::new(SamplingGrant { calls_per_hour: 9, tokens_per_hour: 150 });
        let mut call = CallSamplingBudget::new(&Limits::default());
        assert!(call.count(&hourly, r#"{"maxTokens":96}"#).is_ok());
        assert!(why(call.count(&hourly, r#"{"maxTokens":96}"#)).contains("150 an hour"));
    }

    #[test]
    fn a_plugin_that_is_replaced_has_what_is_left() {
        let (budgets, grant) =
            (SamplingBudgets::default(), SamplingGrant { calls_per_hour: 1, tokens_per_hour: 900 });
        let send = |grant| {
            let hourly = budgets.for_plugin("p", grant);
            CallSamplingBudget::new(&Limits::default()).count(&hourly, r#"{"maxTokens":4}"#).is_ok()
        };
        assert!(send(grant), "the first version");
        assert!(!send(grant), "the second one has nothing left");
        assert!(send(SamplingGrant { calls_per_hour: 2, ..grant }), "the operator grants something else");
        let other = budgets.for_plugin("q", grant);
        drop(other);
        budgets.for_plugin("r", grant);
        assert!(!budgets.plugins.lock().contains_key("q"), "an untouched budget is dropped");
    }
}
