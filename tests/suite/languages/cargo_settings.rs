//! What an author has set for cargo holds in `plugport build` as well.

use plugport_tests::command::output;
use plugport_tests::server::program;
use plugport_tests::toolchain::{self, Lang};

const MANIFEST: &str = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
    [lib]\ncrate-type = [\"cdylib\"]\n\n[workspace]\n";

/// Cargo tells a build script the options of its package.
const SCRIPT: &str = r#"fn main() {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap();
    let flags: Vec<&str> = flags.split('\x1f').collect();
    for expected in ["own", "of_the_environment"] {
        assert!(flags.contains(&expected), "{flags:?}");
    }
    assert!(flags.iter().any(|flag| flag.starts_with("--remap-path-prefix=")), "{flags:?}");
}
"#;

#[test]
fn flags_in_the_configuration_of_cargo_are_kept_in_each_of_their_forms() {
    let Some(path) = toolchain::require(Lang::Rust) else { return };
    for own in [r#""--cfg own""#, r#"["--cfg", "own"]"#] {
        let project = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(project.path().join(name), text).unwrap();
        for folder in ["src", ".cargo"] {
            std::fs::create_dir(project.path().join(folder)).unwrap();
        }
        put("Cargo.toml", MANIFEST);
        put("build.rs", SCRIPT);
        put(
            "src/lib.rs",
            "#[cfg(not(all(own, of_the_environment)))]\ncompile_error!(\"they are missing\");\n",
        );
        put(".cargo/config.toml", &format!("[build]\nrustflags = {own}\n"));
        let mut build = program();
        build.args(["build", "--no-load"]).current_dir(project.path()).env("PATH", &path);
        build.env("CARGO_BUILD_RUSTFLAGS", "--cfg of_the_environment");
        for other in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
            build.env_remove(other);
        }
        let (code, out, err) = output(&mut build);
        assert_eq!(code, Some(0), "{own}: {out}{err}");
    }
}
