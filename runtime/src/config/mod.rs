//! From `plugport.toml` to a configuration that cannot be wrong.
//!
//! The file is read and checked once, at start, and all mistakes are reported together. The result has no half-states
//! left, so nothing about configuration can fail while a call is served. This layer knows TOML and the file system, and
//! no plugin's contents.

mod approval_mode;
mod audit;
mod auth;
mod error;
mod expiry_date;
pub mod fixed_limits;
mod instance_mode;
mod item_kind;
mod kv_warnings;
mod limits;
mod name_suggestion;
mod principal_name;
mod roles;
mod server;
mod sidecar;
mod signatures;
mod task_warnings;
mod telemetry;
mod tls;
mod url_authority;
mod user_dirs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::capability::grant_trait::resolved;
pub use crate::capability::grant_trait::{GrantContext, GrantError, GrantSentence, ProtectedPaths};
pub(crate) use crate::capability::plugin_grants::{AppUi, InvalidUi, UiCsp, UiPermissions, check_ui_fields};
pub use crate::capability::plugin_grants::{
    DirGrant, DirQuota, ElicitationGrant, Grants, Host, HostParseError, HttpGrant, HttpGrantError, KvGrant,
    KvPer, RootsGrant, SamplingGrant, Scheme, UiGrant, UiReach,
};
pub use crate::toml_reader::Diagnostic;
pub(crate) use crate::toml_reader::nearest;
use crate::toml_reader::{self, TomlReader, TomlTable};
pub use approval_mode::ApprovalMode;
pub use audit::AuditConfig;
pub use auth::{
    AnonymousAccess, AuthConfig, Endpoint, IssuerConfig, JsonPointer, JwksSource, JwtAlgorithm, OAuthClient,
    ResourceUri, StaticToken, TOKEN_PREFIX,
};
pub use error::ConfigError;
pub use instance_mode::InstanceMode;
pub use item_kind::ItemKind;
pub use limits::{LimitError, LimitSpec, Limits, kib, mib};
pub use principal_name::{MAX_PRINCIPAL_NAME, is_principal_name};
pub use roles::{
    AllowedValue, ArgumentCondition, ArgumentPointer, ArgumentPointerError, CertificatePattern, Hint,
    ItemConditions, ItemPattern, ItemPatternError, NameGlob, PathGlob, PathGlobError, PathValue, QuotaConfig,
    QuotaKind, RequiredScopes, RoleConfig, RolesConfig, Rule, WhoPattern, WhoPatternError,
};
pub(crate) use roles::{comparable_uri, has_dot_segment};
pub(crate) use server::MAX_STACK_KIB;
pub use server::{ServerConfig, parse_listen};
pub use sidecar::sidecar_path;
pub use signatures::{KeyId, SignatureKeys, TrustedKey};
pub use telemetry::{OtlpConfig, OtlpEndpoint, OtlpEndpointError, TelemetryConfig};
pub use tls::TlsConfig;
pub use user_dirs::{all_user_state_dirs, user_cache_dir, user_state_dir};

/// The lockfile, in the folder of the configuration: made to be committed with it.
const LOCK: &str = "plugport.lock";

/// The operator's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where and how to listen.
    pub server: ServerConfig,
    /// Limits of a plugin that has no section of its own.
    pub limits: Limits,
    /// Sections of single plugins, by the stem of their file.
    pub plugins: BTreeMap<String, PluginConfig>,
    /// The folder that holds the plugins.
    pub folder: PathBuf,
    /// The file that all this was read from.
    pub file: Option<PathBuf>,
    /// The folder of key-value data and the audit; `None` when neither the configuration nor the environment names one.
    pub state_dir: Option<PathBuf>,
    /// The folder of compiled code that the configuration names.
    pub compiled_cache_dir: Option<PathBuf>,
    /// How the audit is written.
    pub audit: AuditConfig,
    /// What the server tells about itself to other programs.
    pub telemetry: TelemetryConfig,
    /// How callers are authenticated; `None`: they are not.
    pub auth: Option<AuthConfig>,
    /// Who may see and call what; empty: every caller everything.
    pub roles: RolesConfig,
    /// The lockfile.
    pub lock: PathBuf,
}

/// The operator's settings for one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// Published before each name, with a dash; empty for bare names.
    pub prefix: String,
    /// The limits its calls run under.
    pub limits: Limits,
    /// What it may use outside the sandbox.
    pub grants: Grants,
    /// Whether its instances outlive their calls.
    pub instances: InstanceMode,
    /// Whether its calls may become tasks for clients that know none.
    pub task_bridge: bool,
    /// Whether it is rejected without a signature.
    pub require_signature: bool,
    /// The keys whose signatures are trusted.
    pub trusted_keys: Arc<SignatureKeys>,
    /// The scopes that its items need; none in the settings of a loaded plugin, since the policy has them.
    pub scopes: RequiredScopes,
    /// What it finds as its sources, only while it is developed; empty if it was built with them. Not a grant: it is
    /// part of the plugin's code.
    pub dev_sources: Option<Arc<str>>,
}

impl Config {
    /// The configuration of a server without a file.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            server: ServerConfig::default(),
            limits: Limits::default(),
            plugins: BTreeMap::new(),
            state_dir: user_dirs::server_state_dir(&folder),
            compiled_cache_dir: None,
            folder,
            file: None,
            audit: AuditConfig::default(),
            telemetry: TelemetryConfig::default(),
            auth: None,
            roles: RolesConfig::default(),
            lock: PathBuf::from(LOCK),
        }
    }

    /// Reads and checks a file. Paths in it are relative to the folder it stands in.
    ///
    /// # Errors
    /// With every mistake in the file at once.
    pub fn read(file: &Path, folder: PathBuf) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(&text, file, folder)
    }

    /// The state folder of the servers with this configuration, also when the rest of the file has mistakes: a running
    /// server may have read it before they were made.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn state_folder(file: &Path) -> Result<Option<PathBuf>, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        let base = file.parent().unwrap_or(Path::new(""));
        let mut reader = TomlReader::new(&text);
        let table = reader.root().take("server").and_then(|entry| entry.table(&mut reader));
        let state = table.and_then(|table| ServerConfig::read(table, base, &mut reader).state_dir);
        Ok(state_dir(file, state.as_deref()))
    }

    /// The file of the audit; `None` when there is no folder for it.
    #[must_use]
    pub fn audit_file(&self) -> Option<PathBuf> {
        let default = || self.state_dir.as_ref().map(|state| state.join(AuditConfig::FILE));
        self.audit.file.clone().or_else(default)
    }

    /// Reads the file again while a server runs; only a regular file, since reading a pipe could wait forever.
    ///
    /// # Errors
    /// With every mistake in the file at once.
    pub fn reload(file: &Path, folder: PathBuf) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
        if !std::fs::metadata(file).map_err(unreadable)?.is_file() {
            return Err(unreadable(std::io::Error::other("it is not a regular file")));
        }
        Self::read(file, folder)
    }

    fn parse(text: &str, file: &Path, folder: PathBuf) -> Result<Self, ConfigError> {
        let mut reader = TomlReader::new(text);
        let mut root = reader.root();
        let mut config = Self { file: Some(file.to_owned()), ..Self::new(folder) };
        let base = file.parent().unwrap_or(Path::new(""));
        if let Some(table) = root.take("server").and_then(|entry| entry.table(&mut reader)) {
            config.server = ServerConfig::read(table, base, &mut reader);
        }
        if let Some(entry) = root.take("limits") {
            config.limits.read(entry, &mut reader);
        }
        config.state_dir = state_dir(file, config.server.state_dir.as_deref());
        config.compiled_cache_dir = config.server.compiled_cache_dir.as_ref().map(|dir| base.join(dir));
        config.lock = base.join(LOCK);
        if let Some(table) = root.take("audit").and_then(|entry| entry.table(&mut reader)) {
            config.audit = AuditConfig::read(table, base, &mut reader);
        }
        if let Some(table) = root.take("telemetry").and_then(|entry| entry.table(&mut reader)) {
            config.telemetry = TelemetryConfig::read(table, base, &mut reader);
        }
        config.auth = root
            .take("auth")
            .and_then(|entry| entry.table(&mut reader))
            .map(|table| AuthConfig::read(table, base, &mut reader));
        if let Some(entry) = root.take("roles") {
            config.roles = RolesConfig::read(entry, &mut reader);
        }
        if let Some(mut table) = root.take("plugins").and_then(|entry| entry.table(&mut reader)) {
            for (name, entry) in table.take_all() {
                if let Some(table) = entry.table(&mut reader) {
                    let plugin = config.read_plugin(&name, table, base, &mut reader);
                    config.plugins.insert(name, plugin);
                }
            }
        }
        root.finish(&mut reader, &["server", "limits", "audit", "telemetry", "auth", "roles", "plugins"]);
        reader.finish(config).map_err(|mistakes| ConfigError::invalid(file, mistakes))
    }

    fn read_plugin(
        &self,
        name: &str,
        mut from: TomlTable<'_>,
        base: &Path,
        reader: &mut TomlReader<'_>,
    ) -> PluginConfig {
        let mut plugin = self.plugin(name);
        if let Some(prefix) = from.take("prefix").and_then(|entry| entry.string(reader)) {
            plugin.prefix = prefix;
        }
        if let Some(entry) = from.take("limits") {
            plugin.limits.read(entry, reader);
        }
        if let Some(table) = from.take("grants").and_then(|entry| entry.table(reader)) {
            let protected = self.protected();
            plugin.grants = Grants::read(table, GrantContext { base, protected: &protected }, reader);
        }
        if let Some(entry) = from.take("instances")
            && let Some(instances) = InstanceMode::read(&entry, &plugin.grants, reader)
        {
            plugin.instances = instances;
        }
        if let Some(bridged) = from.take("task_bridge").and_then(|entry| entry.boolean(reader)) {
            plugin.task_bridge = bridged;
        }
        if let Some(entry) = from.take("require_signature")
            && let Some(required) = self.server.trusted_keys.read_required(&entry, reader)
        {
            plugin.require_signature = required;
        }
        plugin.scopes = RequiredScopes::read(&mut from, reader);
        let known = [
            "prefix",
            "limits",
            "grants",
            "instances",
            "task_bridge",
            "require_signature",
            "scopes",
            "tools",
        ];
        from.finish(reader, &known);
        plugin
    }

    /// Paths that no guest may write, since they decide what is served and granted, and paths that no guest may even
    /// read.
    #[must_use]
    pub fn protected(&self) -> ProtectedPaths {
        let whole = |path: &PathBuf| resolved(path);
        let folders = [Some(&self.folder), self.file.as_ref(), self.audit.file.as_ref(), Some(&self.lock)];
        ProtectedPaths {
            folders: folders.into_iter().flatten().filter_map(whole).collect(),
            states: self.state_dir.iter().chain(&all_user_state_dirs()).filter_map(whole).collect(),
            caches: self
                .compiled_cache_dir
                .iter()
                .chain(&user_dirs::all_user_cache_dirs())
                .filter_map(whole)
                .collect(),
            home: std::env::home_dir().as_ref().and_then(whole),
        }
    }

    /// Whether a running server can take over all differences to another configuration.
    #[must_use]
    pub fn needs_no_restart_after(&self, other: &Self) -> bool {
        self.server.needs_no_restart_after(&other.server)
            && self.state_dir == other.state_dir
            && self.audit == other.audit
            && self.telemetry == other.telemetry
    }

    /// Warnings about settings that mean together what the operator may not expect, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.case_collisions();
        warnings.extend(self.server.tls.as_ref().and_then(TlsConfig::warning));
        for (owner, name, file) in self.secret_files() {
            let others = self.plugins.iter().filter(|(plugin, _)| *plugin != owner);
            let dirs = others
                .flat_map(|(plugin, config)| config.grants.filesystem.iter().map(move |dir| (plugin, dir)));
            warnings.extend(dirs.filter(|(_, dir)| file.starts_with(&dir.host)).map(|(plugin, dir)| {
                let (file, dir) = (file.display(), dir.host.display());
                format!("`{plugin}` may read {dir}, where {file} holds the secret `{name}` of `{owner}`; move one of them")
            }));
        }
        warnings.extend(self.roles.warnings(self.auth.as_ref()));
        warnings.extend(self.kv_warnings());
        warnings.extend(self.task_warnings());
        warnings
    }

    /// Files that hold secrets, each with the plugin that was granted it and its name there.
    fn secret_files(&self) -> impl Iterator<Item = (&String, &str, PathBuf)> {
        self.plugins.iter().flat_map(|(plugin, config)| {
            let secrets = config.grants.config.secrets.iter();
            secrets
                .filter_map(move |(name, secret)| Some((plugin, name, secret.file()?.canonicalize().ok()?)))
        })
    }

    /// The settings of the plugin of this name: its own section, or the defaults without grants.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginConfig {
        self.plugins.get(name).cloned().unwrap_or_else(|| PluginConfig {
            prefix: name.to_owned(),
            limits: self.limits.clone(),
            grants: Grants::default(),
            instances: InstanceMode::default(),
            task_bridge: self.server.task_bridge,
            require_signature: self.server.require_signature,
            trusted_keys: Arc::clone(&self.server.trusted_keys),
            scopes: RequiredScopes::default(),
            dev_sources: None,
        })
    }
}

/// The state folder of a configuration: the one that it names, relative to itself, or else one of the user's folders.
fn state_dir(file: &Path, named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(named) => Some(file.parent().unwrap_or(Path::new("")).join(named)),
        None => user_dirs::server_state_dir(file),
    }
}

#[cfg(test)]
mod tests;
