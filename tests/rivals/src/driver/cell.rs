//! What is measured: every cell is one row of a table, measured for each server in turn.

use std::fmt;

use super::rival::Offer;
use crate::plan::{Era, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    Http,
    Stdio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub task: Task,
    pub transport: Transport,
    pub era: Era,
    pub connections: usize,
}

pub const CONNECTIONS: [usize; 4] = [1, 8, 64, 512];
pub const SIZES: [usize; 4] = [32, 10 << 10, 64 << 10, 1 << 20];
pub const LISTS: [usize; 3] = [1, 100, 5_000];
pub const SMALL: Task = Task::Echo(32);

impl Cell {
    pub const fn http(task: Task, era: Era, connections: usize) -> Self {
        Self { task, transport: Transport::Http, era, connections }
    }

    pub const fn stdio(era: Era) -> Self {
        Self { task: SMALL, transport: Transport::Stdio, era, connections: 1 }
    }

    /// Which tools its servers offer.
    pub fn offer(self) -> Offer {
        match self.task {
            Task::List(tools) => Offer::List(tools),
            _ => Offer::Tools,
        }
    }
}

/// Every cell, those of one offer together.
pub fn all() -> Vec<Cell> {
    let eras = [Era::Stateless, Era::Session];
    let mut cells = Vec::new();
    for era in eras {
        cells.extend(CONNECTIONS.map(|connections| Cell::http(SMALL, era, connections)));
    }
    cells.extend(SIZES[1..].iter().map(|size| Cell::http(Task::Echo(*size), Era::Stateless, 1)));
    cells.extend([1, 8].map(|connections| Cell::http(Task::Work, Era::Stateless, connections)));
    for era in eras {
        cells.extend([Task::Narrate, Task::Sample].map(|task| Cell::http(task, era, 1)));
        cells.push(Cell::stdio(era));
    }
    cells.extend(LISTS.map(|tools| Cell::http(Task::List(tools), Era::Stateless, 1)));
    cells
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Task::Echo(bytes @ 0..1_024) => write!(f, "echo {bytes} B")?,
            Task::Echo(bytes @ 1_024..1_048_576) => write!(f, "echo {} KiB", bytes >> 10)?,
            Task::Echo(bytes) => write!(f, "echo {} MiB", bytes >> 20)?,
            Task::Work => write!(f, "10 ms of work")?,
            Task::Narrate => write!(f, "log and progress")?,
            Task::Sample => write!(f, "sampling")?,
            Task::List(tools) => write!(f, "list of {tools}")?,
        }
        let era = match self.era {
            Era::Stateless => "stateless",
            Era::Session => "session",
        };
        match self.transport {
            Transport::Stdio => write!(f, ", stdio, {era}"),
            Transport::Http => write!(f, ", {era}, {}", self.connections),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_what_it_is() {
        let shown = [Cell::http(Task::Echo(64 << 10), Era::Stateless, 1), Cell::stdio(Era::Session)];
        let shown = shown.map(|cell| cell.to_string());
        assert_eq!(shown, ["echo 64 KiB, stateless, 1", "echo 32 B, stdio, session"]);
    }

    #[test]
    fn no_cell_is_measured_twice() {
        let mut cells = all();
        let count = cells.len();
        cells.sort();
        cells.dedup();
        assert_eq!(cells.len(), count);
    }
}
