//! Warnings about tasks that may run for longer than they exist.

use std::time::Duration;

use super::{Config, Limits};

impl Config {
    /// Warnings that the operator may not expect, one sentence each.
    pub(super) fn task_warnings(&self) -> impl Iterator<Item = String> {
        let of_all = longest_task(&self.limits);
        let own = self.plugins.iter().map(|(plugin, config)| (Some(plugin), longest_task(&config.limits)));
        let own = own.filter(move |(_, longest)| *longest != of_all);
        let too_long = move |(_, longest): &(_, Duration)| *longest > self.server.task_ttl;
        std::iter::once((None, of_all)).chain(own).filter(too_long).map(move |(plugin, longest)| {
            let whose = plugin.map_or_else(|| "a task".to_owned(), |plugin| format!("a task of `{plugin}`"));
            format!(
                "{whose} may run for {} s (limits `task_wall_ms` and `wall_ms`), but after {} s it is dropped \
                 without a result; raise `task_ttl_s` under [server], or lower those limits",
                longest.as_secs(),
                self.server.task_ttl.as_secs()
            )
        })
    }
}

/// The longest time of a task.
fn longest_task(limits: &Limits) -> Duration {
    limits.task_time().max(limits.wall_time())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn warnings(text: &str) -> Vec<String> {
        Config::parse(text, Path::new("plugport.toml"), "no-such-plugins".into()).unwrap().warnings()
    }

    #[test]
    fn tasks_that_may_outlast_their_time_to_live_get_a_warning() {
        assert!(warnings("[server]\ntask_ttl_s = 600\n[plugins.a]\n").is_empty());
        let of_all = warnings("[server]\ntask_ttl_s = 599\n[plugins.a]\n");
        assert!(matches!(&*of_all, [one] if one.starts_with("a task may run for 600 s")), "{of_all:?}");
        let of_one = warnings("[plugins.a]\n[plugins.b]\nlimits = { task_wall_ms = 3_600_001 }\n");
        assert!(matches!(&*of_one, [one] if one.starts_with("a task of `b` may run")), "{of_one:?}");
        let other_limit = "[server]\ntask_ttl_s = 60\n[limits]\ntask_wall_ms = 50_000\nwall_ms = 61_000\n";
        assert_eq!(warnings(other_limit).len(), 1);
    }
}
