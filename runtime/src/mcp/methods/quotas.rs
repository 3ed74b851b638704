//! Counts a call against the quotas of the roles that allow it.
//!
//! Each method that calls a plugin counts its call here, after the item was found and allowed, and before any work for
//! the call. A request that resumes a suspended call is not counted again.

use super::super::call_client::AllowedCall;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::item_access::AllowingRoles;
use crate::access::{QuotaCaller, QuotaError};
use crate::call_env::Caller;
use crate::plugin::{CallKind, OverQuotaCall, Plugin};
use crate::token_bucket::CallerKey as _;

/// The item that is called, as the audit names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledItem<'c> {
    pub(super) plugin: &'c Plugin,
    pub(super) kind: CallKind,
    /// The name that the plugin gave the item.
    pub(super) name: &'c str,
    /// The length of the arguments in bytes.
    pub(super) bytes_in: usize,
}

/// Counts a call, if a quota applies. A call over quota is recorded in the audit.
pub(super) async fn admit(
    server: &Server,
    context: &RequestContext,
    AllowingRoles { names: roles, quotas }: AllowingRoles,
    called: CalledItem<'_>,
) -> Result<AllowedCall, QuotaError> {
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

/// The caller that quotas count, which is the same as for rates.
fn counted_caller(caller: &Caller) -> QuotaCaller {
    let name = caller.key().to_string();
    match caller {
        Caller::Principal(_) | Caller::Stdio | Caller::CommandLine | Caller::Server => {
            QuotaCaller::principal(&name)
        }
        Caller::Address(_) | Caller::Unknown => QuotaCaller::anonymous(&name),
    }
}
