//! A client over stdio, which starts the server.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::messages::{self, PreparedRequest, check, request};
use crate::plan::{Plan, Revision, Task};

/// How often a server that has just started is asked for its list.
const LISTS: usize = 50;

pub struct StdioClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    task: Task,
    prepared: PreparedRequest,
    line: Vec<u8>,
}

impl StdioClient {
    pub async fn start(command: &[String], folder: &Path, plan: &Plan) -> Result<Self> {
        let (program, arguments) = command.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let input = child.stdin.take().context("there is no stdin")?;
        let output = child.stdout.take().context("there is no stdout")?;
        let message = request(plan.revision, plan.task);
        let mut client = Self {
            child,
            input,
            output: BufReader::with_capacity(64 << 10, output),
            task: plan.task,
            prepared: PreparedRequest::new(&message, |_| String::new()),
            line: Vec::new(),
        };
        // The message is one line.
        client.prepared.end_with(b"\n");
        if plan.revision == Revision::Session {
            let message = messages::initialize(plan.revision, plan.task);
            client.input.write_all(format!("{message}\n").as_bytes()).await?;
            client.reply().await?;
            client.input.write_all(format!("{}\n", messages::initialized()).as_bytes()).await?;
        }
        client.await_tools(plan.revision).await?;
        Ok(client)
    }

    /// Asks for the list until it has tools. Most servers load their tools before they answer, and some meanwhile.
    async fn await_tools(&mut self, revision: Revision) -> Result<()> {
        let mut list = request(revision, Task::List(0));
        for attempt in 0..LISTS {
            // `initialize` has had 1.
            list["id"] = (attempt + 2).into();
            self.input.write_all(format!("{list}\n").as_bytes()).await?;
            self.reply().await?;
            if self.line.windows(7).any(|window| window == b"rivals-") {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("the server has no tools")
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    pub async fn call(&mut self) -> Result<()> {
        self.input.write_all(self.prepared.next()).await?;
        self.reply().await?;
        check(&self.line, self.task)
    }

    pub async fn end(mut self) -> Result<()> {
        drop(self.input);
        self.child.kill().await.context("the server does not end")
    }

    /// Reads up to the next response; notifications come before it.
    async fn reply(&mut self) -> Result<()> {
        loop {
            self.line.clear();
            let read = self.output.read_until(b'\n', &mut self.line).await?;
            ensure!(read > 0, "the server closed its stdout");
            // Only messages of the server's own begin have a method.
            let start = &self.line[..self.line.len().min(200)];
            if !start.windows(9).any(|window| window == br#""method":"#) {
                return Ok(());
            }
        }
    }
}
