//! An application whose own database is opened by sqlx, while its tasks stand on a board in an SQLite file: both use the one
//! SQLite that can be linked, here the oldest that the board may be built with.

use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqlitePoolOptions;
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::Registry;
use taskyard::store::StoreChoice;
use taskyard::{Pool, Yard};

#[derive(Serialize, Deserialize)]
struct Double {
    number: i64,
}

impl TaskHandler for Double {
    const NAME: &'static str = "app.double";
    type Output = i64;

    async fn run(self, _: Context) -> Result<i64, HandlerError> {
        Ok(2 * self.number)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    let (number, version): (i64, String) =
        sqlx::query_as("SELECT 21, sqlite_version()").fetch_one(&db).await?;
    let file = std::env::temp_dir().join(format!("beside-sqlx-{}.db", std::process::id()));
    let yard = Yard::builder()
        .registry(Registry::new().register::<Double>()?)
        .pool(Pool::inline("app").pattern("app.#"))
        .store(StoreChoice::sqlite(&file))
        .start()?;
    let doubled = yard.submit(Double { number }).await?.outcome().await?;
    yard.drain().await?;
    assert_eq!(doubled, 42);
    println!("SQLite {version} for sqlx and for the board: {number} doubled is {doubled}");
    std::fs::remove_file(file)?;
    Ok(())
}
