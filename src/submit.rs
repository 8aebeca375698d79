//! The ways in for tasks: typed, by name, as JSON, one or many, and from within a handler. It only brings them to the
//! Conductor, which decides.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use taskyard_core::TaskId;
use taskyard_core::names::TaskName;
use taskyard_core::task::Task;
use taskyard_core::wire::{Rejected, parse_task};

use crate::context::{CallError, Context};
use crate::draft::Draft;
use crate::errors::{NotTaken, SubmitError};
use crate::ids::fresh_id;
use crate::payload::{Named, Payload};
use crate::registry::Registry;
use crate::task_handle::{BatchHandle, TaskHandle, Untyped};
use crate::yard::Yard;

/// A typed task was not taken in; here it is again, to be submitted later or elsewhere. It keeps the id that it was given.
pub struct Refused<P> {
    /// The task.
    pub task: Draft<P>,
    /// Why.
    pub why: NotTaken,
}

impl<P> Refused<P> {
    /// `id`: under which it was submitted, if it got so far.
    fn new<To>(task: Draft<P, To>, id: Option<TaskId>, why: NotTaken) -> Self {
        let mut task = task.to(());
        task.id = id.or(task.id);
        Self { task, why }
    }
}

impl<P: Payload> fmt::Display for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task ({}) was not taken: {}", self.task.payload().name(), self.why)
    }
}

impl<P: Payload> fmt::Debug for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("task", &self.task).field("why", &self.why).finish()
    }
}

impl<P: Payload> std::error::Error for Refused<P> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// What became of typed tasks that were submitted together.
#[derive(Debug)]
pub struct SubmittedMany<P: Payload> {
    /// Those that were not taken in, in order.
    pub refused: Vec<Refused<P>>,
    /// Follows the others.
    pub batch: BatchHandle<P::Output>,
}

impl Yard {
    /// Submits a task: its payload, or a [`Draft`] of it. More can be said before it is awaited.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use taskyard::{Yard, context::Context, handler::{HandlerError, TaskHandler}};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct SendMail { to: String }
    /// # impl TaskHandler for SendMail {
    /// #     const NAME: &'static str = "app.mail.send";
    /// #     type Output = u64;
    /// #     async fn run(self, _: Context) -> Result<u64, HandlerError> { Ok(1) }
    /// # }
    /// # async fn example(yard: &Yard) -> Result<(), Box<dyn std::error::Error>> {
    /// let mail = SendMail { to: "ann@example.org".into() };
    /// let mut task = yard.submit(mail).delay(Duration::from_secs(30)).priority(7).await?;
    /// let message_number = task.outcome().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit<P: Payload>(&self, task: impl Into<Draft<P>>) -> Draft<P, Self> {
        task.into().to(self.clone())
    }

    /// Submits a task whose handler is elsewhere, or whose type is not at hand.
    pub fn submit_named(
        &self,
        name: impl Into<String>,
        args: Vec<Value>,
        kwargs: serde_json::Map<String, Value>,
    ) -> Draft<Named, Self> {
        self.submit(Named { name: name.into(), args, kwargs })
    }

    /// Reads a task as it stands on the wire, with the defaults of its kind, without submitting it: for
    /// [`submit_tasks`](Self::submit_tasks) and [`post_tasks`](Self::post_tasks).
    pub fn read_task(&self, text: &str) -> Result<Arc<Task>, Rejected> {
        read_task(self.registry(), text).map(Arc::new)
    }

    /// Submits a task as it stands on the wire: a JSON object with at least `task`.
    pub async fn submit_json(&self, text: &str) -> Result<TaskHandle<Value>, NotTaken> {
        let taken = self.submit_task(self.read_task(text)?).await;
        taken.map(TaskHandle::typed).map_err(|refused| refused.why)
    }

    /// Submits tasks together, payloads or drafts, which costs far less than one by one. Returns once they are committed to
    /// the board.
    pub async fn submit_many<P: Payload, D: Into<Draft<P>>>(
        &self,
        tasks: impl IntoIterator<Item = D>,
    ) -> SubmittedMany<P> {
        let mut refused = Vec::new();
        let (mut drafts, mut built) = (Vec::new(), Vec::new());
        for draft in tasks.into_iter().map(Into::into) {
            match draft.build(self.registry()) {
                Ok(task) => {
                    drafts.push(draft);
                    built.push(Arc::new(task));
                }
                Err(rejected) => refused.push(Refused::new(draft, None, rejected.into())),
            }
        }
        let submitted = self.submit_tasks(built).await;
        for (draft, answer) in drafts.into_iter().zip(submitted.answers) {
            if let Err(SubmitError { task, why }) = answer {
                refused.push(Refused::new(draft, Some(task.id), why));
            }
        }
        SubmittedMany { refused, batch: submitted.batch.typed() }
    }
}

/// A task from its JSON, with the defaults of its kind.
pub(crate) fn read_task(registry: &Registry, text: &str) -> Result<Task, Rejected> {
    read_task_as(registry, fresh_id(), text)
}

/// The same; it is called `id` if it brings no id.
pub(crate) fn read_task_as(registry: &Registry, id: TaskId, text: &str) -> Result<Task, Rejected> {
    let defaults = |name: &TaskName| registry.defaults(name.as_str()).cloned().unwrap_or_default();
    parse_task(text, id, &defaults).map(|task| registry.share_lane(task))
}

impl<P: Payload> IntoFuture for Draft<P, Yard> {
    type Output = Result<TaskHandle<P::Output>, Refused<P>>;
    type IntoFuture = Submitting<P>;

    fn into_future(self) -> Submitting<P> {
        let yard = self.to.clone();
        let (id, answer) = match self.build(yard.registry()) {
            Ok(task) => {
                let (id, task) = (task.id, Arc::new(task));
                let taken = async move { yard.submit_task(task).await.map_err(|refused| refused.why) };
                (Some(id), taken.boxed())
            }
            Err(rejected) => (None, std::future::ready(Err(rejected.into())).boxed()),
        };
        Submitting { draft: Some(self), id, answer }
    }
}

/// A task on its way in. Dropping this does not take it back.
#[must_use = "nothing is submitted before it is awaited"]
pub struct Submitting<P> {
    draft: Option<Draft<P, Yard>>,
    id: Option<TaskId>,
    answer: BoxFuture<'static, Result<TaskHandle<Untyped>, NotTaken>>,
}

/// Nothing in it is ever pinned.
impl<P> Unpin for Submitting<P> {}

impl<P: Payload> Future for Submitting<P> {
    type Output = Result<TaskHandle<P::Output>, Refused<P>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.answer.as_mut().poll(cx));
        let Some(draft) = self.draft.take() else { return Poll::Pending };
        Poll::Ready(match answer {
            Ok(handle) => Ok(handle.typed()),
            Err(why) => Err(Refused::new(draft, self.id, why)),
        })
    }
}

impl<P> Draft<P, Context> {
    /// Submits it once, however often this handler is retried: its id is derived from the running task's and `label`.
    pub fn once(self, label: &str) -> Self {
        let id = self.to.id().derived(label.as_bytes());
        self.id(id)
    }
}

/// From within a handler: the answer is the task's id.
impl<P: Payload> IntoFuture for Draft<P, Context> {
    type Output = Result<TaskId, CallError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let task = self.written();
        let cx = self.to;
        async move {
            let task: Value = serde_json::from_str(task?.body.text()).map_err(CallError::NotJson)?;
            let answer = cx.call("submit", task).await?;
            answer.as_str().and_then(|id| id.parse().ok()).ok_or(CallError::Answer(answer))
        }
        .boxed()
    }
}
