//! The world: machines, mail between them, two clocks, and what the seed does to them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::blocker::Blocker;
use taskyard_core::board::{self, Board};
use taskyard_core::conductor::{self, Answer, Conductor, Submission};
use taskyard_core::delayer::{self, Delayer};
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::in_progress::InProgress;
use taskyard_core::live::LiveIndex;
use taskyard_core::names::Pattern;
use taskyard_core::pool::{self, Pool};
use taskyard_core::queuer::Queuer;
use taskyard_core::router::Router;
use taskyard_core::store::Filter;
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::wiring::Mail;
use taskyard_core::{Machine, Now, Stage, TaskId, Wakeup};

use crate::checks::Checks;
use crate::rng::Rng;
use crate::workers::{Act, Outcome, Workers};
use crate::{board as line, tasks};

const MAX_STEPS: u64 = 400_000;

/// Who sends or receives mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    World,
    Conductor,
    Board,
    Delayer,
    Blocker,
    InProgress,
    Queuer,
    Pool(PoolId),
    Worker(WorkerId),
    Edge,
}

fn addressee(mail: &Mail) -> Role {
    match mail {
        Mail::Conductor(_) => Role::Conductor,
        Mail::Board(_) | Mail::Lease(_) => Role::Board,
        Mail::Delayer(_) => Role::Delayer,
        Mail::Blocker(_) => Role::Blocker,
        Mail::InProgress(_) => Role::InProgress,
        Mail::Queuer(_) => Role::Queuer,
        Mail::Pool(pool, _) => Role::Pool(*pool),
        Mail::Worker(worker, _) => Role::Worker(*worker),
        Mail::Answer(..) | Mail::Happened(_) => Role::Edge,
    }
}

pub(crate) struct World {
    rng: Rng,
    now: Now,
    faults: bool,
    trace: bool,
    mail: BTreeMap<(Role, Role), VecDeque<Mail>>,
    acts: BTreeMap<(Instant64, u64), (WorkerId, Act)>,
    act_number: u64,
    conductor: Conductor,
    live: Arc<LiveIndex>,
    board: Board,
    delayer: Delayer,
    blocker: Blocker,
    in_progress: InProgress,
    queuer: Queuer,
    pools: Vec<Pool>,
    workers: Workers,
    checks: Checks,
    left_to_submit: u64,
    next_token: u64,
    submissions: BTreeMap<u64, Vec<TaskId>>,
    drained: bool,
    /// Until then the board takes no mail.
    board_stalls: Option<Instant64>,
    live_max: usize,
    steps: u64,
}

const WATCH: u64 = 1;

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let pools = 1 + rng.below(2) as u8;
        let mut router = Router::default();
        let everything: Pattern = "#".parse().unwrap();
        let some: Pattern = "a.#".parse().unwrap();
        let mut machines = Vec::new();
        for number in 0..pools {
            let learned = rng.permille(300);
            let names = (!learned).then(|| vec!["one".parse().unwrap(), "two".parse().unwrap()]);
            router.bind(
                PoolId(number),
                &[if number == 0 { everything.clone() } else { some.clone() }],
                names.as_deref(),
            );
            machines.push(Pool::new(PoolId(number), pool_settings(&mut rng, names)));
        }
        let live = Arc::new(LiveIndex::default());
        let settings = conductor::Settings {
            near_max: 1 + rng.below(8) as usize,
            live_max: 2 + rng.below(30) as usize,
            // Whoever submits here waits for every task's end.
            submit_patience: Duration::from_hours(1),
            ..conductor::Settings::default()
        };
        let live_max = settings.live_max;
        let faults = rng.permille(700);
        let now = Now { mono: Instant64(0), wall: Timestamp(1_700_000_000_000_000) };
        let mut world = Self {
            left_to_submit: 10 + rng.below(60),
            now,
            faults,
            trace: std::env::var_os("SIM_TRACE").is_some(),
            mail: BTreeMap::new(),
            acts: BTreeMap::new(),
            act_number: 0,
            conductor: Conductor::new(settings, usize::from(pools), Arc::clone(&live)),
            live,
            board: Board::new(board::Settings::default(), router.clone()),
            delayer: Delayer::default(),
            blocker: Blocker::default(),
            in_progress: InProgress::default(),
            queuer: Queuer::new(router),
            pools: machines,
            workers: Workers::new(faults),
            checks: Checks::default(),
            next_token: 100,
            submissions: BTreeMap::new(),
            drained: false,
            board_stalls: None,
            live_max,
            steps: 0,
            rng,
        };
        world.checks.clock(now.wall);
        for number in 0..usize::from(pools) {
            let mut effects = Vec::new();
            world.pools[number].start(now, &mut effects);
            world.send(Role::Pool(PoolId(number as u8)), effects);
        }
        world
    }

    pub(crate) fn run(mut self) -> u64 {
        while self.left_to_submit > 0 {
            self.step();
            if self.rng.permille(60) {
                self.disturb();
            }
        }
        let drain = self.rng.permille(300);
        if drain {
            self.drain();
        } else {
            self.finish();
        }
        self.steps
    }

    /// Faults stop, and everything must end.
    fn finish(&mut self) {
        self.stop_faults();
        let at_rest = |world: &Self| world.checks.all_ended() && world.checks.all_answered();
        while self.busy() || !at_rest(self) || self.board.unfinished() > 0 {
            self.step();
        }
        self.check_empty();
    }

    fn drain(&mut self) {
        self.stop_faults();
        let token = self.token();
        self.tell(conductor::Event::Drain { reply: token });
        while !self.drained {
            self.step();
        }
        self.checks.answered_but_watches();
        self.check_empty();
    }

    fn stop_faults(&mut self) {
        self.faults = false;
        self.workers.faults = false;
        for pool in 0..self.pools.len() {
            self.tell(conductor::Event::Pause { pool: PoolId(pool as u8), paused: false });
        }
    }

    fn busy(&self) -> bool {
        self.mail.values().any(|queue| !queue.is_empty()) || self.conductor.live() > 0
    }

    fn check_empty(&self) {
        assert_eq!(self.conductor.live(), 0);
        assert_eq!(self.live.len(), 0);
        assert_eq!(
            self.delayer.len() + self.blocker.len() + self.queuer.len(),
            0,
            "a stage still holds something"
        );
        assert_eq!(self.workers.running().count(), 0);
        assert!(self.in_progress.is_empty(), "a grant was never released");
        self.check_all();
    }

    fn where_all_is(&self) -> String {
        format!(
            "unfinished {:?}; on the board {}, in the yard {}, delayed {}, blocked {}, queued {}, running {}",
            self.checks.unfinished(),
            self.board.unfinished(),
            self.conductor.live(),
            self.delayer.len(),
            self.blocker.len(),
            self.queuer.len(),
            self.workers.running().count(),
        )
    }

    fn check_all(&self) {
        self.conductor.check_invariants();
        self.board.check_invariants();
        self.delayer.check_invariants();
        self.blocker.check_invariants();
        self.in_progress.check_invariants();
        self.queuer.check_invariants();
        self.pools.iter().for_each(Machine::check_invariants);
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "does not end: {}", self.where_all_is());
        let stalls = self.board_stalls.is_some_and(|until| self.now.mono < until);
        let moves = |way: &(Role, Role)| !(stalls && way.1 == Role::Board);
        let waiting = self.mail.iter().filter(|(way, queue)| !queue.is_empty() && moves(way));
        let ways: Vec<_> = waiting.map(|(way, _)| *way).collect();
        if ways.is_empty() || self.rng.permille(30) {
            self.pass_time(ways.is_empty());
            return;
        }
        let way = self.rng.pick(&ways);
        let mail = self.mail.get_mut(&way).and_then(VecDeque::pop_front).unwrap();
        if self.trace {
            eprintln!("{:>10} {:?} -> {mail:?}", self.now.mono.0, way.0);
        }
        self.deliver(mail);
        if self.steps.is_multiple_of(64) {
            self.check_all();
        }
    }

    fn deliver(&mut self, mail: Mail) {
        let now = self.now;
        if let Mail::Conductor(conductor::Event::Submit(submission)) = &mail {
            submission.tasks.iter().for_each(|task| self.checks.submitted(task, now));
        }
        match mail {
            Mail::Conductor(event) => {
                self.turn(Role::Conductor, |world, effects| world.conductor.turn(now, event, effects));
                assert!(self.conductor.live() <= self.live_max, "more in the yard than may be");
            }
            Mail::Delayer(event) => {
                if let delayer::Event::Dispatch(dispatch) = &event {
                    self.checks.dispatched(dispatch);
                }
                self.turn(Role::Delayer, |world, effects| world.delayer.turn(now, event, effects));
            }
            Mail::Blocker(event) => {
                self.turn(Role::Blocker, |world, effects| world.blocker.turn(now, event, effects));
            }
            Mail::InProgress(event) => {
                self.turn(Role::InProgress, |world, effects| world.in_progress.turn(now, event, effects));
            }
            Mail::Queuer(event) => {
                self.turn(Role::Queuer, |world, effects| world.queuer.turn(now, event, effects));
            }
            Mail::Pool(pool, event) => {
                if let pool::Event::Dispatch(dispatch) = &event {
                    self.checks.handed(dispatch);
                }
                self.turn(Role::Pool(pool), |world, effects| {
                    world.pools[usize::from(pool.0)].turn(now, event, effects);
                });
            }
            Mail::Board(ask) => {
                self.checks.asked(ask.no, &ask.request);
                let reply = line::answer(&mut self.board, &mut self.rng, self.faults, now, ask);
                self.board.check_invariants();
                self.send(Role::Board, reply.into_iter().collect());
            }
            Mail::Worker(worker, command) => {
                let outcome = self.workers.command(&mut self.rng, worker, command);
                self.worker_did(worker, outcome);
            }
            Mail::Answer(token, answer) => self.answered(token, answer),
            Mail::Happened(_) | Mail::Lease(_) => {}
        }
    }

    fn turn<E: Into<Mail>>(&mut self, role: Role, step: impl FnOnce(&mut Self, &mut Vec<E>)) {
        let mut effects = Vec::new();
        step(self, &mut effects);
        self.send(role, effects);
    }

    fn send<E: Into<Mail>>(&mut self, from: Role, effects: Vec<E>) {
        for effect in effects {
            let mail = effect.into();
            self.look_at(&mail);
            self.mail.entry((from, addressee(&mail))).or_default().push_back(mail);
        }
    }

    /// What must hold when a message is sent.
    fn look_at(&mut self, mail: &Mail) {
        match mail {
            Mail::Conductor(conductor::Event::Missed(cancel)) => {
                let id = cancel.id();
                let held = [self.delayer.get(&id), self.blocker.get(&id)];
                let overtaken = held.into_iter().flatten().any(|dispatch| dispatch.name() == cancel.name());
                assert!(!overtaken, "a cancel overtook {:?}", cancel.name());
            }
            Mail::Answer(_, Answer::Outcome(id, outcome)) => {
                let recorded = line::outcome(&mut self.board, self.now, *id);
                assert_eq!(recorded.as_ref(), Some(outcome), "{id} is told otherwise than recorded");
            }
            _ => {}
        }
    }

    fn tell(&mut self, event: conductor::Event) {
        self.mail.entry((Role::World, Role::Conductor)).or_default().push_back(Mail::Conductor(event));
    }

    fn answered(&mut self, token: u64, answer: Answer) {
        match answer {
            Answer::Outcome(id, outcome) if token == WATCH => self.checks.ended(id, outcome),
            Answer::Submitted(results) => {
                let ids = self.submissions.remove(&token).expect("a submission is answered once");
                assert_eq!(ids.len(), results.len());
                for (id, result) in ids.into_iter().zip(results) {
                    if let Err(why) = result {
                        self.checks.refused(id, &why);
                    }
                }
            }
            Answer::Drained { .. } => self.drained = true,
            _ => self.checks.answered(token),
        }
    }

    fn worker_did(&mut self, worker: WorkerId, outcome: Outcome) {
        for live in &outcome.stopped {
            self.checks.stopped(live);
        }
        let running: Vec<_> = self.workers.running().cloned().collect();
        for live in &outcome.started {
            self.checks.started(live, self.now, &running);
        }
        for (after, act) in outcome.later {
            self.act_number += 1;
            let at = Instant64(self.now.mono.0 + after);
            self.acts.insert((at, self.act_number), (worker, act));
        }
        let to = Role::Pool(worker.pool);
        let queue = self.mail.entry((Role::Worker(worker), to)).or_default();
        queue.extend(
            outcome
                .reports
                .into_iter()
                .map(|report| Mail::Pool(worker.pool, pool::Event::Worker { worker: worker.number, report })),
        );
    }

    /// To the next thing that time brings, or a little on.
    fn pass_time(&mut self, to_next: bool) {
        let wishes = self.wakeups();
        let wake = wishes.iter().filter_map(|(_, wakeup)| wakeup.sleep(self.now)).min();
        let act = self
            .acts
            .first_key_value()
            .map(|((at, _), _)| Duration::from_micros(at.since(self.now.mono).max(0) as u64));
        let stall = self.board_stalls.filter(|until| *until > self.now.mono);
        let stall = stall.map(|until| Duration::from_micros(until.since(self.now.mono) as u64));
        let next = wake.into_iter().chain(act).chain(stall).min();
        let span = match next {
            Some(next) if to_next => next,
            Some(next) => next.min(Duration::from_micros(self.rng.below(5_000))),
            None if !to_next || self.left_to_submit > 0 => Duration::from_millis(1),
            None => panic!("nothing will ever happen again: {}", self.where_all_is()),
        };
        self.now.mono = self.now.mono + span;
        self.now.wall = self.now.wall + span;
        self.checks.clock(self.now.wall);
        for (role, wakeup) in wishes {
            if wakeup.is_due(self.now) {
                self.wake(role);
            }
        }
        while let Some(entry) = self.acts.first_entry().filter(|entry| entry.key().0 <= self.now.mono) {
            let (worker, act) = entry.remove();
            let outcome = self.workers.act(&mut self.rng, worker, act);
            self.worker_did(worker, outcome);
        }
        if to_next && self.left_to_submit > 0 && self.rng.permille(500) {
            self.submit();
        }
    }

    fn wakeups(&self) -> Vec<(Role, Wakeup)> {
        let mut wakeups = vec![
            (Role::Conductor, self.conductor.next_wakeup()),
            (Role::Delayer, self.delayer.next_wakeup()),
            (Role::Blocker, self.blocker.next_wakeup()),
            (Role::Queuer, self.queuer.next_wakeup()),
        ];
        wakeups.extend(
            self.pools.iter().enumerate().map(|(i, pool)| (Role::Pool(PoolId(i as u8)), pool.next_wakeup())),
        );
        wakeups
    }

    fn wake(&mut self, role: Role) {
        let now = self.now;
        match role {
            Role::Conductor => self.turn(role, |world, effects| world.conductor.wake_turn(now, effects)),
            Role::Delayer => self.turn(role, |world, effects| world.delayer.wake_turn(now, effects)),
            Role::Blocker => self.turn(role, |world, effects| world.blocker.wake_turn(now, effects)),
            Role::Queuer => self.turn(role, |world, effects| world.queuer.wake_turn(now, effects)),
            Role::Pool(pool) => self.turn(role, |world, effects| {
                world.pools[usize::from(pool.0)].wake_turn(now, effects);
            }),
            _ => {}
        }
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    fn question(&mut self, what: &'static str) -> u64 {
        let token = self.token();
        self.checks.asked_at_edge(token, what);
        token
    }

    fn submit(&mut self) {
        let count = (1 + self.rng.below(4)).min(self.left_to_submit);
        let mut batch = Vec::new();
        for _ in 0..count {
            let task = tasks::draw(&mut self.rng, self.left_to_submit, self.now.wall);
            self.left_to_submit -= 1;
            batch.push(task);
        }
        let reply = self.token();
        self.submissions.insert(reply, batch.iter().map(|task| task.id).collect());
        self.tell(conductor::Event::Submit(Submission {
            tasks: batch,
            reply,
            watch: Some(WATCH),
            inside: false,
            batch: None,
        }));
    }

    /// Something from outside: a submit, a cancel, another due time, other bounds, a step of the clock.
    fn disturb(&mut self) {
        match self.rng.below(14) {
            0..=5 => self.submit(),
            6 | 7 => {
                let filter = Box::new(self.draw_filter());
                let reply = self.question("cancel");
                self.tell(conductor::Event::Cancel { filter, reply });
            }
            8 => {
                let ids = self.checks.submitted_ids();
                if !ids.is_empty() {
                    let id = self.rng.pick(&ids);
                    self.checks.rescheduled(id);
                    let due = tasks::due(&mut self.rng, self.now.wall);
                    let reply = self.question("reschedule");
                    self.tell(conductor::Event::Reschedule { id, due, reply });
                }
            }
            9 => {
                let pool = PoolId(self.rng.below(self.pools.len() as u64) as u8);
                let min = self.rng.below(2) as u32;
                let max = min.max(1) + self.rng.below(3) as u32;
                self.tell(conductor::Event::Scale { pool, min, max });
            }
            10 => {
                let pool = PoolId(self.rng.below(self.pools.len() as u64) as u8);
                let paused = self.rng.permille(300);
                self.tell(conductor::Event::Pause { pool, paused });
            }
            11 => {
                let ids = self.checks.submitted_ids();
                if !ids.is_empty() {
                    let id = self.rng.pick(&ids);
                    let reply = self.question("watch");
                    self.tell(conductor::Event::Watch { id, reply });
                }
            }
            12 if self.faults => {
                let span = Duration::from_millis(self.rng.below(12_000));
                self.board_stalls = Some(self.now.mono + span);
            }
            _ => {
                let step = self.rng.below(20_000_000) as i64 - 10_000_000;
                self.now.wall = Timestamp(self.now.wall.0 + step);
                self.checks.clock(self.now.wall);
                self.checks.clock_stepped();
            }
        }
    }

    fn draw_filter(&mut self) -> Filter {
        let ids = self.checks.submitted_ids();
        match self.rng.below(4) {
            0 => Filter { task: Some("one".parse().unwrap()), ..Filter::default() },
            1 => Filter { namespace: Some("a.y".parse().unwrap()), ..Filter::default() },
            _ if ids.is_empty() => Filter::default(),
            _ => Filter { ids: vec![self.rng.pick(&ids)], ..Filter::default() },
        }
    }
}

fn pool_settings(rng: &mut Rng, names: Option<Vec<taskyard_core::names::TaskName>>) -> pool::Settings {
    pool::Settings {
        min: rng.below(2) as u32,
        max: 1 + rng.below(4) as u32,
        names,
        idle_for: Duration::from_millis(500),
        grace: Duration::from_millis(100),
        kill_after: Duration::from_millis(100),
        drain_grace: Duration::from_millis(300),
        ready_within: Duration::from_secs(1),
        max_tasks: rng.permille(300).then(|| 1 + rng.below(5) as u32),
        timeout: rng.permille(200).then(|| Duration::from_millis(300)),
        ..pool::Settings::default()
    }
}

/// One event as a turn of its own.
trait Turn: Machine {
    fn turn(&mut self, now: Now, event: Self::Event, effects: &mut Vec<Self::Effect>) {
        self.handle(now, event, effects);
        self.end_turn(now, effects);
        self.check_invariants();
    }

    fn wake_turn(&mut self, now: Now, effects: &mut Vec<Self::Effect>) {
        self.wake(now, effects);
        self.end_turn(now, effects);
        self.check_invariants();
    }
}

impl<M: Machine> Turn for M {}
