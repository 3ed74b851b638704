//! The client, as the host layer sees it: a guest's words become notifications and requests of its request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::super::context::{RequestContext, level_name};
use super::super::era::is_reserved;
use super::super::message::{Id, notification};
use super::super::outbox::Outgoing;
use super::super::sessions::roots::used;
use super::ask;
use super::parked::Asking;
use super::question::{Prepared, prepare};
use crate::host::{Answers, AskError, Caller, ClientInfo, ClientPort, LogLevel, Question, QuestionBody};
use crate::json::RawObject;
use crate::plugin::Plugin;
use crate::sandbox::Offload;

/// Names the question for the roots that is asked before the guest starts.
const ROOTS: &str = "plugport-roots";

/// The client of one call to one plugin.
pub(crate) struct Port {
    context: Arc<RequestContext>,
    plugin: Arc<str>,
    most_parked: usize,
    /// Where large questions and answers are read.
    offload: Arc<Offload>,
    /// Questions so far: they number those that the guest does not name.
    asked: AtomicUsize,
}

impl Port {
    pub(crate) fn new(context: &Arc<RequestContext>, plugin: &Plugin) -> Self {
        let most_parked = usize::try_from(plugin.config().limits.parked_calls).unwrap_or(usize::MAX);
        Self {
            context: Arc::clone(context),
            plugin: plugin.name().into(),
            most_parked,
            offload: Arc::clone(plugin.offload()),
            asked: AtomicUsize::new(0),
        }
    }

    async fn ask(&self, questions: Vec<Question>) -> Answers {
        let context = &*self.context;
        if !context.request.method.may_ask() {
            let no =
                AskError::Invalid("the client can be asked by tools, prompts and resources only".to_owned());
            return questions.iter().map(|_| Err(no.clone())).collect();
        }
        let abilities = context.round().abilities;
        let mut slots = Vec::new();
        let mut open = Vec::new();
        for (at, question) in questions.into_iter().enumerate() {
            let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
            let bytes = question.body.size();
            let prepare = || prepare(question, number, context.revision, abilities);
            let prepared = self.offload.in_place(bytes, prepare).await;
            slots.push(prepared.as_ref().err().cloned().map(Err));
            open.extend(prepared.ok().map(|question| (at, question)));
        }
        let answers = match &context.session {
            Some(session) => {
                let Self { plugin, offload, most_parked, .. } = self;
                ask::in_session(context, session, (plugin, offload), *most_parked, open).await
            }
            None => self.by_retry(open).await,
        };
        for (at, answer) in answers {
            if let Some(slot) = slots.get_mut(at) {
                *slot = Some(answer);
            }
        }
        slots.into_iter().map(|slot| slot.unwrap_or(Err(AskError::TimedOut))).collect()
    }

    /// The roots of a client on this machine. A session is asked once, until it says that they have changed.
    async fn roots(&self) -> Option<String> {
        let context = &*self.context;
        if !context.client.near || !context.round().abilities.roots {
            return None;
        }
        let known = context.session.as_ref().map(|session| session.roots.known());
        if let Some((_, Some(roots))) = known {
            return Some(roots);
        }
        let question = Question { key: Some(ROOTS.to_owned()), body: QuestionBody::ListRoots };
        let roots = used(&self.ask(vec![question]).await.pop()?.ok()?);
        if let (Some(session), Some((times, _))) = (&context.session, known) {
            session.roots.keep(times, &roots, &session.share);
        }
        Some(roots)
    }

    /// Takes the answers that came with the request, and has it answered with what is still open.
    async fn by_retry(&self, open: Vec<(usize, Prepared)>) -> Vec<(usize, Result<String, AskError>)> {
        let round = self.context.round();
        let (mut answered, mut left) = (Vec::new(), Vec::new());
        for (at, question) in open {
            let answer = match round.answer(&question.key) {
                Some(answer) => {
                    self.offload.in_place(answer.get().len(), || question.read(&answer)).await.ok()
                }
                None => None,
            };
            match answer {
                Some(answer) => answered.push((at, answer)),
                None => left.push((at, question)),
            }
        }
        if !left.is_empty() {
            let (resume, answers) = oneshot::channel();
            let (plugin, most) = (Arc::clone(&self.plugin), self.most_parked);
            let context = &self.context;
            let request = context.request.params.as_ref().map_or(0, |params| params.get().len());
            let binding = self.offload.in_place(request, || context.binding()).await;
            let asking = Asking { plugin, most, binding, open: left, answered, resume };
            // Nobody reads: the request is gone, and this future with it in a moment.
            let asked = round.outbox.deliver(Outgoing::Ask(asking)).await;
            drop(round);
            answered = if asked.is_ok() { answers.await.unwrap_or_default() } else { Vec::new() };
        }
        answered.into_iter().map(|(at, answer)| (at, Ok(answer))).collect()
    }
}

#[derive(Serialize)]
struct LogParams<'a> {
    level: &'static str,
    logger: &'a str,
    data: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a Id,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// Tells a client how far its request is, if it wants to hear that.
pub(in super::super) fn tell_progress(
    context: &RequestContext,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) {
    let round = context.round();
    let Some(progress_token) = round.carried.progress_token.as_ref() else {
        return;
    };
    let message = message.filter(|_| context.revision.has_progress_message());
    let params = ProgressParams { progress_token, progress, total, message };
    round.outbox.send(notification("notifications/progress", &params));
}

impl ClientPort for Port {
    fn caller(&self) -> Caller {
        self.context.caller.clone()
    }

    fn client(&self) -> ClientInfo {
        self.context.client.clone()
    }

    fn meta_size(&self) -> usize {
        self.context.round().carried.meta.as_deref().map_or(0, |meta| meta.get().len())
    }

    fn meta(&self) -> Option<String> {
        let round = self.context.round();
        let meta = RawObject::parse(round.carried.meta.as_deref()?.get()).ok()?.without(is_reserved);
        if meta.is_empty() { None } else { serde_json::to_string(&meta).ok() }
    }

    fn cancelled(&self) -> bool {
        self.context.cancel.is_cancelled()
    }

    fn near_roots(&self) -> BoxFuture<'_, Option<String>> {
        self.roots().boxed()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &RawValue) {
        let round = self.context.round();
        if !round.threshold.admits(level) {
            return;
        }
        let logger =
            logger.map_or_else(|| self.plugin.to_string(), |logger| format!("{}/{logger}", self.plugin));
        let params = LogParams { level: level_name(level), logger: &logger, data };
        round.outbox.send(notification("notifications/message", &params));
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        tell_progress(&self.context, progress, total, message);
    }

    fn ask(&self, questions: Vec<Question>) -> BoxFuture<'_, Answers> {
        self.ask(questions).boxed()
    }
}
