//! Counts the requests of one server.

use super::callgrind::Callgrind;
use super::{Cost, Costs, results_folder};

/// Requests before counting begins: they fill caches, and allocate what a server needs once.
const WARM_UP: u32 = 10;

/// Requests that are counted in a round: enough that what ends with the round is a small part.
const REQUESTS: u32 = 40;

/// The round with the fewest instructions counts. In the others, threads of the server may have had other work, such as
/// looking at the folder of plugins.
const ROUNDS: u32 = 3;

/// Counts what a server under callgrind executes for requests.
pub(super) struct Counter<'c> {
    callgrind: Callgrind,
    pid: u32,
    costs: &'c mut Costs,
}

impl<'c> Counter<'c> {
    /// For a process that was started with the shell of `callgrind`.
    pub(super) fn new(callgrind: Callgrind, pid: u32, costs: &'c mut Costs) -> Self {
        Self { callgrind, pid, costs }
    }

    /// Sends a request again and again, and adds its cost under this name. `request` gets the number of the request.
    pub(super) async fn count(&mut self, name: &str, mut request: impl AsyncFnMut(u32)) {
        let profile = results_folder().join(format!("{name}.callgrind"));
        for number in 0..WARM_UP {
            request(number).await;
        }
        self.callgrind.totals(self.pid, &profile).await;
        let mut fewest: Option<Cost> = None;
        for round in 0..ROUNDS {
            let first = WARM_UP + round * REQUESTS;
            for number in first..first + REQUESTS {
                request(number).await;
            }
            let totals = self.callgrind.totals(self.pid, &profile).await;
            let cost = Cost::of_one(totals, REQUESTS);
            if fewest.is_none_or(|fewest| cost.instructions < fewest.instructions) {
                fewest = Some(cost);
            }
        }
        self.costs.extend(fewest.map(|cost| (name.to_owned(), cost)));
    }
}
