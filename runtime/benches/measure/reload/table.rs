//! A table of measurements and their aims.

use std::time::Duration;

/// Prints rows, and collects missed aims.
pub struct Table {
    missed: Vec<String>,
}

/// Median, 95th percentile and maximum, ms.
#[derive(Clone, Copy)]
pub struct Spread(pub [f64; 3]);

impl Spread {
    pub fn of(times: &[Duration]) -> Self {
        let mut times = times.to_vec();
        times.sort();
        let at = |part: f64| times[((times.len() as f64 * part) as usize).min(times.len() - 1)];
        Self([0.5, 0.95, 1.0].map(|part| at(part).as_secs_f64() * 1e3))
    }

    /// Column by column.
    pub fn less(self, other: Self) -> Self {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        Self([a - d, b - e, c - f])
    }

    /// The same for each column.
    pub fn always(time: Duration) -> Self {
        Self([time.as_secs_f64() * 1e3; 3])
    }
}

impl Table {
    pub fn begin() -> Self {
        println!("{:<66}{:>9}{:>9}{:>9}   aim", "", "p50 ms", "p95 ms", "max ms");
        Self { missed: Vec::new() }
    }

    /// A row of times, without an aim.
    pub fn times(&self, what: &str, Spread([p50, p95, max]): Spread) {
        println!("{what:<66}{p50:>9.2}{p95:>9.2}{max:>9.2}");
    }

    /// A row of times, of which 95 of 100 should be at most `aim`.
    pub fn aimed(&mut self, what: &str, Spread([p50, p95, max]): Spread, aim: Duration) {
        let limit = aim.as_secs_f64() * 1e3;
        println!("{what:<66}{p50:>9.2}{p95:>9.2}{max:>9.2}   p95 at most {limit:.0}");
        self.compare(what, p95, limit, "ms");
    }

    /// A row of one number.
    pub fn number(&mut self, what: &str, number: f64, unit: &str, limit: f64) {
        println!("{what:<66}{number:>9.1} {unit:<17}   at most {limit:.0}");
        self.compare(what, number, limit, unit);
    }

    fn compare(&mut self, what: &str, measured: f64, limit: f64, unit: &str) {
        if measured > limit {
            self.missed.push(format!("{what}: {measured:.2} {unit}, and may be {limit:.0}"));
        }
    }

    /// The aims that were missed.
    pub fn missed(self) -> Vec<String> {
        self.missed
    }
}
