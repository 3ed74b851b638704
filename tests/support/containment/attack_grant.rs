//! The grants of an attacking plugin: a directory to leave and to fill, or a web server that misbehaves.

use crate::bad_web_server::BadWebServer;
use crate::granted_dir::{GrantedDir, LINKS};

/// The grant of a guest for an attack.
#[derive(Debug, Clone, Copy)]
pub enum AttackGrant {
    /// Nothing beyond the attack's own settings.
    Nothing,
    /// The directory of a [`GrantedDir`] as `/d`, read-only or with small quotas.
    Directory { write: bool },
    /// The directory as `/d`, writable, and the folder beside it as `/r`, read-only.
    Directories,
    /// A [`BadWebServer`] on a port of this machine.
    BadWebServer,
}

/// The grant of one attack, prepared on disk or on a port.
pub(super) enum PreparedGrant {
    Nothing,
    GrantedDir { dir: GrantedDir, dirs: String },
    BadWebServer(BadWebServer),
}

impl PreparedGrant {
    pub(super) async fn prepare(grant: AttackGrant) -> Self {
        match grant {
            AttackGrant::Nothing => Self::Nothing,
            AttackGrant::BadWebServer => Self::BadWebServer(BadWebServer::start().await),
            AttackGrant::Directory { write: false } => Self::dir(|dir| granted(dir, "")),
            AttackGrant::Directory { write: true } => Self::dir(|dir| granted(dir, WRITE)),
            AttackGrant::Directories => Self::dir(|dir| {
                let read = dir.outside().join("out");
                format!("{{ host = {read:?}, guest = \"/r\" }}, {}", granted(dir, WRITE))
            }),
        }
    }

    fn dir(dirs: impl FnOnce(&GrantedDir) -> String) -> Self {
        let dir = GrantedDir::with_links();
        let dirs = dirs(&dir);
        Self::GrantedDir { dir, dirs }
    }

    /// The plugin's table of grants.
    pub(super) fn grants(&self, plugin: &str) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::GrantedDir { dirs, .. } => format!("[plugins.{plugin}.grants]\ndirs = [{dirs}]\n"),
            Self::BadWebServer(web) => web.grant(plugin),
        }
    }

    /// Inserts its path or address into the arguments of a guest.
    pub(super) fn insert(&self, arguments: &str) -> String {
        match self {
            Self::Nothing => arguments.to_owned(),
            Self::GrantedDir { .. } => arguments.replace("{links}", &format!("{LINKS:?}")),
            Self::BadWebServer(web) => arguments.replace("{authority}", &web.authority()),
        }
    }

    /// (h): nothing beside the directory has changed, and every connection is closed.
    pub(super) async fn assert_unused(&self) {
        match self {
            Self::Nothing => {}
            Self::GrantedDir { dir, .. } => dir.assert_untouched(),
            Self::BadWebServer(web) => web.wait_until_closed().await,
        }
    }
}

const WRITE: &str = ", write = true, quota_mib = 2, files = 100";

fn granted(dir: &GrantedDir, more: &str) -> String {
    format!("{{ host = {:?}, guest = \"/d\"{more} }}", dir.inside())
}
