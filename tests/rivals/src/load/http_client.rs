//! A client over HTTP: one connection, and a second one on which a session's client answers the server.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::http_connection::Connection;
use super::messages::{self, PreparedRequest, check, request};
use crate::plan::{Plan, Revision, Task};

pub struct HttpClient {
    connection: Connection,
    /// Where responses to the server go.
    answers: Option<Connection>,
    head: Head,
    task: Task,
    message: Value,
    prepared: PreparedRequest,
}

/// The head of every request of a client.
struct Head {
    address: SocketAddr,
    revision: Revision,
    session: Option<String>,
}

impl HttpClient {
    pub async fn connect(address: SocketAddr, plan: &Plan) -> Result<Self> {
        let (revision, task) = (plan.revision, plan.task);
        let mut connection = Connection::connect(address).await?;
        let mut head = Head { address, revision, session: None };
        if revision == Revision::Session {
            begin_session(&mut connection, &mut head, task).await?;
        }
        let answers = if revision == Revision::Session && task == Task::Sample {
            Some(Connection::connect(address).await?)
        } else {
            None
        };
        let message = request(revision, task);
        let prepared = PreparedRequest::new(&message, |body| head.of(&message, body));
        Ok(Self { connection, answers, head, task, message, prepared })
    }

    pub async fn call(&mut self) -> Result<()> {
        self.connection.send(self.prepared.next()).await?;
        match (self.task, &mut self.answers) {
            (Task::Sample, None) => {
                let reply = self.connection.text().await?;
                let message = messages::with_responses(&self.message, last_message(&reply))?;
                let mut prepared = PreparedRequest::new(&message, |body| self.head.of(&message, body));
                self.connection.send(prepared.next()).await?;
            }
            (_, Some(answers)) => {
                let asked = self.connection.event("sampling/createMessage").await?;
                let message = messages::sampling_response(&asked)?;
                answers.send(self.head.with(&message).as_bytes()).await?;
                answers.raw_body().await?;
            }
            (_, None) => {}
        }
        check(self.connection.raw_body().await?, self.task)
    }

    /// Sends the request once, and returns the message that comes back.
    pub async fn reply(&mut self) -> Result<String> {
        self.connection.send(self.prepared.next()).await?;
        Ok(last_message(&self.connection.text().await?).to_owned())
    }

    pub async fn end(mut self) -> Result<()> {
        if self.head.session.is_some() {
            let head = self.head.fields();
            let bytes = format!("DELETE /mcp HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n");
            self.connection.send(bytes.as_bytes()).await?;
            // Not every server has this.
            _ = self.connection.raw_body().await;
        }
        Ok(())
    }
}

async fn begin_session(connection: &mut Connection, head: &mut Head, task: Task) -> Result<()> {
    connection.send(head.with(&messages::initialize(head.revision, task)).as_bytes()).await?;
    connection.text().await.context("in `initialize`")?;
    // A server may do without a session.
    head.session = connection.header("mcp-session-id");
    connection.send(head.with(&messages::initialized()).as_bytes()).await?;
    connection.raw_body().await.context("in `initialized`")?;
    if task == Task::Narrate {
        connection.send(head.with(&messages::set_level()).as_bytes()).await?;
        _ = connection.raw_body().await;
    }
    Ok(())
}

impl Head {
    /// A whole request.
    fn with(&self, message: &Value) -> String {
        let body = message.to_string();
        format!("{}{body}", self.of(message, &body))
    }

    fn of(&self, message: &Value, body: &str) -> String {
        let mut fields = self.fields();
        if self.revision == Revision::Stateless {
            let method = message["method"].as_str().unwrap_or_default();
            fields.push_str(&format!("Mcp-Method: {method}\r\n"));
            if let Some(name) = message["params"]["name"].as_str() {
                fields.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        format!("POST /mcp HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n", body.len())
    }

    fn fields(&self) -> String {
        let Self { address, revision, session } = self;
        let mut fields = format!(
            "Host: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        );
        // The revision is agreed on by `initialize`.
        if *revision == Revision::Stateless || session.is_some() {
            fields.push_str(&format!("MCP-Protocol-Version: {}\r\n", revision.name()));
        }
        if let Some(session) = session {
            fields.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        fields
    }
}

/// The message in a body of JSON, or the last one in a stream of events.
fn last_message(body: &str) -> &str {
    let data = body.lines().rev().find_map(|line| line.strip_prefix("data:"));
    data.unwrap_or(body).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_is_found() {
        assert_eq!(last_message(r#"{"id":1}"#), r#"{"id":1}"#);
        assert_eq!(last_message("data: {\"a\":1}\n\nevent: message\ndata: {\"b\":2}\n\n"), r#"{"b":2}"#);
    }
}
