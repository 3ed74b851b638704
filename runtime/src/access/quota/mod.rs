//! Quotas: how much each caller may use by a role.
//!
//! The layer `mcp` calls [`Quotas::admit`] once for each call, with the quotas of the roles that allow the call. It
//! keeps the returned [`CallCharge`] until the call has ended, and charges to it what the call used. Each role counts
//! separately: a caller with several roles uses up one quota after the other, and if one of the roles has no quota,
//! nothing is counted. The policy decides which roles allow a call (`access/policy`); this module only counts, and
//! knows neither items nor MCP.
//!
//! The counts must survive the end of the process, even if it is killed. A bucket is one point in time (`gcra`), and
//! the file always has a later point than the bucket in memory (`usage_table`, `file_writer`). So a restart may take a
//! little from a caller, and never gives anything back.

mod file_writer;
mod gcra;
mod quota_error;
mod quota_file;
#[cfg(test)]
mod tests;
mod usage_table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

pub use quota_error::QuotaError;

use crate::config::{QuotaConfig, QuotaKind};
use file_writer::QuotaFileWriter;
use gcra::StoredBucket;
use usage_table::{BucketKey, RoleUsageKey, UsageTable, WriteAheadLog};

/// A role with a quota for each of its callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleQuota {
    /// The name of the role.
    pub role: Arc<str>,
    /// Its quota.
    pub quota: Arc<QuotaConfig>,
}

/// The caller that is counted: a digest of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuotaCaller {
    is_authenticated: bool,
    digest: [u8; 16],
}

impl QuotaCaller {
    /// The counted caller for the id of a principal or of the client on stdio.
    #[must_use]
    pub fn principal(id: &str) -> Self {
        Self { is_authenticated: true, digest: digest(id) }
    }

    /// The counted caller for the address of an unauthenticated client.
    #[must_use]
    pub fn anonymous(address: &str) -> Self {
        Self { is_authenticated: false, digest: digest(address) }
    }

    fn is_authenticated(self) -> bool {
        self.is_authenticated
    }

    /// The caller that stands for all callers without an entry of their own.
    fn shared(self) -> Self {
        Self { digest: [0; 16], ..self }
    }

    fn to_text(self) -> String {
        let kind = if self.is_authenticated { 'p' } else { 'a' };
        format!("{kind}{}", HEXLOWER.encode(&self.digest))
    }

    fn from_text(text: &str) -> Option<Self> {
        let (kind, digest) = text.split_at_checked(1)?;
        let digest = HEXLOWER.decode(digest.as_bytes()).ok()?.try_into().ok()?;
        Some(Self { is_authenticated: kind == "p", digest })
    }
}

fn digest(id: &str) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(id.as_bytes()).into();
    whole.first_chunk().copied().unwrap_or_default()
}

/// Nanoseconds since 1970.
fn wall_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// What all callers have used of their quotas. It lives as long as the process: if `[roles]` changes, a role keeps what
/// was used under its name.
#[derive(Debug, Default)]
pub struct Quotas {
    folder: Option<PathBuf>,
    table: Mutex<UsageTable>,
    /// Whether a role has, or has had, a quota.
    is_open: AtomicBool,
    /// `None` until a role has a quota, and without a state folder.
    file_writer: ArcSwapOption<QuotaFileWriter>,
}

/// Without a writer nothing is written, and no call waits.
impl WriteAheadLog for Option<&QuotaFileWriter> {
    fn put(&self, key: BucketKey, stored: StoredBucket) -> u64 {
        self.map_or(0, |writer| writer.put(key, stored))
    }
}

impl Quotas {
    /// Makes quotas that are stored in this state folder; with `None` they last until the process ends.
    #[must_use]
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Restores what callers have used before this process. Must be called before roles with quotas take effect;
    /// further calls do nothing.
    pub fn open(&self) {
        if self.is_open.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(folder) = self.folder.clone() else {
            tracing::warn!(
                "there is no state folder, so a restart forgets what callers have used of their quotas; name one with \
                 `state_dir` under [server]"
            );
            return;
        };
        match QuotaFileWriter::start(folder) {
            Ok((writer, buckets)) => {
                let mut table = self.table.lock();
                buckets.into_iter().for_each(|(key, stored)| table.restore(key, stored));
                self.file_writer.store(Some(Arc::new(writer)));
            }
            Err(error) => {
                tracing::error!(%error, "a restart will forget what callers use of their quotas");
            }
        }
    }

    /// Counts a call against one of the roles that allow it. Returns `None` without roles: then nothing is counted.
    ///
    /// # Errors
    /// When each of the roles has reached a limit. The error is about the role that is free again first.
    pub async fn admit(
        self: &Arc<Self>,
        caller: QuotaCaller,
        roles: &[RoleQuota],
    ) -> Result<Option<Arc<CallCharge>>, QuotaError> {
        if roles.is_empty() {
            return Ok(None);
        }
        let admitted = self.with_table(|table, ahead, now| table.admit(caller, roles, now, ahead))?;
        let Some(admitted) = admitted else { return Ok(None) };
        let charge = CallCharge { quotas: Arc::clone(self), key: admitted.key, quota: admitted.quota };
        // From here on the call is counted; dropping the charge ends it.
        self.written(admitted.write).await;
        Ok(Some(Arc::new(charge)))
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut UsageTable, &Option<&QuotaFileWriter>, u64) -> T) -> T {
        let writer = self.file_writer.load();
        let ahead = writer.as_deref();
        let mut table = self.table.lock();
        // The clock is read under the lock, so that times are in the order of calls.
        work(&mut table, &ahead, wall_clock())
    }

    async fn written(&self, write: u64) {
        if write == 0 {
            return;
        }
        if let Some(writer) = self.file_writer.load_full() {
            writer.written(write).await;
        }
    }
}

/// A counted call. What the call uses is charged to the quota that admitted it. Dropping the charge ends the call.
#[derive(Debug)]
pub struct CallCharge {
    quotas: Arc<Quotas>,
    key: RoleUsageKey,
    quota: RoleQuota,
}

/// Tokens that are reserved for a request to the client's model.
#[derive(Debug)]
#[must_use]
pub struct TokenReservation {
    tokens: u64,
    since: u64,
}

impl CallCharge {
    /// Charges what a call has used, even if less was left.
    pub fn used(&self, fuel: u64, cpu: Duration) {
        let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
        let quota: &QuotaConfig = &self.quota.quota;
        let is_limited = |kind| quota.rate(kind).is_some();
        if !is_limited(QuotaKind::FuelPerHour) && !is_limited(QuotaKind::CpuPerHour) {
            return;
        }
        self.quotas.with_table(|table, ahead, now| {
            for used in [(QuotaKind::FuelPerHour, fuel), (QuotaKind::CpuPerHour, micros)] {
                table.take((&self.key, quota), used, now, ahead);
            }
        });
    }

    /// Whether the quota limits tokens of the client's model.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.quota.quota.rate(QuotaKind::SamplingTokensPerDay).is_some()
    }

    /// Reserves tokens before a request to the client's model is sent.
    ///
    /// # Errors
    /// When fewer tokens are left.
    pub async fn reserve_tokens(&self, tokens: u64) -> Result<TokenReservation, QuotaError> {
        let wanted = (QuotaKind::SamplingTokensPerDay, tokens);
        let (write, since) = self.quotas.with_table(|table, ahead, now| {
            table.reserve((&self.key, &self.quota), wanted, now, ahead).map(|write| (write, now))
        })?;
        self.quotas.written(write).await;
        Ok(TokenReservation { tokens, since })
    }

    /// Returns the tokens of a request that was never sent.
    pub fn refund(&self, TokenReservation { tokens, since }: TokenReservation) {
        let quota: &QuotaConfig = &self.quota.quota;
        let returned = (QuotaKind::SamplingTokensPerDay, tokens);
        self.quotas.with_table(|table, _, now| {
            table.refund((&self.key, quota), returned, (since, now));
        });
    }
}

impl Drop for CallCharge {
    fn drop(&mut self) {
        self.quotas.table.lock().end(&self.key);
    }
}
