//! One role, prepared for decisions.

use std::sync::Arc;

use super::item::{ItemTarget, RuleKind};
use super::pattern_set::PatternSet;
use super::role_set::RoleBit;
use crate::access::quota::RoleQuota;
use crate::config::{ArgumentCondition, ItemConditions, RoleConfig};

/// One role of a policy.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) bit: RoleBit,
    pub(super) config: RoleConfig,
    pub(super) allow: PatternSet,
    pub(super) deny: PatternSet,
    /// The quota of each caller that uses this role.
    pub(super) quota: Option<RoleQuota>,
}

impl Role {
    pub(super) fn new(bit: RoleBit, config: &RoleConfig) -> Self {
        let (allow, deny) = (PatternSet::new(&config.allow), PatternSet::new(&config.deny));
        let quota = config
            .quota
            .as_ref()
            .map(|quota| RoleQuota { role: config.name.as_str().into(), quota: Arc::new(quota.clone()) });
        Self { bit, config: config.clone(), allow, deny, quota }
    }

    /// The conditions on the arguments of this item. All of them must hold for this role to allow a call.
    pub(super) fn conditions<'r>(
        &'r self,
        target: &ItemTarget<'_>,
    ) -> impl Iterator<Item = &'r ArgumentCondition> {
        let is_meant = move |item: &&'r ItemConditions| target.is_meant_by(&item.item.value, RuleKind::When);
        self.config.when.iter().filter(is_meant).flat_map(|item| &item.arguments)
    }
}
