//! Counts a call by the quotas of the roles that allow it.
//!
//! Each method that calls a plugin comes here after the item was found and allowed, and before anything is done for the
//! call. A request that resumes a suspended call does not: the call was counted when it began.

use super::super::call_client::AllowedCall;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::item_access::AllowingRoles;
use crate::access::{OverQuota, QuotaCaller};
use crate::call_env::Caller;
use crate::plugin::{CallKind, OverQuotaCall, Plugin};
use crate::token_bucket::CallerKey as _;

/// What is called, as the audit names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledItem<'c> {
    pub(super) plugin: &'c Plugin,
    pub(super) kind: CallKind,
    /// The plugin's own name of it.
    pub(super) name: &'c str,
    /// Bytes of the arguments.
    pub(super) bytes_in: usize,
}

/// Counts a call, if a quota holds. A call over quota has its line in the audit.
pub(super) async fn admit(
    server: &Server,
    context: &RequestContext,
    AllowingRoles { names: roles, quotas }: AllowingRoles,
    called: CalledItem<'_>,
) -> Result<AllowedCall, OverQuota> {
    if quotas.is_empty() {
        return Ok(AllowedCall { roles, charge: None });
    }
    let admitted = server.quotas().admit(counted_caller(&context.caller), &quotas).await;
    let admitted = admitted.inspect_err(|over| {
        let CalledItem { plugin, kind, name, bytes_in } = called;
        let limit = (over.limit_name(), over.value());
        plugin.record_over_quota(&OverQuotaCall { kind, name, caller: &context.caller, limit, bytes_in });
    });
    Ok(AllowedCall { roles, charge: admitted? })
}

/// The caller as quotas count it: the same as for rates.
fn counted_caller(caller: &Caller) -> QuotaCaller {
    let name = caller.key().to_string();
    match caller {
        Caller::Principal(_) | Caller::Stdio | Caller::CommandLine | Caller::Server => {
            QuotaCaller::principal(&name)
        }
        Caller::Address(_) | Caller::Unknown => QuotaCaller::anonymous(&name),
    }
}
