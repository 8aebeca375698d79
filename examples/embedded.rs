//! A web application that hands work to a yard inside of it: `cargo run --example embedded -- 8080`, then
//! `curl -X POST localhost:8080/mails -d '{"to":"ann@example.org"}' -H 'content-type: application/json'`.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use taskyard::context::Context;
use taskyard::handler::{HandlerError, TaskHandler};
use taskyard::registry::Registry;
use taskyard::{Pool, Refused, Yard, worker};

/// A mail to send; the work is done in a process of its own.
#[derive(Serialize, Deserialize)]
struct SendMail {
    to: String,
}

impl TaskHandler for SendMail {
    const NAME: &'static str = "app.mail.send";
    type Output = String;

    async fn run(self, _: Context) -> Result<String, HandlerError> {
        if !self.to.contains('@') {
            return Err(HandlerError::fatal(format!("{:?} is no address", self.to)));
        }
        println!("sending a mail to {}", self.to);
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(format!("sent to {} by process {}", self.to, std::process::id()))
    }
}

/// Takes a mail in. It is sent later, whatever becomes of this request.
async fn post_mail(yard: web::Data<Yard>, mail: web::Json<SendMail>) -> HttpResponse {
    match yard.submit(mail.into_inner()).await {
        Ok(task) => HttpResponse::Accepted().json(json!({ "id": task.id() })),
        Err(refused) => refusal(&refused),
    }
}

/// Takes a mail in and waits until it was sent.
async fn send_mail(yard: web::Data<Yard>, mail: web::Json<SendMail>) -> HttpResponse {
    match yard.submit(mail.into_inner()).await {
        Ok(mut task) => match task.outcome().await {
            Ok(sent) => HttpResponse::Ok().json(json!({ "id": task.id(), "sent": sent })),
            Err(failed) => HttpResponse::BadGateway().json(json!({ "error": failed.to_string() })),
        },
        Err(refused) => refusal(&refused),
    }
}

/// The yard is full, drains or is down: that may pass, here or elsewhere. Anything else is the request's fault.
fn refusal(refused: &Refused<SendMail>) -> HttpResponse {
    let temporary = refused.why.is_temporary();
    let status = if temporary { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::BAD_REQUEST };
    HttpResponse::build(status).json(json!({ "error": refused.why.to_string() }))
}

fn main() -> anyhow::Result<()> {
    let registry = Registry::new().register::<SendMail>()?;
    // Worker processes are this program again: here they become workers and go no further.
    worker::run_if_worker(&registry);
    tracing_subscriber::fmt().init();
    let port = match std::env::args().nth(1) {
        Some(port) => port.parse().context("the port")?,
        None => 8080,
    };
    actix_web::rt::System::new().block_on(serve(registry, port))
}

async fn serve(registry: Registry, port: u16) -> anyhow::Result<()> {
    let pool = Pool::process("mail").pattern("app.mail.#").workers(1..=4).timeout(Duration::from_secs(30));
    let yard = Yard::builder().registry(registry).pool(pool).start()?;
    let data = web::Data::new(yard.clone());
    let app = move || {
        App::new()
            .app_data(data.clone())
            .route("/mails", web::post().to(post_mail))
            .route("/mails/now", web::post().to(send_mail))
    };
    println!("listening on 127.0.0.1:{port}");
    // Ends on ctrl-c at once, on SIGTERM once the requests under way are answered.
    HttpServer::new(app).workers(1).bind(("127.0.0.1", port))?.run().await?;
    let left = yard.drain().await?;
    println!("drained, {} tasks were left", left.len());
    Ok(())
}
