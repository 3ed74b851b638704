//! Writes a task as clients see it, in both generations.
//!
//! A new task and a notification are flat objects, as the result of `tasks/get` is; only the fields around them differ.

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::task_id::TaskGeneration;
use super::task_record::{RecordHead, TaskStatus, time};
use crate::mcp::client_requests::input_request::InputRequest;
use crate::mcp::error::RpcError;
use crate::mcp::result_writer::{EncodedResult, ResultFields, SERVER_INFO};
use crate::mcp::revision::Revision;

/// How often a client should ask for a task.
const POLL_MS: u64 = 1_000;

/// A task at one moment.
#[derive(Debug)]
pub(in crate::mcp) struct TaskView {
    pub(super) id: String,
    pub(super) generation: TaskGeneration,
    pub(super) head: RecordHead,
    /// Client requests for which it waits.
    pub(super) open: Vec<Arc<InputRequest>>,
    /// The result of a completed task, or the error of a failed one. `None` also where it was not read.
    pub(super) outcome: Option<Bytes>,
}

impl TaskView {
    pub(in crate::mcp) fn id(&self) -> &str {
        &self.id
    }

    pub(in crate::mcp) fn status(&self) -> TaskStatus {
        self.head.status
    }

    /// The result of a completed task, or the error of a failed one, if it was read.
    pub(in crate::mcp) fn outcome(&self) -> Option<&Bytes> {
        self.outcome.as_ref()
    }

    /// The result of the `tools/call` that became this task. `server` is the server's name for `_meta`.
    ///
    /// # Errors
    /// As [`EncodedResult::new`].
    pub(in crate::mcp) fn created(&self, server: &RawValue) -> Result<EncodedResult, RpcError> {
        EncodedResult::of(&CreatedTask { task: self, server })
    }

    /// The result of a call that asks what the task asks; `None` if the task waits for no response.
    pub(in crate::mcp) fn input_required(
        &self,
        server: &RawValue,
    ) -> Option<Result<EncodedResult, RpcError>> {
        (!self.open.is_empty()).then(|| EncodedResult::of(&InputRequired { open: &self.open, server }))
    }

    /// The number of bytes that are written of the result and of client requests.
    pub(in crate::mcp) fn size(&self) -> usize {
        let open = self.open.iter().map(|request| request.params.get().len()).sum::<usize>();
        open + self.outcome.as_ref().map_or(0, Bytes::len)
    }

    fn write_base<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let head = &self.head;
        map.serialize_entry("taskId", &self.id)?;
        map.serialize_entry("status", &head.status)?;
        if let Some(message) = &head.message {
            map.serialize_entry("statusMessage", message)?;
        }
        let written = |millis| humantime::format_rfc3339_millis(time(millis)).to_string();
        map.serialize_entry("createdAt", &written(head.created))?;
        map.serialize_entry("lastUpdatedAt", &written(head.updated))?;
        let (ttl, poll) = match self.generation {
            TaskGeneration::Extension | TaskGeneration::Bridge(_) => ("ttlMs", "pollIntervalMs"),
            TaskGeneration::Experimental => ("ttl", "pollInterval"),
        };
        map.serialize_entry(ttl, &head.ttl_ms)?;
        map.serialize_entry(poll, &POLL_MS)
    }

    /// Writes the task with its result, its error or its open client requests. Those of 2025-11-25 come separately.
    fn write_all<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.write_base(map)?;
        if self.generation == TaskGeneration::Experimental {
            return Ok(());
        }
        if self.status() == TaskStatus::InputRequired {
            map.serialize_entry("inputRequests", &OpenRequests(&self.open))?;
        }
        let name = match self.status() {
            TaskStatus::Completed => "result",
            TaskStatus::Failed => "error",
            _ => return Ok(()),
        };
        let outcome = self.outcome().map_or(&b"null"[..], |outcome| outcome);
        let outcome: &RawValue = serde_json::from_slice(outcome).map_err(M::Error::custom)?;
        map.serialize_entry(name, outcome)
    }
}

impl ResultFields for TaskView {
    fn write<M: SerializeMap>(&self, map: &mut M, _: Revision) -> Result<(), M::Error> {
        self.write_all(map)
    }

    fn size_hint(&self) -> usize {
        self.size()
    }
}

/// The parameters of a notification about a task.
pub(in crate::mcp) struct TaskNotification<'a> {
    pub(in crate::mcp) task: &'a TaskView,
    pub(in crate::mcp) meta: &'a Value,
}

impl Serialize for TaskNotification<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.task.write_all(&mut map)?;
        map.serialize_entry("_meta", self.meta)?;
        map.end()
    }
}

struct CreatedTask<'a> {
    task: &'a TaskView,
    server: &'a RawValue,
}

impl Serialize for CreatedTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.task.generation {
            TaskGeneration::Extension | TaskGeneration::Bridge(_) => {
                map.serialize_entry("resultType", "task")?;
                self.task.write_base(&mut map)?;
                map.serialize_entry("_meta", &ServerMeta(self.server))?;
            }
            TaskGeneration::Experimental => map.serialize_entry("task", &Base(self.task))?,
        }
        map.end()
    }
}

struct InputRequired<'a> {
    open: &'a [Arc<InputRequest>],
    server: &'a RawValue,
}

impl Serialize for InputRequired<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resultType", "input_required")?;
        map.serialize_entry("inputRequests", &OpenRequests(self.open))?;
        map.serialize_entry("_meta", &ServerMeta(self.server))?;
        map.end()
    }
}

struct Base<'a>(&'a TaskView);

impl Serialize for Base<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write_base(&mut map)?;
        map.end()
    }
}

struct ServerMeta<'a>(&'a RawValue);

impl Serialize for ServerMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(SERVER_INFO, self.0)?;
        map.end()
    }
}

struct OpenRequests<'a>(&'a [Arc<InputRequest>]);

impl Serialize for OpenRequests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Written<'a> {
            method: &'static str,
            params: &'a RawValue,
        }
        let written = self.0.iter().map(|request| {
            let (method, params) = (request.method, &*request.params);
            (&request.key, Written { method, params })
        });
        serializer.collect_map(written)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::task_record::tests::head;
    use super::*;
    use crate::call_env::{ClientRequest, ClientRequestBody};
    use crate::mcp::client_requests::client_capabilities::ClientCapabilities;
    use crate::mcp::client_requests::input_request::prepare;

    fn view(status: TaskStatus, outcome: Option<&'static str>) -> TaskView {
        let outcome = outcome.map(|text| Bytes::from_static(text.as_bytes()));
        let (id, generation) = ("x".to_owned(), TaskGeneration::Extension);
        TaskView { id, generation, head: head(status), open: Vec::new(), outcome }
    }

    fn base(status: &str) -> Value {
        json!({
            "taskId": "x", "status": status, "createdAt": "1970-01-01T00:00:01.000Z",
            "lastUpdatedAt": "1970-01-01T00:00:02.500Z", "ttlMs": 60_000, "pollIntervalMs": 1_000,
        })
    }

    fn with(mut base: Value, name: &str, value: Value) -> Value {
        base[name] = value;
        base
    }

    #[test]
    fn each_status_has_its_own_field() {
        let shown = |task: &TaskView| {
            let mut shown = serde_json::to_value(TaskNotification { task, meta: &json!(5) }).unwrap();
            assert_eq!(shown.as_object_mut().unwrap().remove("_meta"), Some(json!(5)));
            shown
        };
        assert_eq!(shown(&view(TaskStatus::Working, None)), base("working"));
        assert_eq!(shown(&view(TaskStatus::Cancelled, None)), base("cancelled"));
        let completed = view(TaskStatus::Completed, Some(r#"{"content":[]}"#));
        assert_eq!(shown(&completed), with(base("completed"), "result", json!({ "content": [] })));
        let failed = view(TaskStatus::Failed, Some(r#"{"code":-32603}"#));
        assert_eq!(shown(&failed), with(base("failed"), "error", json!({ "code": -32603 })));
        let mut waiting = view(TaskStatus::InputRequired, None);
        let asked = ClientRequest { key: Some("k".to_owned()), body: ClientRequestBody::ListRoots };
        let asked = prepare(asked, 1, Revision::V2026_07_28, ClientCapabilities::ALL).unwrap();
        waiting.open = vec![Arc::new(asked)];
        let open = json!({ "k": { "method": "roots/list", "params": {} } });
        assert_eq!(shown(&waiting), with(base("input_required"), "inputRequests", open));
    }

    #[test]
    fn a_new_task_is_flat_in_the_extension_and_wrapped_in_the_experiment() {
        let server = RawValue::from_string("5".to_owned()).unwrap();
        let written = |view: &TaskView| -> Value {
            serde_json::from_slice(view.created(&server).unwrap().as_json()).unwrap()
        };
        let mut task = view(TaskStatus::Working, None);
        let flat = with(base("working"), "resultType", "task".into());
        assert_eq!(written(&task), with(flat, "_meta", json!({ SERVER_INFO: 5 })));
        task.generation = TaskGeneration::Experimental;
        let wrapped = written(&task);
        assert_eq!(
            (&wrapped["task"]["ttl"], &wrapped["task"]["pollInterval"]),
            (&60_000.into(), &1_000.into())
        );
        assert!(wrapped["task"].get("ttlMs").is_none() && wrapped.as_object().unwrap().len() == 1);
    }
}
