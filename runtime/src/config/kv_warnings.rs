//! Warnings about key-value stores that several callers share, or that no caller has.

use super::{Config, KvPer};

impl Config {
    /// Warnings that the operator may not expect, one sentence each.
    pub(super) fn kv_warnings(&self) -> impl Iterator<Item = String> {
        self.plugins.iter().filter_map(move |(plugin, config)| {
            let grant = config.grants.keyvalue?;
            match (grant.per, &self.auth) {
                (KvPer::Plugin, Some(_)) => Some(format!(
                    "`{plugin}` has one key-value store for all callers, so what one stores there may be shown to \
                     another; write `kv = {{ quota_mib = {}, per = \"caller\" }}` under [plugins.{plugin}.grants] to \
                     give each a store",
                    grant.quota_mib
                )),
                (KvPer::Caller, None) => Some(format!(
                    "`{plugin}` has a key-value store for each caller, but without [auth] nobody knows who calls over \
                     HTTP, so only the client on stdio has one; write `per = \"plugin\"`, or add [auth]"
                )),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn warnings(text: &str) -> Vec<String> {
        Config::parse(text, Path::new("plugport.toml"), "no-such-plugins".into()).unwrap().warnings()
    }

    #[test]
    fn a_store_gets_a_warning_that_several_share_or_nobody_has() {
        let shared = "[plugins.a.grants]\nkv = { quota_mib = 4 }\n";
        let split = "[plugins.a.grants]\nkv = { per = \"caller\" }\n";
        let with_auth = |text: &str| warnings(&format!("[auth]\n{text}"));
        assert!(warnings(shared).is_empty() && with_auth(split).is_empty());
        let told = with_auth(shared);
        assert!(
            matches!(&*told, [one] if one.contains("kv = { quota_mib = 4, per = \"caller\" }")),
            "{told:?}"
        );
        let told = warnings(split);
        assert!(matches!(&*told, [one] if one.contains("without [auth]")), "{told:?}");
    }

    #[test]
    fn an_owner_that_is_none_is_reported() {
        let text = "[plugins.a.grants]\nkv = { per = \"user\", quota_mib = 0, peer = 1 }\n";
        let read = Config::parse(text, Path::new("plugport.toml"), "no-such-plugins".into());
        let message = read.unwrap_err().to_string();
        for expected in [
            ":2: plugins.a.grants.kv.per: must be \"plugin\" or \"caller\"",
            ":2: plugins.a.grants.kv.quota_mib: must be a whole number from 1 to 65536",
            ":2: plugins.a.grants.kv.peer: unknown key; did you mean `per`?",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
    }
}
