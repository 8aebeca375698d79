//! Seeded runs against a Queuer and workers that are late, die, lie and ignore what they are told: everything ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::dispatch::Ended;
use crate::worker::{CancelReason, Signal};

/// What draws the faults.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }
}

/// One worker: what it was told and has not read, what waits in it, what it runs, what it said.
#[derive(Default)]
struct Process {
    inbox: VecDeque<Command>,
    waits: VecDeque<TaskId>,
    runs: Vec<TaskId>,
    says: VecDeque<Report>,
    ready: bool,
    stops: bool,
    dead: bool,
}

struct World {
    dice: Dice,
    pool: Pool,
    micros: i64,
    settings: Settings,
    concurrency: u32,
    ahead: u32,
    /// How much time a step may take, in microseconds: with few, tasks are quick enough to be sent ahead.
    tick: u64,
    faults: bool,
    processes: BTreeMap<u32, Process>,
    to_pool: VecDeque<Event>,
    to_queuer: VecDeque<Effect>,
    waiting: BTreeMap<u128, Box<Dispatch>>,
    lives: BTreeMap<u128, Arc<Live>>,
    up_to: u64,
    passed: u64,
    demand: usize,
    headroom: usize,
    drained: bool,
    ended: BTreeSet<u128>,
    /// Suspects whose mark is committed.
    marked: BTreeSet<u128>,
}

/// Every third task ends only if it is told to, every seventh only if it is killed.
fn heeds(id: u128) -> bool {
    !id.is_multiple_of(7)
}

fn ends_by_itself(id: u128) -> bool {
    heeds(id) && !id.is_multiple_of(3)
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let max = 1 + dice.below(4) as u32;
        let settings = Settings {
            min: dice.below(u64::from(max) + 1) as u32,
            spare: dice.below(2) as u32,
            names: dice.one_in(2).then(|| vec![name("t")]),
            timeout: Some(secs(20)),
            max_tasks: dice.one_in(3).then_some(5),
            max_age: dice.one_in(3).then_some(secs(60)),
            killable: !dice.one_in(4),
            ..settings(0, max)
        };
        Self {
            pool: Pool::new(ID, settings.clone()),
            concurrency: 1 + dice.below(3) as u32,
            ahead: dice.below(4) as u32,
            tick: if dice.one_in(2) { 10 } else { 500 },
            dice,
            settings,
            micros: 0,
            faults: true,
            processes: BTreeMap::new(),
            to_pool: VecDeque::new(),
            to_queuer: VecDeque::new(),
            waiting: BTreeMap::new(),
            lives: BTreeMap::new(),
            up_to: 0,
            passed: 0,
            demand: 0,
            headroom: 0,
            drained: false,
            ended: BTreeSet::new(),
            marked: BTreeSet::new(),
        }
    }

    fn now(&self) -> Now {
        Now { mono: Instant64(self.micros), wall: Timestamp(self.micros) }
    }

    fn deliver(&mut self, effects: Vec<Effect>) {
        self.pool.check_invariants();
        for effect in effects {
            match effect {
                Effect::Worker { worker, command: Command::Launch } => {
                    assert!(!self.drained, "a worker was launched after the drain");
                    assert!(self.processes.insert(worker.number, Process::default()).is_none());
                    let alive = self.processes.values().filter(|process| !process.dead).count();
                    let most = self.settings.max as usize;
                    assert!(alive <= most || !self.settings.killable, "{alive} workers");
                }
                Effect::Worker { worker, command } => {
                    if let Command::Run { live, .. } = &command {
                        let marked = self.marked.contains(&live.task.id.0);
                        assert!(marked || !live.suspect, "a suspect was sent without its mark");
                    }
                    let process = self.processes.get_mut(&worker.number).expect("a launched worker");
                    process.inbox.push_back(command);
                }
                Effect::Ended(Ended { dispatch, .. }) => {
                    assert!(self.ended.insert(dispatch.id().0), "{} ended twice", dispatch.id());
                }
                Effect::Drained(_) => self.drained = true,
                Effect::MayStart { name, .. } if !(self.faults && self.dice.one_in(4)) => {
                    self.marked.insert(name.id.0);
                    self.to_pool.push_back(Event::Go(name));
                }
                effect @ (Effect::Window(_) | Effect::Returned(_)) => self.to_queuer.push_back(effect),
                _ => {}
            }
        }
    }

    fn submit(&mut self, id: u128) {
        let mut like = task(id);
        if !ends_by_itself(id) && id.is_multiple_of(2) {
            like = like.timeout(1_000);
        }
        if id.is_multiple_of(5) {
            like = like.suspect();
        }
        let shared = like.live();
        self.lives.insert(id, shared.clone());
        if let Event::Dispatch(dispatch) = dispatched(&shared) {
            self.waiting.insert(id, dispatch);
        }
        self.pass();
    }

    fn pass(&mut self) {
        while self.passed < self.up_to {
            let Some((_, dispatch)) = self.waiting.pop_first() else { break };
            self.passed += 1;
            dispatch.live.hand_to(Some(ID));
            self.to_pool.push_back(Event::Dispatch(dispatch));
        }
        let demand = self.waiting.len().min(self.headroom);
        if demand != self.demand {
            self.demand = demand;
            self.to_pool.push_back(Event::Demand(demand));
        }
    }

    fn queuer_hears(&mut self) {
        match self.to_queuer.pop_front() {
            Some(Effect::Window(window)) => {
                (self.up_to, self.headroom) = (window.up_to, window.headroom);
            }
            Some(Effect::Returned(dispatch)) => _ = self.waiting.insert(dispatch.id().0, dispatch),
            _ => {}
        }
        self.pass();
    }

    /// Lets the pool hear a few things in one turn.
    fn pool_turn(&mut self) {
        let mut effects = vec![];
        for _ in 0..=self.dice.below(4) {
            let speakers: Vec<_> =
                self.processes.iter().filter(|(_, p)| !p.says.is_empty()).map(|(n, _)| *n).collect();
            let pick = self.dice.below(speakers.len() as u64 + 1) as usize;
            let event = match speakers.get(pick) {
                None => self.to_pool.pop_front(),
                Some(worker) => {
                    let said = self.processes.get_mut(worker).and_then(|process| process.says.pop_front());
                    said.map(|report| Event::Worker { worker: *worker, report })
                }
            };
            if let Some(event) = event {
                self.pool.handle(self.now(), event, &mut effects);
            }
        }
        self.pool.end_turn(self.now(), &mut effects);
        self.deliver(effects);
    }

    fn process_step(&mut self, number: u32) {
        let (faults, killable) = (self.faults, self.settings.killable);
        let Some(process) = self.processes.get_mut(&number).filter(|process| !process.dead) else { return };
        let dice = &mut self.dice;
        if faults && dice.one_in(60) {
            return process.die("signal 11");
        }
        if faults && process.ready && dice.one_in(200) {
            let lie = Report::Done { id: TaskId(1 + u128::from(dice.below(50))), end: WorkerEnd::Cancelled };
            return process.says.push_back(lie);
        }
        let dawdles = faults && dice.one_in(3);
        if !process.ready && !dawdles {
            process.ready = true;
            let (concurrency, ahead) = (self.concurrency, self.ahead);
            process.says.push_back(Report::Ready { concurrency, ahead, names: vec![name("t")] });
        }
        match process.inbox.pop_front() {
            Some(Command::Run { live, .. }) => process.waits.push_back(live.task.id),
            Some(Command::Recall { id }) => {
                if let Some(at) = process.waits.iter().position(|waits| *waits == id) {
                    process.waits.remove(at);
                    process.says.push_back(Report::Returned { id });
                }
            }
            Some(Command::Cancel { id, reason }) if heeds(id.0) || !killable => {
                // What can't be killed may heed late, and so after its end was recorded.
                let end = if reason == CancelReason::User { failed("told") } else { WorkerEnd::Cancelled };
                process.end(id, end);
            }
            Some(Command::Stop) => process.stops = true,
            Some(Command::Signal(Signal::Kill)) => return process.die("signal 9"),
            Some(Command::Signal(Signal::Term)) if dice.one_in(2) => return process.die("signal 15"),
            _ => {}
        }
        if process.runs.len() < self.concurrency as usize
            && let Some(id) = process.waits.pop_front()
        {
            process.runs.push(id);
            process.says.push_back(Report::Started { id });
        } else if dice.one_in(2)
            && let Some(id) = process.runs.iter().copied().find(|id| ends_by_itself(id.0))
        {
            process.end(id, WorkerEnd::Succeeded("1".into()));
        }
        if process.stops && process.runs.is_empty() && process.waits.is_empty() && process.inbox.is_empty() {
            process.die("exit status 0");
        }
    }

    fn step(&mut self) {
        match self.dice.below(4) {
            0 => self.queuer_hears(),
            1 => self.pool_turn(),
            2 => {
                let count = self.processes.len() as u64;
                let pick = self.dice.below(count.max(1)) as usize;
                if let Some(number) = self.processes.keys().nth(pick).copied() {
                    self.process_step(number);
                }
            }
            _ => {
                self.micros += self.dice.below(self.tick) as i64;
                if self.pool.next_wakeup().is_due(self.now()) {
                    self.wake();
                }
            }
        }
        self.processes.retain(|_, process| !process.dead || !process.says.is_empty());
    }

    fn wake(&mut self) {
        let mut effects = vec![];
        self.pool.wake(self.now(), &mut effects);
        self.deliver(effects);
    }

    fn meddle(&mut self) {
        let pick = self.dice.below(self.lives.len() as u64) as usize;
        let event = match self.dice.below(6) {
            0 => Event::Pause(true),
            1 | 2 => Event::Pause(false),
            3 => Event::Scale { min: 0, max: self.settings.max },
            _ => {
                let live = self.lives.values().nth(pick).expect("a task").clone();
                let reasons = [Reason::User, Reason::Expired, Reason::Park, Reason::Disowned];
                let reason = reasons[self.dice.below(4) as usize];
                Event::Cancel(Cancel { live, reason })
            }
        };
        self.to_pool.push_back(event);
    }

    /// Without faults, lets everything happen until it is `over`, or for long enough.
    fn run_out(&mut self, over: impl Fn(&Self) -> bool) {
        for _ in 0..400 {
            if over(self) {
                return;
            }
            (0..200).for_each(|_| self.step());
            if let Some(at) = self.pool.next_wakeup().mono {
                self.micros = self.micros.max(at.0);
                self.wake();
            }
        }
    }
}

impl Process {
    fn end(&mut self, id: TaskId, end: WorkerEnd) {
        if let Some(at) = self.runs.iter().position(|runs| *runs == id) {
            self.runs.remove(at);
            self.says.push_back(Report::Done { id, end });
        }
    }

    fn die(&mut self, status: &str) {
        self.dead = true;
        self.says.push_back(Report::Exited { status: status.into(), output: String::new() });
    }
}

fn world_after_faults(seed: u64, tasks: u128) -> World {
    let mut world = World::new(seed);
    for id in 1..=tasks {
        world.submit(id);
        (0..world.dice.below(60)).for_each(|_| world.step());
        if world.dice.one_in(8) {
            world.meddle();
        }
    }
    world.faults = false;
    world
}

/// P23: whatever happens to workers, each task ends once, and none waits while a worker could run it.
#[test]
fn once_faults_stop_everything_ends() {
    for seed in 1..=200 {
        let mut world = world_after_faults(seed, 60);
        world.to_pool.push_back(Event::Pause(false));
        world.run_out(|world| world.ended.len() == 60);
        assert_eq!(world.ended.len(), 60, "seed {seed}: {:?} {:?}", world.waiting.keys(), world.pool);
    }
}

/// P18: a drain at any moment ends with no worker and nothing held.
#[test]
fn a_drain_at_any_moment_comes_to_its_end() {
    for seed in 1..=200 {
        let mut world = world_after_faults(seed, 30);
        world.to_pool.push_back(Event::Drain);
        world.run_out(|world| world.drained && world.to_pool.is_empty() && world.to_queuer.is_empty());
        assert!(world.drained, "seed {seed}: {:?}", world.pool);
        assert_eq!(world.ended.len() + world.waiting.len(), 30, "seed {seed}");
    }
}
