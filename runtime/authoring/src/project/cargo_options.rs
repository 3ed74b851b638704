//! How `plugport build` and `plugport dev` run cargo: in the same way, so that neither compiles what the other has.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The name that cargo's own folder has in components.
const CARGO_HOME: &str = "/cargo";

/// Cargo adds the options in this variable to `build.rustflags` of its configuration, be that a string or an array, and
/// ignores it where other options come first: `--config` would replace a string, or fail.
const FLAGS: &str = "CARGO_BUILD_RUSTFLAGS";

/// Variables that cargo reads instead.
const STRONGER: [&str; 2] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];

/// The arguments that build the component of a package.
pub(crate) const BUILD: [&str; 5] =
    ["build", "--release", "--target", "wasm32-wasip2", "--message-format=json-render-diagnostics"];

/// What the environment of cargo has besides.
pub(crate) fn environment() -> Option<(&'static str, OsString)> {
    if STRONGER.into_iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    flags(&cargo_home()?, std::env::var_os(FLAGS)).map(|flags| (FLAGS, flags))
}

/// Where cargo has the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// The user's own options, and one more: the messages of panics have the paths of sources, which would be other ones
/// for each user. `None` for a path that cargo would take for several options.
fn flags(home: &Path, own: Option<OsString>) -> Option<OsString> {
    if home.to_str()?.contains(char::is_whitespace) {
        return None;
    }
    let remap = [OsStr::new("--remap-path-prefix="), home.as_os_str(), "=".as_ref(), CARGO_HOME.as_ref()];
    let own = own.unwrap_or_default();
    let between = OsStr::new(if own.is_empty() { "" } else { " " });
    Some([own.as_os_str(), between].into_iter().chain(remap).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_cargo_has_another_name_in_components() {
        let flags = |home: &str, own: Option<&str>| flags(Path::new(home), own.map(OsString::from));
        let remap = "--remap-path-prefix=/home/ada/.cargo=/cargo";
        assert_eq!(flags("/home/ada/.cargo", None).unwrap(), remap);
        assert_eq!(flags("/home/ada/.cargo", Some("")).unwrap(), remap);
        assert_eq!(
            flags("/home/ada/.cargo", Some("--cfg x")).unwrap(),
            OsString::from(format!("--cfg x {remap}"))
        );
        assert_eq!(flags("/home/ada l/.cargo", Some("--cfg x")), None, "it would be two options");
    }
}
