//! Whether one set of grants is a subset of another. Of variables, settings and secrets only the names
//! count: a changed value revokes nothing.

use super::{DirGrant, DirQuota, Grants, RootsGrant, SamplingGrant};

impl Grants {
    /// Whether everything that is granted here is granted by `other` too.
    #[must_use]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        let dirs = self.dirs.iter().all(|dir| other.dirs.iter().any(|wider| is_dir_subset(dir, wider)));
        let http = self.http.iter().all(|grant| other.http.contains(grant));
        let env = self.env.iter().all(|own| other.env.iter().any(|theirs| theirs.name == own.name));
        let config = self.config.keys().all(|key| other.config.contains_key(key));
        let secrets = self.secrets.iter().all(|(name, _)| other.secrets.get(name).is_some());
        dirs && http
            && env
            && config
            && secrets
            && self.is_client_access_subset_of(other)
            && self.kv_mib <= other.kv_mib
    }

    /// The same for what concerns the client.
    fn is_client_access_subset_of(&self, other: &Self) -> bool {
        let sampling = self.sampling.is_none_or(|own| {
            other.sampling.is_some_and(|SamplingGrant { calls_per_hour, tokens_per_hour }| {
                own.calls_per_hour <= calls_per_hour && own.tokens_per_hour <= tokens_per_hour
            })
        });
        let below = |grants: &Self| -> Vec<_> {
            grants.read_roots.iter().flat_map(RootsGrant::below).cloned().collect()
        };
        let wider = below(other);
        let roots = below(self).iter().all(|own| wider.iter().any(|wider| own.starts_with(wider)));
        sampling && roots && (!self.elicitation || other.elicitation) && (!self.roots || other.roots)
    }
}

fn is_dir_subset(own: &DirGrant, wider: &DirGrant) -> bool {
    let quota = match (own.write, wider.write) {
        (None, _) => true,
        (Some(DirQuota { mib, files }), Some(wider)) => mib <= wider.mib && files <= wider.files,
        (Some(_), None) => false,
    };
    own.host == wider.host && own.guest == wider.guest && quota
}

#[cfg(test)]
mod tests {
    use super::super::{GrantContext, ProtectedPaths};
    use super::*;

    fn grants(given: &[&str]) -> Grants {
        let mut grants = Grants::default();
        let dir = std::env::temp_dir();
        let context = GrantContext { base: &dir, protected: &ProtectedPaths::default() };
        given.iter().for_each(|text| grants.add(text, context).unwrap());
        grants
    }

    #[test]
    fn less_is_within_more_and_not_the_other_way() {
        let more =
            Grants { elicitation: true, roots: true, ..grants(&["kv=16", "env=TZ=UTC", "config=a=1"]) };
        let less = grants(&["kv=8", "config=a=2"]);
        assert!(less.is_subset_of(&more) && !more.is_subset_of(&less));
        assert!(Grants::default().is_subset_of(&less) && more.is_subset_of(&more));
        for one in [
            grants(&["kv=17"]),
            grants(&["env=PATH"]),
            grants(&["secret=a=env:PATH"]),
            Grants { sampling: Some(SamplingGrant::default()), ..Grants::default() },
        ] {
            assert!(!one.is_subset_of(&more), "{one:?}");
        }
        let ask = |calls_per_hour| Grants {
            sampling: Some(SamplingGrant { calls_per_hour, ..SamplingGrant::default() }),
            ..Grants::default()
        };
        assert!(ask(1).is_subset_of(&ask(2)) && !ask(2).is_subset_of(&ask(1)));
    }

    #[test]
    fn a_directory_to_read_is_within_one_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let read = |how: &str| grants(&[&format!("dir={}:/data{how}", dir.path().display())]);
        assert!(read("").is_subset_of(&read(":rw")) && !read(":rw").is_subset_of(&read("")));
    }
}
