//! A Conductor and its board. What it says to others is kept, for the test to look at and to answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{
    Accepted, Answer, CancelAnswer, Conductor, Effect, Event, RescheduleResult, Settings, Submission,
    SubmitRefusal,
};
use taskyard_core::dispatch::{Cancel, Dispatch, End, Ended, Failure, Outcome, TaskError};
use taskyard_core::id::PoolId;
use taskyard_core::live::LiveIndex;
use taskyard_core::names::Lane;
use taskyard_core::router::Router;
use taskyard_core::store::{self, Ask, BatchId, Filter, Reply, Status, StoreError};
use taskyard_core::task::{Body, Due, Extras, Key, KeyLimits, Priority, Retry, Task};
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Machine, Now, TaskId};

const START: Timestamp = Timestamp(1_700_000_000_000_000);
/// The only pool; it takes everything.
pub(crate) const POOL: PoolId = PoolId(0);
/// The reply to submissions, and who watches what is submitted.
const SUBMIT: u64 = 1;
pub(crate) const WATCH: u64 = 2;

pub(crate) struct Yard {
    pub(crate) conductor: Conductor,
    pub(crate) board: Board,
    pub(crate) now: Now,
    /// What waits for the board's answer while it is held up.
    pub(crate) asks: VecDeque<Ask>,
    pub(crate) board_is_up: bool,
    /// What was dispatched and has not ended.
    pub(crate) dispatches: BTreeMap<u64, Box<Dispatch>>,
    /// Cancels on their way to the stages.
    pub(crate) cancels: Vec<Cancel>,
    answers: Vec<(u64, Answer)>,
    pub(crate) said: Vec<Effect>,
    /// How many requests others asked.
    pub(crate) others: u64,
}

pub(crate) fn id(n: u64) -> TaskId {
    TaskId(n.into())
}

pub(crate) fn only(ids: &[u64]) -> Filter {
    Filter { ids: ids.iter().map(|n| id(*n)).collect(), ..Filter::default() }
}

/// One more attempt, after a pause longer than the horizon.
const RETRY: Retry = Retry {
    max_attempts: 2,
    initial: Duration::from_secs(10),
    factor: 2.0,
    max: Duration::from_mins(1),
    jitter: 0.0,
};

/// Task `n`, due at once.
pub(crate) fn task(n: u64) -> Task {
    Task {
        id: id(n),
        lane: Arc::new(Lane { namespace: "a".parse().unwrap(), name: "one".parse().unwrap() }),
        body: Body::new("{}".into(), 0..0, 0..0).unwrap(),
        due: Due::Now,
        expires: None,
        timeout: None,
        key: None,
        limits: KeyLimits::PARALLEL,
        priority: Priority::default(),
        retry: Some(Box::new(RETRY)),
        extras: None,
    }
}

pub(crate) fn delayed(n: u64, ms: u64) -> Task {
    Task { due: Due::In(Duration::from_millis(ms)), ..task(n) }
}

pub(crate) fn at(ms: u64) -> Timestamp {
    START + Duration::from_millis(ms)
}

/// To be judged against the others of its key.
pub(crate) fn bounded(n: u64) -> Task {
    Task { key: Some(Key(1)), limits: KeyLimits::QUEUE_ONE, ..task(n) }
}

pub(crate) fn with_follow_ups(n: u64) -> Task {
    let extras = Extras { callbacks: vec![task(0)], errbacks: vec![task(0)], ..Extras::default() };
    Task { extras: Some(Box::new(extras)), ..task(n) }
}

/// The only pool takes everything and knows one name.
pub(crate) fn router() -> Router {
    let mut router = Router::default();
    router.bind(POOL, &["#".parse().unwrap()], Some(&["one".parse().unwrap()]));
    router
}

pub(crate) fn success() -> End {
    End::Succeeded("null".into())
}

pub(crate) fn failure() -> End {
    let (kind, message) = ("Broken".into(), String::new());
    End::Failed(Failure::Error(Box::new(TaskError { kind, message, trace: None, retry: true })))
}

impl Yard {
    /// With a pool of so many slots.
    pub(crate) fn new(slots: usize) -> Self {
        Self::with(slots, Settings::default())
    }

    pub(crate) fn with(slots: usize, settings: Settings) -> Self {
        let mut yard = Self {
            conductor: Conductor::new(settings, 1, Arc::new(LiveIndex::default())),
            board: Board::new(board::Settings::default(), router()),
            now: Now { mono: Instant64(0), wall: START },
            asks: VecDeque::new(),
            board_is_up: true,
            dispatches: BTreeMap::new(),
            cancels: Vec::new(),
            answers: Vec::new(),
            said: Vec::new(),
            others: 0,
        };
        yard.tell(Event::Capacity { pool: POOL, slots });
        yard
    }

    pub(crate) fn tell(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.conductor.handle(self.now, event, &mut effects);
        self.end_turn(effects);
    }

    /// In one turn.
    pub(crate) fn tell_all(&mut self, events: Vec<Event>) {
        let mut effects = Vec::new();
        for event in events {
            self.conductor.handle(self.now, event, &mut effects);
        }
        self.end_turn(effects);
    }

    /// Both clocks go on, and the Conductor is woken.
    pub(crate) fn pass(&mut self, ms: u64) -> &mut Self {
        let span = Duration::from_millis(ms);
        (self.now.mono, self.now.wall) = (self.now.mono + span, self.now.wall + span);
        let mut effects = Vec::new();
        self.conductor.wake(self.now, &mut effects);
        self.end_turn(effects);
        self
    }

    fn end_turn(&mut self, mut effects: Vec<Effect>) {
        self.conductor.end_turn(self.now, &mut effects);
        self.conductor.check_invariants();
        for effect in effects {
            match effect {
                Effect::Ask(ask) => self.asks.push_back(ask),
                Effect::Dispatch(dispatch) => {
                    self.dispatches.insert(dispatch.id().0 as u64, dispatch);
                }
                Effect::Cancel(cancel) => self.cancels.push(cancel),
                Effect::Answer(token, answer) => self.answers.push((token, answer)),
                other => self.said.push(other),
            }
        }
        while self.board_is_up && self.answer_one() {}
    }

    /// The board answers the first question, if there is one.
    pub(crate) fn answer_one(&mut self) -> bool {
        let Some(reply) = self.execute_one() else { return false };
        self.tell(Event::Reply(Box::new(reply)));
        true
    }

    /// The board does what the first question asks; the answer may get lost.
    pub(crate) fn execute_one(&mut self) -> Option<Reply> {
        let ask = self.asks.pop_front()?;
        let mut replies = Vec::new();
        self.board.handle(self.now, ask, &mut replies);
        self.board.check_invariants();
        replies.pop()
    }

    /// The store fails to answer the first question.
    pub(crate) fn fail_one(&mut self) {
        self.script(Err(StoreError::Unavailable("the disk is on fire".into())), Status::default());
    }

    /// The first question is answered as the test says.
    pub(crate) fn script(&mut self, answer: Result<store::Answer, StoreError>, status: Status) {
        let ask = self.asks.pop_front().expect("something was asked");
        let reply = Reply { to: ask.from, no: ask.no, answer, status };
        self.tell(Event::Reply(Box::new(reply)));
    }

    pub(crate) fn submit<const N: usize>(
        &mut self,
        tasks: [Task; N],
    ) -> Vec<Result<Accepted, SubmitRefusal>> {
        self.submit_as(tasks, false);
        match self.answer(SUBMIT) {
            Answer::Submitted(results) => results,
            other => panic!("{other:?}"),
        }
    }

    /// Does not wait for the answer. `inside`: from a running task.
    pub(crate) fn submit_as<const N: usize>(&mut self, tasks: [Task; N], inside: bool) {
        let tasks = tasks.map(Arc::new).into();
        self.tell(Event::Submit(Submission {
            tasks,
            reply: SUBMIT,
            watch: Some(WATCH),
            inside,
            batch: None,
        }));
    }

    /// In one turn, with nobody who waits.
    pub(crate) fn submit_many(&mut self, tasks: impl IntoIterator<Item = Task>) {
        let tasks = tasks.into_iter().map(Arc::new).collect();
        let (reply, watch, inside, batch) = (SUBMIT, None, false, None);
        self.tell(Event::Submit(Submission { tasks, reply, watch, inside, batch }));
        self.answer(SUBMIT);
    }

    /// The first so many that are here end like this, in one turn.
    pub(crate) fn end_first(&mut self, many: usize, end: &End) {
        let dispatches = std::iter::from_fn(|| self.dispatches.pop_first()).take(many);
        let ended = dispatches.map(|(_, dispatch)| Event::Ended(Ended { dispatch, end: end.clone() }));
        let ended = ended.collect();
        self.tell_all(ended);
    }

    /// Does not wait for the answer.
    pub(crate) fn submit_of(&mut self, batch: BatchId, task: Task) {
        let (tasks, batch) = (vec![Arc::new(task)], Some(batch));
        self.tell(Event::Submit(Submission { tasks, reply: SUBMIT, watch: None, inside: false, batch }));
    }

    /// The dispatch of task `n` ended, as a stage or the pool reports it.
    pub(crate) fn end(&mut self, n: u64, end: End) {
        let dispatch = self.dispatches.remove(&n).expect("it was dispatched");
        self.tell(Event::Ended(Ended { dispatch, end }));
    }

    pub(crate) fn cancel(&mut self, token: u64, filter: Filter) {
        self.tell(Event::Cancel { filter: Box::new(filter), reply: token });
    }

    pub(crate) fn reschedule(&mut self, token: u64, n: u64, ms: u64) {
        self.tell(Event::Reschedule { id: id(n), due: Due::At(at(ms)), reply: token });
    }

    /// Who holds the dispatches takes out what it was asked to.
    pub(crate) fn meet_cancel(&mut self) {
        let cancel = self.cancels.remove(0);
        self.end(cancel.id().0 as u64, cancel.reason.end());
    }

    /// A worker runs it already, and is told.
    pub(crate) fn meet_running(&mut self) {
        let cancel = self.cancels.remove(0);
        self.tell(Event::Told(cancel));
    }

    /// What is in the yard, by number.
    pub(crate) fn live(&self) -> Vec<u64> {
        self.dispatches.keys().copied().collect()
    }

    /// The only answer to this token.
    pub(crate) fn answer(&mut self, token: u64) -> Answer {
        let at = self.answers.iter().position(|(to, _)| *to == token).expect("it was answered");
        let (_, answer) = self.answers.remove(at);
        assert!(self.is_silent(token), "one answer a question");
        answer
    }

    /// Whether nothing (more) was answered to this token.
    pub(crate) fn is_silent(&self, token: u64) -> bool {
        self.answers.iter().all(|(to, _)| *to != token)
    }

    pub(crate) fn cancelled(&mut self, token: u64) -> Vec<(u64, CancelAnswer)> {
        match self.answer(token) {
            Answer::Cancelled(Ok(answers)) => {
                answers.into_iter().map(|(id, answer)| (id.0 as u64, answer)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn rescheduled(&mut self, token: u64) -> RescheduleResult {
        match self.answer(token) {
            Answer::Rescheduled(result) => result,
            other => panic!("{other:?}"),
        }
    }

    /// What whoever watches the submitted tasks was told since the last look.
    pub(crate) fn outcomes(&mut self) -> Vec<(u64, Outcome)> {
        let told = self.answers.extract_if(.., |(to, _)| *to == WATCH);
        let outcome = |(_, answer): (u64, Answer)| match answer {
            Answer::Outcome(id, outcome) => (id.0 as u64, outcome),
            other => panic!("{other:?}"),
        };
        told.map(outcome).collect()
    }
}
