//! The `[server]` table: where to listen, who may connect, and what one connection may cost.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::approval_mode::ApprovalMode;
use super::signatures::SignatureKeys;
use super::tls::TlsConfig;
use super::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// PLUG on a phone keypad.
const DEFAULT_PORT: u16 = 7584;

/// The largest `stack_kib`.
pub(crate) const MAX_STACK_KIB: u64 = 8_192;

/// The settings of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where HTTP is served.
    pub listen: SocketAddr,
    /// How HTTPS is served; `None`: HTTP.
    pub tls: Option<TlsConfig>,
    /// The folder of key-value data, compiled code and the audit, relative to the configuration file; `None`: in the
    /// folders of the user who runs the server.
    pub state_dir: Option<PathBuf>,
    /// The folder of compiled code, relative to the configuration file; `None`: in `state_dir`, or else in the user's
    /// own.
    pub compiled_cache_dir: Option<PathBuf>,
    /// Most compiled code on disk, MiB; zero: none is stored.
    pub compiled_cache_mib: u64,
    /// Host names that a request may carry besides loopback names and the listening address.
    pub allowed_hosts: Vec<String>,
    /// Origins that a browser may come from besides loopback ones.
    pub allowed_origins: Vec<String>,
    /// Networks of proxies whose `X-Forwarded-For` names the client.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether plugins may read the roots of HTTP clients that seem to run on this machine.
    pub roots_over_http: bool,
    /// Items on one page of a list.
    pub page_size: usize,
    /// Size of one message from a client, bytes.
    pub message_bytes: usize,
    /// Buffers of all clients together, bytes: bodies, responses and event streams.
    pub client_buffers_bytes: usize,
    /// Memory of all instances of guests together, MiB; `None`: half of what this process may use.
    pub guest_memory_mib: Option<u64>,
    /// Open connections.
    pub max_connections: usize,
    /// How long writing to a client of HTTP may make no progress.
    pub write_timeout: Duration,
    /// Sessions of the revisions that have them.
    pub max_sessions: usize,
    /// How long a session may be silent before it ends.
    pub session_idle: Duration,
    /// What happens to plugins without an approval that matches; `None`: it depends on where the server listens.
    pub approval: Option<ApprovalMode>,
    /// Whether a sidecar may grant its plugin something.
    pub sidecar_grants: bool,
    /// The keys whose signatures on plugins are trusted.
    pub trusted_keys: Arc<SignatureKeys>,
    /// Whether a plugin without a signature is rejected, unless its own section says otherwise.
    pub require_signature: bool,
    /// How long after the start lists wait for plugins that are being compiled.
    pub initial_load_wait: Duration,
    /// How long calls of a replaced version may run.
    pub drain: Duration,
    /// How long running requests may go on when the server stops.
    pub shutdown: Duration,
    /// Files of the plugin folder that are loaded.
    pub max_plugins: usize,
    /// Calls of all plugins together that run at the same time.
    pub concurrent_calls: usize,
    /// Calls of one caller in a second, all plugins together.
    pub caller_calls_per_second: u64,
    /// Suspended calls of all plugins together.
    pub suspended_calls: usize,
    /// Unfinished tasks of all plugins together.
    pub tasks: usize,
    /// How long the result of a task can be fetched, from the start of its call.
    pub task_ttl: Duration,
    /// Results of tasks on disk, MiB.
    pub task_store_mib: u64,
    /// Whether calls of clients that know no tasks may become tasks too, unless a plugin's own section says otherwise.
    pub task_bridge: bool,
    /// A guest's call stack, KiB. One for all plugins, since they share an engine.
    pub stack_kib: u64,
    /// Idle instances in the instance pools of all plugins together; zero: none is kept.
    pub idle_instances: usize,
    /// How long an instance stays idle before it is dropped.
    pub idle_instance: Duration,
    /// How long a suspended call waits for its client's response.
    pub suspended_call: Duration,
    /// How often a client with a session is sent a `ping`; zero: never.
    pub ping_interval: Duration,
    /// After how long without a message the SSE stream of a session's request is closed, for the client to resume it;
    /// zero: never.
    pub sse_close: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            tls: None,
            state_dir: None,
            compiled_cache_dir: None,
            compiled_cache_mib: 512,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            roots_over_http: true,
            page_size: 100,
            message_bytes: 4 << 20,
            client_buffers_bytes: 128 << 20,
            guest_memory_mib: None,
            max_connections: 640,
            write_timeout: Duration::from_secs(60),
            max_sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            approval: None,
            sidecar_grants: false,
            trusted_keys: Arc::default(),
            require_signature: false,
            initial_load_wait: Duration::from_secs(50),
            drain: Duration::from_secs(60),
            shutdown: Duration::from_secs(5),
            max_plugins: 1_000,
            concurrent_calls: 256,
            caller_calls_per_second: 5_000,
            suspended_calls: 1_000,
            tasks: 256,
            task_ttl: Duration::from_secs(3_600),
            task_store_mib: 256,
            task_bridge: false,
            stack_kib: 512,
            idle_instances: 64,
            idle_instance: Duration::from_secs(60),
            suspended_call: Duration::from_secs(300),
            ping_interval: Duration::from_secs(60),
            sse_close: Duration::ZERO,
        }
    }
}

const KEYS: &[&str] = &[
    "listen",
    "tls",
    "state_dir",
    "compiled_cache_dir",
    "compiled_cache_mib",
    "allowed_hosts",
    "allowed_origins",
    "trusted_proxies",
    "roots_over_http",
    "page_size",
    "message_kib",
    "client_buffers_mib",
    "guest_memory_mib",
    "max_connections",
    "write_timeout_s",
    "max_sessions",
    "session_idle_s",
    "approval",
    "sidecar_grants",
    "trusted_keys",
    "require_signature",
    "initial_load_wait_ms",
    "drain_s",
    "shutdown_s",
    "max_plugins",
    "concurrent_calls",
    "caller_calls_per_second",
    "suspended_calls",
    "tasks",
    "task_ttl_s",
    "task_store_mib",
    "task_bridge",
    "stack_kib",
    "idle_instances",
    "idle_instance_s",
    "suspended_call_s",
    "ping_interval_s",
    "sse_close_ms",
];

impl ServerConfig {
    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let mut server = Self::default();
        if let Some(entry) = from.take("listen")
            && let Some(text) = entry.string(reader)
        {
            match parse_listen(&text) {
                Ok(address) => server.listen = address,
                Err(message) => reader.report(entry.span, &entry.key, message),
            }
        }
        server.tls = from.take("tls").and_then(|entry| TlsConfig::read(entry, base, reader));
        let mut path = |key| from.take(key).and_then(|entry| entry.string(reader)).map(PathBuf::from);
        server.state_dir = path("state_dir");
        server.compiled_cache_dir = path("compiled_cache_dir");
        if let Some(entry) = from.take("allowed_hosts") {
            server.allowed_hosts = entry.strings(reader);
        }
        if let Some(entry) = from.take("allowed_origins") {
            server.allowed_origins = entry.strings(reader);
        }
        if let Some(entry) = from.take("trusted_proxies") {
            let networks = entry.array(reader);
            server.trusted_proxies = networks.iter().filter_map(|item| read_network(item, reader)).collect();
        }
        if let Some(entry) = from.take("roots_over_http") {
            server.roots_over_http = entry.boolean(reader).unwrap_or_default();
        }
        if let Some(entry) = from.take("approval") {
            server.approval = ApprovalMode::read(&entry, reader);
        }
        if let Some(entry) = from.take("sidecar_grants") {
            server.sidecar_grants = entry.boolean(reader).unwrap_or_default();
        }
        if let Some(entry) = from.take("task_bridge") {
            server.task_bridge = entry.boolean(reader).unwrap_or_default();
        }
        if let Some(entry) = from.take("trusted_keys") {
            server.trusted_keys = Arc::new(SignatureKeys::read(entry, reader));
        }
        if let Some(entry) = from.take("require_signature") {
            let required = server.trusted_keys.read_required(&entry, reader);
            server.require_signature = required.unwrap_or_default();
        }
        let mut count = |key: &str, max: usize, field: &mut usize| {
            if let Some(value) = take_count(&mut from, reader, key, max) {
                *field = value;
            }
        };
        count("page_size", 10_000, &mut server.page_size);
        count("max_connections", 100_000, &mut server.max_connections);
        count("max_sessions", 1_000_000, &mut server.max_sessions);
        count("max_plugins", 100_000, &mut server.max_plugins);
        count("concurrent_calls", 900, &mut server.concurrent_calls);
        count("suspended_calls", 10_000, &mut server.suspended_calls);
        count("tasks", 10_000, &mut server.tasks);
        let mut kib = server.message_bytes >> 10;
        count("message_kib", 1 << 20, &mut kib);
        server.message_bytes = kib << 10;
        server.read_buffers(&mut from, reader);
        server.guest_memory_mib = from.take_number("guest_memory_mib", 64, 1 << 24, reader);
        for (key, min, max, field) in [
            ("caller_calls_per_second", 1, 1_000_000_000, &mut server.caller_calls_per_second),
            ("stack_kib", 64, MAX_STACK_KIB, &mut server.stack_kib),
            ("compiled_cache_mib", 0, 1 << 20, &mut server.compiled_cache_mib),
            ("task_store_mib", 1, 1 << 20, &mut server.task_store_mib),
        ] {
            if let Some(value) = from.take_number(key, min, max, reader) {
                *field = value;
            }
        }
        if let Some(value) = from.take_number("idle_instances", 0, 100, reader) {
            server.idle_instances = usize::try_from(value).unwrap_or_default();
        }
        let mut time = |key: &str, min: u64, max: u64, unit: fn(u64) -> Duration, field: &mut Duration| {
            if let Some(value) = from.take_number(key, min, max, reader) {
                *field = unit(value);
            }
        };
        time("session_idle_s", 1, 7 * 24 * 3600, Duration::from_secs, &mut server.session_idle);
        time("initial_load_wait_ms", 0, 600_000, Duration::from_millis, &mut server.initial_load_wait);
        time("drain_s", 0, 24 * 3600, Duration::from_secs, &mut server.drain);
        time("shutdown_s", 0, 3600, Duration::from_secs, &mut server.shutdown);
        time("write_timeout_s", 1, 3600, Duration::from_secs, &mut server.write_timeout);
        time("idle_instance_s", 1, 24 * 3600, Duration::from_secs, &mut server.idle_instance);
        time("suspended_call_s", 1, 24 * 3600, Duration::from_secs, &mut server.suspended_call);
        time("task_ttl_s", 60, 30 * 24 * 3600, Duration::from_secs, &mut server.task_ttl);
        time("ping_interval_s", 0, 24 * 3600, Duration::from_secs, &mut server.ping_interval);
        time("sse_close_ms", 0, 24 * 3_600_000, Duration::from_millis, &mut server.sse_close);
        from.finish(reader, KEYS);
        server
    }
}

/// How many of the largest messages the client buffers must hold, so that a caller can send one: a large message
/// takes twice its size while it is served, and one caller gets at most half of the buffers.
const MIN_MESSAGES: usize = 4;

impl ServerConfig {
    /// Reads the size of the client buffers.
    fn read_buffers(&mut self, from: &mut TomlTable<'_>, reader: &mut TomlReader<'_>) {
        let min = (MIN_MESSAGES * self.message_bytes).div_ceil(1 << 20);
        let key = "client_buffers_mib";
        match from.take_number(key, min as u64, 1 << 20, reader) {
            Some(mib) => self.client_buffers_bytes = usize::try_from(mib << 20).unwrap_or(usize::MAX),
            None => self.client_buffers_bytes = self.client_buffers_bytes.max(min << 20),
        }
    }

    /// Whether it differs from another one only in keys about plugins, which a running server can take over.
    pub(super) fn needs_no_restart_after(&self, other: &Self) -> bool {
        let Self { approval, sidecar_grants, drain, max_plugins, require_signature, task_bridge, .. } =
            *other;
        let trusted_keys = Arc::clone(&other.trusted_keys);
        let merged = Self {
            approval,
            sidecar_grants,
            drain,
            max_plugins,
            require_signature,
            task_bridge,
            trusted_keys,
            ..self.clone()
        };
        merged == *other
    }
}

fn take_count(from: &mut TomlTable<'_>, reader: &mut TomlReader<'_>, key: &str, max: usize) -> Option<usize> {
    from.take_number(key, 1, max as u64, reader).and_then(|value| usize::try_from(value).ok())
}

/// Reads a network such as `10.0.0.0/8`, or one address.
fn read_network(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<IpNet> {
    let text = entry.string(reader)?;
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    if network.is_none() {
        let why = format!("`{text}` is no network; write one such as 10.0.0.0/8 or 192.0.2.7");
        reader.report(entry.span.clone(), &entry.key, why);
    }
    network
}

/// Reads an address with its port, such as `127.0.0.1:7584` or `[::1]:7584`.
///
/// # Errors
/// With a sentence that says what to write.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    parse_address(text, DEFAULT_PORT)
}

/// The same for a listener with another default port.
pub(super) fn parse_address(text: &str, default_port: u16) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = named.as_deref().unwrap_or(text);
    address.parse().map_err(|_| {
        let meant = match (text.parse::<IpAddr>(), text.strip_prefix(':').unwrap_or(text).parse::<u16>()) {
            (Ok(host), _) => SocketAddr::from((host, default_port)),
            (_, Ok(port)) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, default_port)),
        };
        format!("`{text}` is not an address with a port; write one such as {meant}")
    })
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn a_code_cache_that_is_named_lies_beside_the_configuration_and_is_for_no_guest() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("cache")).unwrap();
        let file = root.join("plugport.toml");
        std::fs::write(&file, "[server]\ncompiled_cache_dir = \"cache\"\n").unwrap();
        let config = Config::read(&file, root.join("plugins")).unwrap();
        assert_eq!(config.compiled_cache_dir, Some(root.join("cache")));
        assert!(config.protected().caches.contains(&root.join("cache")));
    }

    #[test]
    fn what_is_half_an_address_is_completed_in_the_error() {
        for (text, meant) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("0.0.0.0", "0.0.0.0:7584"),
            ("::1", "[::1]:7584"),
            ("nowhere", "127.0.0.1:7584"),
            ("localhost", "127.0.0.1:7584"),
        ] {
            let why = parse_listen(text).unwrap_err();
            assert!(why.starts_with(&format!("`{text}` ")) && why.ends_with(&format!(" {meant}")), "{why}");
        }
    }
}
