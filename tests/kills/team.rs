//! Who works on a campaign: one supervisor that runs the file, and beside it, perhaps, one that serves on the same board.

use rustix::process::Signal;

use crate::dice::Dice;
use crate::harness::{Run, Server};
#[cfg(feature = "postgres")]
use crate::private::PrivateServer;
use crate::site::{LEASE, Running, Site};

pub(crate) struct Team<'a> {
    site: &'a Site,
    file: &'a str,
    leader: Running,
    companion: Option<Server>,
}

/// What is done to a team of two.
#[derive(Debug, Clone, Copy)]
enum Strike {
    KillLeader,
    KillCompanion,
    KillBoth,
    /// Stopped for longer than its lease, then continued.
    HoldLeader,
    HoldCompanion,
}

impl Strike {
    const ALL: [Self; 5] =
        [Self::HoldLeader, Self::KillLeader, Self::KillCompanion, Self::HoldCompanion, Self::KillBoth];

    /// Each once; then they are drawn, and a hold, which takes its time, seldom.
    fn draw(struck: usize, dice: &mut Dice) -> Self {
        let drawn = || match dice.up_to(19) {
            0 => Self::HoldLeader,
            1 => Self::HoldCompanion,
            2..=9 => Self::KillLeader,
            10..=17 => Self::KillCompanion,
            _ => Self::KillBoth,
        };
        Self::ALL.get(struck).copied().unwrap_or_else(drawn)
    }
}

impl<'a> Team<'a> {
    pub(crate) fn start(site: &'a Site, file: &'a str, two: bool) -> Self {
        Self { site, file, leader: site.run(file), companion: two.then(|| site.serve()) }
    }

    /// Who runs the file: all is done when it ends.
    pub(crate) fn leader(&self) -> &Running {
        &self.leader
    }

    /// One of them, or both, for the `struck`th time.
    pub(crate) fn strike(&mut self, struck: usize, dice: &mut Dice) {
        #[cfg(feature = "postgres")]
        if let Some(database) = self.site.database() {
            return self.strike_with(database, struck, dice);
        }
        let Some(companion) = &self.companion else { return self.kill_leader() };
        match Strike::draw(struck, dice) {
            Strike::KillLeader => self.kill_leader(),
            Strike::KillCompanion => self.kill_companion(),
            Strike::KillBoth => {
                self.leader.signal(Signal::KILL);
                self.kill_companion();
                self.kill_leader();
            }
            Strike::HoldLeader => {
                self.leader.signal(Signal::STOP);
                // Nobody ends while it is stopped.
                self.leader.ends_within(LEASE + dice.span(LEASE / 2));
                self.leader.signal(Signal::CONT);
            }
            Strike::HoldCompanion => {
                companion.signal(Signal::STOP);
                self.leader.ends_within(LEASE + dice.span(LEASE / 2));
                companion.signal(Signal::CONT);
            }
        }
    }

    /// The database goes as in a power cut, for less or more than a lease, and who goes with it is: nobody, each of both, and
    /// both; then they are drawn.
    #[cfg(feature = "postgres")]
    fn strike_with(&mut self, database: &PrivateServer, struck: usize, dice: &mut Dice) {
        let with = if struck < 4 { struck as u64 } else { dice.up_to(3) };
        let (leader, companion) = (with & 1 > 0, with & 2 > 0);
        database.stop();
        if leader {
            self.leader.signal(Signal::KILL);
        }
        if let Some(other) = self.companion.as_ref().filter(|_| companion) {
            other.signal(Signal::KILL);
        }
        // Nobody ends well while it is gone.
        let ended = !leader && self.leader.ends_within(dice.span(LEASE * 3 / 2));
        database.start_again();
        assert!(!ended, "{:#?}", self.leader.end());
        if leader {
            self.kill_leader();
        }
        if companion {
            self.kill_companion();
        }
    }

    fn kill_leader(&mut self) {
        self.leader.kill();
        self.leader = self.site.run(self.file);
    }

    fn kill_companion(&mut self) {
        if let Some(companion) = &mut self.companion {
            companion.signal(Signal::KILL);
            companion.end();
            *companion = self.site.serve();
        }
    }

    /// Lets the leader end, and then whoever is beside it.
    pub(crate) fn finish(mut self) -> Run {
        let run = self.leader.end();
        if let Some(companion) = &mut self.companion {
            companion.signal(Signal::TERM);
            assert_eq!(companion.end().code(), Some(0), "{}", companion.log());
        }
        run
    }
}
