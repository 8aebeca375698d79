//! Who stands at the edge of the nodes: producers that submit until somebody has taken their tasks in, and who asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::conductor::{self, Answer, Submission};
use taskyard_core::id::Token;
use taskyard_core::task::Task;

use crate::checks::Checks;
use crate::node::Node;

/// Who submits waits for the outcomes under this token.
const WATCH: Token = 1;

pub(crate) struct Edge {
    last: Token,
    submissions: BTreeMap<Token, (u64, Vec<Arc<Task>>)>,
    /// What no node is known to have taken in.
    again: Vec<Vec<Arc<Task>>>,
}

impl Edge {
    pub(crate) fn new() -> Self {
        Self { last: 100, submissions: BTreeMap::new(), again: Vec::new() }
    }

    pub(crate) fn token(&mut self) -> Token {
        self.last += 1;
        self.last
    }

    pub(crate) fn question(&mut self, checks: &mut Checks, node: &Node, what: &'static str) -> Token {
        let token = self.token();
        checks.asked_at_edge(node.life, token, what);
        token
    }

    pub(crate) fn submit(&mut self, node: &mut Node, tasks: Vec<Arc<Task>>) {
        let reply = self.token();
        self.submissions.insert(reply, (node.life, tasks.clone()));
        let submission = Submission { tasks, reply, watch: Some(WATCH), inside: false, batch: None };
        node.tell(conductor::Event::Submit(submission));
    }

    pub(crate) fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    pub(crate) fn submit_again(&mut self, node: &mut Node) {
        if let Some(tasks) = self.again.pop() {
            self.submit(node, tasks);
        }
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.again.is_empty() && self.submissions.is_empty()
    }

    /// A node is gone: what it did not answer is submitted again.
    pub(crate) fn died(&mut self, life: u64) {
        let lost = self.submissions.extract_if(.., |_, (asked, _)| *asked == life);
        self.again.extend(lost.map(|(_, (_, tasks))| tasks));
    }

    pub(crate) fn answered(&mut self, checks: &mut Checks, node: &mut Node, token: Token, answer: Answer) {
        match answer {
            Answer::Outcome(id, outcome) if token == WATCH => checks.ended(node.life, id, &outcome),
            Answer::Submitted(results) => {
                let (_, tasks) = self.submissions.remove(&token).expect("a submission is answered once");
                assert_eq!(tasks.len(), results.len());
                let again = tasks.into_iter().zip(results).filter(|(task, result)| match result {
                    Ok(_) => false,
                    Err(why) => checks.refused(node.life, task.id, why),
                });
                let again: Vec<_> = again.map(|(task, _)| task).collect();
                self.again.extend(Some(again).filter(|again| !again.is_empty()));
            }
            Answer::Drained { .. } => node.drained = true,
            answer => {
                if let Answer::Outcome(id, outcome) = &answer {
                    checks.record.ended(*id, outcome);
                }
                checks.answered(token);
            }
        }
    }
}
