//! How `plugport build` and `plugport dev` run cargo: in the same way, so that neither compiles what the other has.

use std::ffi::OsString;
use std::path::PathBuf;

/// The name that cargo's own folder has in components.
const CARGO_HOME: &str = "/cargo";

/// The arguments that build the component of a package.
pub(crate) fn build() -> Vec<OsString> {
    let mut args = ["build", "--release", "--target", "wasm32-wasip2"].map(OsString::from).to_vec();
    args.push("--message-format=json-render-diagnostics".into());
    args.extend(cargo_home().and_then(|home| Some(remap(home.to_str()?))).into_iter().flatten());
    args
}

/// Where cargo has the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// The messages of panics have the paths of sources, which would be other ones for each user. As configuration the
/// option is added to those of the user, and gives way to `RUSTFLAGS`.
fn remap(home: &str) -> [OsString; 2] {
    let option = toml::Value::from(format!("--remap-path-prefix={home}={CARGO_HOME}"));
    ["--config".into(), format!("build.rustflags=[{option}]").into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_cargo_has_another_name_in_components() {
        let [option, setting] = remap("/home/\"ada\"/.cargo").map(|word| word.into_string().unwrap());
        assert_eq!(option, "--config");
        let read: toml::Table = toml::from_str(&setting).unwrap();
        assert_eq!(
            read["build"]["rustflags"][0].as_str(),
            Some("--remap-path-prefix=/home/\"ada\"/.cargo=/cargo")
        );
    }
}
