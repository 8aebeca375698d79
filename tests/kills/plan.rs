//! The tasks of a campaign: what each shall do, and so how it must end.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taskyard::core::TaskId;

use crate::dice::Dice;
use crate::site::Site;

/// What a task shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    /// So many of its attempts fail.
    pub(crate) failures: u32,
    pub(crate) max_attempts: u32,
}

impl Fate {
    pub(crate) const PLAIN: Self = Self { failures: 0, max_attempts: 3 };

    pub(crate) fn succeeds(self) -> bool {
        self.failures < self.max_attempts
    }
}

/// The tasks of a file.
pub(crate) struct Plan {
    pub(crate) tasks: usize,
    /// How many tasks come of them: callbacks, errbacks, and what they submit.
    pub(crate) followers: usize,
    /// Those that bring an id. The others are [`Fate::PLAIN`], and get their ids from the file.
    fates: BTreeMap<TaskId, Fate>,
    lines: Vec<String>,
}

impl Plan {
    /// So many tasks, each of which takes so long.
    pub(crate) fn draw(site: &Site, dice: &mut Dice, tasks: usize, seconds: f64) -> Self {
        let mut plan = Self { tasks, followers: 0, fates: BTreeMap::new(), lines: Vec::new() };
        for number in 0..tasks {
            let line = plan.line(site, dice, number, seconds);
            plan.lines.push(line.to_string());
        }
        plan
    }

    fn line(&mut self, site: &Site, dice: &mut Dice, number: usize, seconds: f64) -> Value {
        let fate = fate(dice);
        let follower = site.task(json!({}));
        let mut line = site.task(json!({ "seconds": seconds, "failures": fate.failures }));
        if dice.one_in(10) {
            self.followers += 1;
            line["kwargs"]["child"] = follower["kwargs"].clone();
        }
        if dice.one_in(5) {
            self.followers += 1;
            let callbacks = if fate.succeeds() { "callbacks" } else { "errbacks" };
            line[callbacks] = json!([follower]);
        }
        line["retry"] =
            json!({ "max_attempts": fate.max_attempts, "backoff": { "initial": 0.05, "max": 0.5 } });
        line["priority"] = dice.up_to(9).into();
        if dice.one_in(10) {
            line["delay"] = (dice.up_to(1_000) as f64 / 1e3).into();
        }
        if dice.one_in(10) {
            line["key"] = format!("key {}", dice.up_to(2)).into();
            line["on_duplicate"] = "serial".into();
        }
        if fate != Fate::PLAIN || dice.one_in(2) {
            let id = TaskId(0x0197_0000_0000_7000_8000_0000_0000_0000 + number as u128);
            line["uuid"] = id.to_string().into();
            self.fates.insert(id, fate);
        }
        line
    }

    /// What the file says.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn fate(&self, id: TaskId) -> Fate {
        self.fates.get(&id).copied().unwrap_or(Fate::PLAIN)
    }

    /// The tasks that bring their ids.
    pub(crate) fn known(&self) -> impl Iterator<Item = TaskId> {
        self.fates.keys().copied()
    }

    /// How many are to succeed.
    pub(crate) fn succeeding(&self) -> usize {
        self.tasks - self.fates.values().filter(|fate| !fate.succeeds()).count()
    }
}

/// Most succeed at once, some after failures, and a few never.
fn fate(dice: &mut Dice) -> Fate {
    match dice.up_to(19) {
        0..=2 => Fate { failures: 1 + dice.up_to(1) as u32, max_attempts: 4 },
        3 => Fate { failures: 9, max_attempts: 1 + dice.up_to(2) as u32 },
        _ => Fate::PLAIN,
    }
}
