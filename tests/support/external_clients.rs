//! Clients of other projects, at the exact versions in `tests/clients`: the official Python and TypeScript packages,
//! fastmcp, the Inspector, pages in a browser and more.
//!
//! The first test that needs a client installs it into `target/clients`, so neither a person nor CI needs an extra
//! step. The program `install_clients` installs all that the suite needs. A copy of the requirements beside an
//! installation shows when it is out of date. A lock prevents test processes that start together from installing a
//! client twice.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::browser;
use crate::build::{build_command, root};

/// A client that runs a whole conversation by itself. Its folder in `tests/clients` has its scripts.
#[derive(Debug, Clone, Copy)]
pub enum ExternalClient {
    Python,
    FastMcp,
    TypeScript,
    TypeScriptV1,
    Inspector,
    LangChain,
    PydanticAi,
    Supergateway,
    /// Pages in Chromium, which `browser.rs` looks for.
    Browser,
    /// Decodes what collectors get.
    OtlpDecoder,
    /// The authorization server of `authorization_server.rs`.
    AuthorizationServer,
}

impl ExternalClient {
    /// All but those of ignored tests.
    pub const OF_SUITE: [Self; 8] = [
        Self::AuthorizationServer,
        Self::Python,
        Self::TypeScript,
        Self::FastMcp,
        Self::TypeScriptV1,
        Self::Inspector,
        Self::Browser,
        Self::OtlpDecoder,
    ];

    /// Installs the client: before the test's server starts, since a test that measures waits for all servers and lets
    /// no other start meanwhile; or for a script of another client that starts this one.
    pub async fn install(self) -> Result<()> {
        tokio::task::spawn_blocking(move || self.installed("").map(drop)).await?
    }

    /// Runs a script to its end against a URL, or against a command that serves stdio. Returns its report.
    pub async fn drive(
        self,
        script: &'static str,
        transport: &'static str,
        mode: &'static str,
        target: Vec<String>,
    ) -> Result<Value> {
        self.run(script, ["--transport", transport, "--mode", mode].map(str::to_owned).into(), target).await
    }

    /// Runs a script that writes a file into a folder after each of its steps.
    pub async fn follow(
        self,
        script: &'static str,
        transport: &'static str,
        mode: &'static str,
        steps: &Path,
        target: Vec<String>,
    ) -> Result<Value> {
        let steps = steps.display().to_string();
        let options = ["--transport", transport, "--mode", mode, "--steps", &steps].map(str::to_owned);
        self.run(script, options.into(), target).await
    }

    /// Runs a script that reads a file.
    pub async fn read(self, script: &'static str, file: &Path) -> Result<Value> {
        self.run(script, Vec::new(), vec![file.display().to_string()]).await
    }

    async fn run(self, script: &'static str, options: Vec<String>, target: Vec<String>) -> Result<Value> {
        tokio::task::spawn_blocking(move || {
            let mut command = self.command(script)?;
            command.args(options).arg("--").args(target);
            let output = command.output().context("the client does not start")?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{}", said.trim_end());
            let line = String::from_utf8(output.stdout)?;
            serde_json::from_str(&line).with_context(|| format!("the client's report is not JSON: {line}"))
        })
        .await?
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::FastMcp => "fastmcp",
            Self::TypeScript => "typescript",
            Self::TypeScriptV1 => "typescript-v1",
            Self::Inspector => "inspector",
            Self::LangChain => "langchain",
            Self::PydanticAi => "pydantic-ai",
            Self::Supergateway => "supergateway",
            Self::Browser => "browser",
            Self::OtlpDecoder => "otlp-decoder",
            Self::AuthorizationServer => "authorization-server",
        }
    }

    /// The installed client, ready for its arguments.
    pub(crate) fn command(self, script: &str) -> Result<Command> {
        let (program, script) = self.installed(script)?;
        let mut command = Command::new(program);
        command.arg(script);
        // What the scripts in Python share. Nothing is compiled into the repository.
        command.env("PYTHONPATH", root().join("tests/clients/common")).env("PYTHONDONTWRITEBYTECODE", "1");
        if let Self::Browser = self {
            command.env("PLUGPORT_TEST_BROWSER", browser::program().context("there is no browser")?);
        }
        Ok(command)
    }

    /// The program that runs a script of the installed client, and the path of the script.
    fn installed(self, script: &str) -> Result<(PathBuf, PathBuf)> {
        let home = root().join("target/clients");
        let _lock = install_lock(&home, self.folder())?;
        let source = root().join("tests/clients").join(self.folder());
        Ok(match self {
            Self::Python | Self::FastMcp | Self::LangChain | Self::PydanticAi | Self::OtlpDecoder => {
                (python(&home.join(self.folder()), &source)?, source.join(format!("{script}.py")))
            }
            Self::TypeScript
            | Self::TypeScriptV1
            | Self::Inspector
            | Self::Supergateway
            | Self::Browser
            | Self::AuthorizationServer => {
                let dir = home.join(self.folder());
                (PathBuf::from("node"), typescript(&dir, &source, &format!("{script}.mjs"))?)
            }
        })
    }
}

/// Locks out other tests and test processes that would install the same client at the same time.
pub(crate) fn install_lock(home: &Path, client: &str) -> Result<File> {
    std::fs::create_dir_all(home)?;
    let lock = File::create(home.join(client).with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// The interpreter of a virtual environment with the requirements in `source`.
fn python(dir: &Path, source: &Path) -> Result<PathBuf> {
    let requirements = source.join("requirements.txt");
    let program = dir.join("bin/python");
    if is_current(dir, &requirements)? && program.is_file() {
        return Ok(program);
    }
    require(
        "python3",
        "import sys; sys.exit(sys.version_info < (3, 11))",
        "Python 3.11 or newer, as `python3`",
    )?;
    recreate(dir)?;
    run(build_command("python3").args(["-m", "venv"]).arg(dir))?;
    run(build_command(&program)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(&requirements))?;
    mark_installed(dir, &requirements)?;
    Ok(program)
}

/// The script, copied with the others of its folder beside their packages, where node finds them.
fn typescript(dir: &Path, source: &Path, script: &str) -> Result<PathBuf> {
    require(
        "node",
        "process.exit(Number(parseInt(process.versions.node) < 20))",
        "Node.js 20 or newer, as `node`",
    )?;
    node_packages(dir, source)?;
    for entry in std::fs::read_dir(source)? {
        let file = entry?.path();
        let is_source = file.extension().is_some_and(|kind| kind == "mjs" || kind == "html");
        let Some(name) = file.file_name().filter(|_| is_source) else {
            continue;
        };
        let (text, copy) = (std::fs::read(&file)?, dir.join(name));
        // Another test's node may be reading the script, so an unchanged script is not written again.
        if !std::fs::read(&copy).is_ok_and(|present| present == text) {
            std::fs::write(&copy, text)?;
        }
    }
    Ok(dir.join(script))
}

/// Installs the packages of the lock file in `source` into `dir`.
pub(crate) fn node_packages(dir: &Path, source: &Path) -> Result<()> {
    let requirements = source.join("package-lock.json");
    if is_current(dir, &requirements)? {
        return Ok(());
    }
    recreate(dir)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(source.join(file), dir.join(file))?;
    }
    run(build_command("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(dir))?;
    mark_installed(dir, &requirements)
}

/// Fails with a clear message unless `program` runs and reports a sufficient version.
pub(crate) fn require(program: &str, check: &str, what: &str) -> Result<()> {
    let flag = if program == "node" { "-e" } else { "-c" };
    let fits = Command::new(program).args([flag, check]).output().is_ok_and(|output| output.status.success());
    ensure!(fits, "the tests with external clients need {what}; install it and run them again");
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "cannot install an external client (the first time needs a network): {command:?} failed:\n{said}"
        );
    }
    Ok(())
}

fn recreate(dir: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    Ok(std::fs::create_dir_all(dir)?)
}

/// Whether `dir` was completely installed from exactly these requirements.
fn is_current(dir: &Path, requirements: &Path) -> Result<bool> {
    let requirements =
        std::fs::read(requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
    Ok(std::fs::read(dir.join("installed")).is_ok_and(|installed| installed == requirements))
}

fn mark_installed(dir: &Path, requirements: &Path) -> Result<()> {
    std::fs::copy(requirements, dir.join("installed"))?;
    Ok(())
}
