//! How many no-op tasks a second pass all actors, with toy workers that answer at once: submit in batches, wait for all
//! outcomes. `cargo bench --bench actors [tasks] [batch]`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use taskyard::Yard;
use taskyard::core::{board, pool};
use taskyard::testing::Toys;

fn main() {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let (tasks, batch) = (numbers.next().unwrap_or(2_000_000), numbers.next().unwrap_or(1_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(run(tasks, batch));
}

async fn run(tasks: usize, batch: usize) {
    let mut pool = common::pool(&Toys::instant(4_096, vec![common::echo()]));
    pool.settings = pool::Settings { concurrency: 4_096, ..pool.settings };
    let board = board::Settings { board_max: 10_000_000, ..board::Settings::default() };
    let yard = Yard::builder().board(board).pool(pool).start().expect("starts");
    let batches: Vec<_> = (0..tasks / batch).map(|_| common::tasks(batch)).collect();

    let start = Instant::now();
    let mut open = Vec::new();
    for tasks in batches {
        open.push(yard.submit_tasks(tasks).await.batch);
        if open.len() == 16 {
            open.remove(0).outcomes().await.expect("up");
        }
    }
    for batch in open {
        batch.outcomes().await.expect("up");
    }
    let rate = tasks as f64 / start.elapsed().as_secs_f64();
    println!("{tasks} tasks in batches of {batch}: {rate:.0} a second");
}
