//! What time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use exports::tools::clock::time_tools::{Guest, Moment};

wit_bindgen::generate!({ world: "clock", path: "wit" });

struct Clock;

impl Guest for Clock {
    fn now() -> Moment {
        moment(SystemTime::now()).unwrap_or(Moment { seconds: 0, nanoseconds: 0 })
    }

    fn later(seconds: u64) -> Option<Moment> {
        moment(SystemTime::now().checked_add(Duration::from_secs(seconds))?)
    }
}

fn moment(time: SystemTime) -> Option<Moment> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Moment { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() })
}

export!(Clock);
