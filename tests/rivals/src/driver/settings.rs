//! What the command line chooses.

use anyhow::{Context as _, Result, bail, ensure};

use super::cell::{self, Cell};

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Of one measurement.
    pub millis: u64,
    /// Measurements of each cell and server.
    pub rounds: usize,
    /// Cells whose names contain one of these; empty: all.
    pub only: Vec<String>,
    /// Whether the documentation is rewritten.
    pub write: bool,
}

impl Settings {
    /// `quick` takes about 4 minutes and writes nothing; `seconds=N`, `rounds=N` and `only=TEXT` choose.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { millis: 2_000, rounds: 3, only: Vec::new(), write: true };
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
                _ => bail!("cargo measure rivals [quick] [seconds=N] [rounds=N] [only=TEXT]..."),
            }
        }
        ensure!(settings.rounds > 0 && settings.millis > 0, "without time and rounds nothing is measured");
        Ok(settings)
    }

    pub fn cells(&self) -> Vec<Cell> {
        let chosen = |cell: &Cell| {
            let name = cell.to_string();
            self.only.is_empty() || self.only.iter().any(|text| name.contains(text.as_str()))
        };
        cell::all().into_iter().filter(chosen).collect()
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
        assert_eq!(settings.cells().len(), 2);
        assert!(read(&[]).unwrap().write);
        assert!(read(&["slow"]).is_err());
        assert!(read(&["rounds=0"]).is_err());
    }
}
