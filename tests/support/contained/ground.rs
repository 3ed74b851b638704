//! What an attacked plugin was granted: a directory to climb out of and to fill, or a host that answers badly.

use crate::place::{LINKS, Place};
use crate::web::Web;

/// What a guest is granted for an attack.
#[derive(Debug, Clone, Copy)]
pub enum Ground {
    /// Nothing beyond the attack's own settings.
    Bare,
    /// The directory of a [`Place`] as `/d`, read-only or with small quotas.
    Directory { write: bool },
    /// The directory as `/d`, writable, and the folder beside it as `/r`, read-only.
    Directories,
    /// A [`Web`] on a port of this machine.
    Web,
}

/// The ground of one attack, prepared.
pub(super) enum Laid {
    Bare,
    Place { place: Place, dirs: String },
    Web(Web),
}

impl Laid {
    pub(super) async fn lay(ground: Ground) -> Self {
        match ground {
            Ground::Bare => Self::Bare,
            Ground::Web => Self::Web(Web::start().await),
            Ground::Directory { write: false } => Self::place(|place| granted(place, "")),
            Ground::Directory { write: true } => Self::place(|place| granted(place, WRITE)),
            Ground::Directories => Self::place(|place| {
                let read = place.outside().join("out");
                format!("{{ host = {read:?}, guest = \"/r\" }}, {}", granted(place, WRITE))
            }),
        }
    }

    fn place(dirs: impl FnOnce(&Place) -> String) -> Self {
        let place = Place::with_links();
        let dirs = dirs(&place);
        Self::Place { place, dirs }
    }

    /// The plugin's table of grants.
    pub(super) fn grants(&self, plugin: &str) -> String {
        match self {
            Self::Bare => String::new(),
            Self::Place { dirs, .. } => format!("[plugins.{plugin}.grants]\ndirs = [{dirs}]\n"),
            Self::Web(web) => web.grant(plugin),
        }
    }

    /// Tells a guest where it is.
    pub(super) fn insert(&self, arguments: &str) -> String {
        match self {
            Self::Bare => arguments.to_owned(),
            Self::Place { .. } => arguments.replace("{links}", &format!("{LINKS:?}")),
            Self::Web(web) => arguments.replace("{authority}", &web.authority()),
        }
    }

    /// (h): nothing beside the directory was changed, and every connection is closed.
    pub(super) async fn assert_left(&self) {
        match self {
            Self::Bare => {}
            Self::Place { place, .. } => place.assert_untouched(),
            Self::Web(web) => web.is_left().await,
        }
    }
}

const WRITE: &str = ", write = true, quota_mib = 2, files = 100";

fn granted(place: &Place, more: &str) -> String {
    format!("{{ host = {:?}, guest = \"/d\"{more} }}", place.inside())
}
