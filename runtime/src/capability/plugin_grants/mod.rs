//! What the operator lets one plugin use: [`Grants`], with a field for each line of the table of capabilities.
//!
//! Nothing is granted by default, and a grant is parsed once, into a type that cannot express what must never be
//! granted. Each capability reads, describes and compares its own grant (`Grant`); this module only goes through the
//! table. No capability uses this module: host functions see their grant as a part of `config`.

mod sentences;

use std::path::Path;

pub use crate::capability::elicitation::grant::Granted as ElicitationGrant;
pub use crate::capability::filesystem::grant::{DirGrant, DirQuota};
pub use crate::capability::http::grant::{Host, HostParseError, HttpGrant, HttpGrantError, Scheme};
pub use crate::capability::keyvalue::grant::{KvGrant, KvPer};
pub use crate::capability::roots::grant::Granted as RootsGrant;
pub use crate::capability::sampling::grant::SamplingGrant;
pub use crate::capability::ui::grant::{Granted as UiGrant, UiReach};
pub(crate) use crate::capability::ui::policy::{
    AppUi, Csp as UiCsp, InvalidUi, Permissions as UiPermissions, check_fields as check_ui_fields,
};

use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlReader, TomlTable};

/// The imports that lead to one thing outside the sandbox, and the keys of the grants that open them, each by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImportGrants {
    pub(crate) import: &'static Import,
    /// Empty when it is never granted.
    pub(crate) keys: Vec<&'static str>,
}

macro_rules! grants {
    ($($(#[$doc:meta])* $folder:ident $capability:ident;)*) => {
        // Code that has `Grants` can name the types of each grant.
        $(pub use crate::capability::$folder::grant as $folder;)*

        /// Everything granted to one plugin.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Grants {
            $($(#[$doc])* pub $folder: crate::capability::$folder::grant::Granted,)*
        }

        impl Grants {
            /// Reads the table `grants` of a plugin. A wrong value is reported and grants nothing.
            pub(crate) fn read(
                mut from: TomlTable<'_>,
                context: GrantContext<'_>,
                reader: &mut TomlReader<'_>,
            ) -> Self {
                let mut grants = Self::default();
                $(grants.$folder.read_keys(&mut from, context, reader);)*
                from.finish(reader, &[$(<crate::capability::$folder::grant::Granted as Grant>::KEYS),*].concat());
                grants
            }

            /// Adds the grant of one `--grant` of the command line.
            ///
            /// # Errors
            /// When it has none of the forms, or names what is never granted.
            pub fn add(&mut self, text: &str, context: GrantContext<'_>) -> Result<(), GrantError> {
                let option = GrantOption::new(text);
                $(
                    if <crate::capability::$folder::grant::Granted as Grant>::is_named(option.name) {
                        return Grant::add(&mut self.$folder, option, context);
                    }
                )*
                let mut forms = Vec::new();
                $(
                    forms.extend_from_slice(<crate::capability::$folder::grant::Granted as Grant>::FORMS);
                )*
                Err(option.error(format!("write {}", forms.join(" or "))))
            }

            fn describe_with(&self, shown: &dyn Fn(&Path) -> String) -> Vec<GrantSentence> {
                let mut sentences = Vec::new();
                $(Grant::describe(&self.$folder, shown, &mut sentences);)*
                sentences
            }

            /// Whether everything that is granted here is granted by `other` too. Of variables, settings and secrets
            /// only the names count: a changed value revokes nothing.
            #[must_use]
            pub fn is_subset_of(&self, other: &Self) -> bool {
                $(Grant::is_subset_of(&self.$folder, &other.$folder))&&*
            }

            /// Warnings about what will not work as the operator may expect, one sentence each.
            #[must_use]
            pub fn warnings(&self) -> Vec<String> {
                [$(Grant::warnings(&self.$folder)),*].concat()
            }

            /// Whether what is granted under this key opens the imports of this prefix.
            pub(crate) fn opens(&self, key: &str, prefix: &str) -> bool {
                $(
                    if <crate::capability::$folder::grant::Granted as Grant>::KEYS.contains(&key) {
                        return Grant::opens(&self.$folder, prefix);
                    }
                )*
                false
            }

            /// The key that a line under a plugin's grants sets.
            pub(crate) fn key_of(line: &str) -> Option<&'static str> {
                let key = line.split([' ', '=', '.']).next().unwrap_or_default();
                let keys = [$(<crate::capability::$folder::grant::Granted as Grant>::KEYS),*].concat();
                keys.into_iter().find(|known| *known == key)
            }

            /// All imports that lead outside the sandbox, with the grants that open them.
            pub(crate) fn imports() -> Vec<ImportGrants> {
                let mut imports = Vec::new();
                $(add_imports::<crate::capability::$folder::grant::Granted>(&mut imports);)*
                imports
            }
        }
    };
}

capabilities!(grants);

impl Grants {
    /// What of it gives a guest nothing: what apps may reach. A plugin keeps it where it is listed without its grants.
    #[must_use]
    pub fn of_no_guest(&self) -> Self {
        Self { ui: self.ui.clone(), ..Self::default() }
    }
}

/// Adds the imports that one capability opens. Some are opened by several.
fn add_imports<G: Grant>(imports: &mut Vec<ImportGrants>) {
    for import in G::IMPORTS {
        match imports.iter_mut().find(|known| known.import.prefix == import.prefix) {
            Some(known) => known.keys.extend_from_slice(G::KEYS),
            None => imports.push(ImportGrants { import, keys: G::KEYS.to_vec() }),
        }
    }
}

#[cfg(test)]
mod tests;
