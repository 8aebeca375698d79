//! A run of a file's lines: a batch that the board keeps. An unfinished run of the same content is gone on with, so that
//! what a killed program had posted is known again; a finished one is followed by a new run. What a line says is not
//! looked at here.

use std::path::Path;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::store::{BatchId, BatchState};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::ProducerError;
use super::file::Source;
use crate::errors::AskError;
use crate::ids::fresh_id;
use crate::yard::Yard;

/// The low bits of a line's id are its number: a store keeps the tasks of a run side by side.
const LINE_BITS: u32 = 40;
/// How long until a store that fails is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// How much of a file is read at once.
const CHUNK: usize = 64 * 1024;

/// A run of a source's lines.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    state: BatchState,
    /// What the ids of its lines have in common.
    seed: TaskId,
}

impl Run {
    /// The unfinished run of this content, or a new one. What can't be read twice (standard input, a pipe) is always new.
    pub async fn open(yard: &Yard, source: &Source) -> Result<Self, ProducerError> {
        let hash = match source {
            Source::Stdin => None,
            Source::File(path) => {
                hash(path).await.map_err(|error| ProducerError::source(path.display().to_string(), error))?
            }
        };
        let hash = hash.unwrap_or_else(|| *blake3::hash(&fresh_id().0.to_le_bytes()).as_bytes());
        let state = yard.open_batch(hash).await?;
        Ok(Self { seed: seed(&hash, state.run), state })
    }

    /// Which run of this content it is, from 1.
    pub fn number(&self) -> u32 {
        self.state.run
    }

    /// Whether it was begun before and not finished.
    pub fn is_resumed(&self) -> bool {
        self.state.resumed
    }

    /// The batch of its tasks.
    pub fn batch(&self) -> BatchId {
        self.state.id
    }

    /// The id of a line that brings none. The same for the same line of the same run.
    pub fn id(&self, line: u64) -> TaskId {
        let numbers = (1 << LINE_BITS) - 1;
        TaskId(self.seed.0 & !numbers | u128::from(line) & numbers)
    }

    /// All its lines are posted: it is finished with the last of their tasks. Waits for a store that fails.
    pub(super) async fn seal(&self, yard: &Yard) -> Result<(), AskError> {
        loop {
            match yard.seal_batch(self.batch()).await {
                Err(AskError::Store(_)) => tokio::time::sleep(PAUSE).await,
                sealed => return sealed,
            }
        }
    }
}

fn seed(hash: &[u8; 32], run: u32) -> TaskId {
    TaskId(0).derived(&[b"run ", hash.as_slice(), &run.to_le_bytes()].concat())
}

/// A hash of the content, if it is a file that can be read again. A pipe is not even opened: what is in it would be lost.
async fn hash(path: &Path) -> std::io::Result<Option<[u8; 32]>> {
    if !tokio::fs::metadata(path).await?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path).await?;
    let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; CHUNK]);
    loop {
        match file.read(&mut buffer).await? {
            0 => return Ok(Some(*hasher.finalize().as_bytes())),
            read => hasher.update(&buffer[..read]),
        };
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn run(hash: u8, run: u32) -> Run {
        let state = BatchState { id: BatchId(1), run, resumed: false };
        Run { seed: seed(&[hash; 32], run), state }
    }

    #[test]
    fn a_line_has_the_same_id_in_the_same_run_of_the_same_content_only() {
        assert_eq!(run(1, 1).id(7), run(1, 1).id(7));
        let others = [run(1, 1).id(8), run(1, 2).id(7), run(2, 1).id(7)];
        assert!(others.iter().all(|other| *other != run(1, 1).id(7)));
    }

    #[test]
    fn ids_of_a_run_rise_with_its_lines_and_are_uuids() {
        let ids: Vec<_> = [1, 2, 1_000_000, 1 << 39].map(|line| run(9, 3).id(line)).into();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|id| Uuid::from_u128(id.0).get_version_num() == 8));
    }
}
