//! A set of roles of one policy, as the bits of a word.

/// A set of roles of one policy. Another policy does not recognize it, so a set that was computed before the
/// configuration changed allows nothing and has to be computed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RoleSet {
    /// The id of the policy, which is equal for policies with equal rules.
    policy: u64,
    bits: u64,
}

/// One role of a policy: a word with one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoleBit(u64);

impl RoleBit {
    /// All 64 bits.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..u64::BITS).map(|at| Self(1 << at))
    }
}

impl RoleSet {
    pub(crate) fn empty(policy: u64) -> Self {
        Self { policy, bits: 0 }
    }

    pub(super) fn with(self, role: RoleBit) -> Self {
        Self { bits: self.bits | role.0, ..self }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self { bits: self.bits & !other.bits, ..self }
    }

    pub(super) fn is_of(self, policy: u64) -> bool {
        self.policy == policy
    }

    pub(super) fn contains(self, role: RoleBit) -> bool {
        self.bits & role.0 != 0
    }

    /// Whether there are no roles.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_roles_that_were_added() {
        let roles: Vec<RoleBit> = RoleBit::all().collect();
        assert_eq!(roles.len(), 64);
        let set = RoleSet::empty(7).with(roles[0]).with(roles[63]);
        assert!(set.contains(roles[0]) && set.contains(roles[63]) && !set.contains(roles[1]));
        assert!(set.is_of(7) && !set.is_of(8) && set.without(set).is_empty() && !set.is_empty());
        assert_eq!(set.without(RoleSet::empty(7).with(roles[0])), RoleSet::empty(7).with(roles[63]));
    }
}
