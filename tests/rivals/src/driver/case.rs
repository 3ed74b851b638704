//! What is measured: every case is one row of a table, measured for each server in turn.

use std::fmt;

use super::rival::ToolSet;
use crate::plan::{Revision, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    Http,
    Stdio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub task: Task,
    pub transport: Transport,
    pub revision: Revision,
    pub connections: usize,
}

pub const CONNECTIONS: [usize; 4] = [1, 8, 64, 512];
pub const SIZES: [usize; 4] = [32, 10 << 10, 64 << 10, 1 << 20];
pub const LISTS: [usize; 3] = [1, 100, 5_000];
pub const SMALL: Task = Task::Echo(32);

impl Case {
    pub const fn http(task: Task, revision: Revision, connections: usize) -> Self {
        Self { task, transport: Transport::Http, revision, connections }
    }

    pub const fn stdio(revision: Revision) -> Self {
        Self { task: SMALL, transport: Transport::Stdio, revision, connections: 1 }
    }

    /// Which tools its servers have.
    pub fn tool_set(self) -> ToolSet {
        match self.task {
            Task::List(tools) => ToolSet::Echoes(tools),
            _ => ToolSet::Tasks,
        }
    }
}

/// Every case, those of one set of tools together.
pub fn all() -> Vec<Case> {
    let revisions = [Revision::Stateless, Revision::Session];
    let mut cases = Vec::new();
    for revision in revisions {
        cases.extend(CONNECTIONS.map(|connections| Case::http(SMALL, revision, connections)));
    }
    cases.extend(SIZES[1..].iter().map(|size| Case::http(Task::Echo(*size), Revision::Stateless, 1)));
    cases.extend([1, 8].map(|connections| Case::http(Task::Work, Revision::Stateless, connections)));
    for revision in revisions {
        cases.extend([Task::Narrate, Task::Sample].map(|task| Case::http(task, revision, 1)));
        cases.push(Case::stdio(revision));
    }
    cases.extend(LISTS.map(|tools| Case::http(Task::List(tools), Revision::Stateless, 1)));
    cases
}

impl fmt::Display for Case {
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
        let revision = match self.revision {
            Revision::Stateless => "stateless",
            Revision::Session => "session",
        };
        match self.transport {
            Transport::Stdio => write!(f, ", stdio, {revision}"),
            Transport::Http => write!(f, ", {revision}, {}", self.connections),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_says_what_it_is() {
        let shown =
            [Case::http(Task::Echo(64 << 10), Revision::Stateless, 1), Case::stdio(Revision::Session)];
        let shown = shown.map(|case| case.to_string());
        assert_eq!(shown, ["echo 64 KiB, stateless, 1", "echo 32 B, stdio, session"]);
    }

    #[test]
    fn no_case_is_measured_twice() {
        let mut cases = all();
        let count = cases.len();
        cases.sort();
        cases.dedup();
        assert_eq!(cases.len(), count);
    }
}
