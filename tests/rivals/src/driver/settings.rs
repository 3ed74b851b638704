//! What the command line chooses.

use anyhow::{Context as _, Result, bail, ensure};

use super::case::{self, Case};

/// Of one measurement, and of each case and server, unless the command line says something else.
const MILLIS: u64 = 1_000;
const ROUNDS: usize = 3;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Of one measurement.
    pub millis: u64,
    /// Measurements of each case and server.
    pub rounds: usize,
    /// Cases whose names contain one of these; empty: all.
    pub only: Vec<String>,
    /// Whether the documentation is rewritten: not after less than a usual run.
    pub write: bool,
}

impl Settings {
    /// `quick` takes about 4 minutes and writes nothing; `seconds=N`, `rounds=N` and `only=TEXT` choose.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { millis: MILLIS, rounds: ROUNDS, only: Vec::new(), write: true };
        for argument in arguments {
            match argument.split_once('=') {
                None if argument == "quick" => {
                    settings = Self { millis: 500, rounds: 1, write: false, ..settings };
                }
                Some(("seconds", value)) => {
                    let seconds: f64 = value.parse().context("`seconds` is a number")?;
                    settings.millis = (seconds * 1e3) as u64;
                }
                Some(("rounds", value)) => settings.rounds = value.parse().context("`rounds` is a number")?,
                // A part of the tables would replace all of them.
                Some(("only", value)) => {
                    settings.only.push(value.to_owned());
                    settings.write = false;
                }
                _ => bail!(
                    "cargo measure rivals [quick] [seconds=N] [rounds=N] [only=TEXT]... [with=hyper-mcp]"
                ),
            }
        }
        settings.write &= settings.millis >= MILLIS && settings.rounds >= ROUNDS;
        ensure!(settings.rounds > 0 && settings.millis > 0, "without time and rounds nothing is measured");
        Ok(settings)
    }

    pub fn cases(&self) -> Vec<Case> {
        let chosen = |case: &Case| {
            let name = case.to_string();
            self.only.is_empty() || self.only.iter().any(|text| name.contains(text.as_str()))
        };
        case::all().into_iter().filter(chosen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Settings> {
        Settings::read(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn the_command_line_chooses() {
        let settings = read(&["quick", "seconds=1.5", "only=stdio"]).unwrap();
        assert_eq!((settings.millis, settings.rounds, settings.write), (1_500, 1, false));
        assert_eq!(settings.cases().len(), 2);
        assert!(read(&[]).unwrap().write && read(&["seconds=5", "rounds=9"]).unwrap().write);
        for less in [&["seconds=0.5"][..], &["rounds=1"], &["only=echo"], &["quick", "seconds=9", "rounds=9"]]
        {
            assert!(!read(less).unwrap().write, "{less:?}");
        }
        assert!(read(&["slow"]).is_err());
        assert!(read(&["rounds=0"]).is_err());
    }
}
