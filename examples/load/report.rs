//! What is printed at the end: a table for people, or one JSON object.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::basket::Drained;
use crate::cli::Cli;
use crate::delayed::Delayed;
use crate::host::{self, Host, Machine};
use crate::spans::Spans;
use crate::tally::Tally;

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// The findings in order, each with its name.
pub(crate) struct Report(Vec<(&'static str, Value)>);

impl Report {
    /// Of a run of tasks.
    pub(crate) fn load(cli: &Cli, tally: Tally, took: Duration, used: Host) -> Self {
        let tasks = tally.succeeded + tally.failed;
        let each = |span: Duration| rounded(span.as_secs_f64() * 1e6 / tasks.max(1) as f64);
        let mut report = Self::of(cli, if cli.idle { "idle" } else { "load" });
        report.say("tasks", tasks);
        report.say("failed", tally.failed);
        report.say("refused", tally.refused);
        report.say("seconds", rounded(took.as_secs_f64()));
        report.say("tasks_per_second", (tasks as f64 / took.as_secs_f64()).round() as u64);
        if tally.to_accepted.count() > 0 {
            report.say("submit_to_accepted_us", quantiles(&tally.to_accepted));
        }
        report.say("submit_to_start_us", quantiles(&tally.to_start));
        report.say("submit_to_outcome_us", quantiles(&tally.to_outcome));
        let processor = json!({"yard": each(used.yard.processor), "workers": each(used.workers.processor)});
        report.say("processor_us_per_task", processor);
        let peak = json!({"yard": used.yard.peak_bytes >> 10, "workers": used.workers.peak_bytes >> 10});
        report.say("peak_memory_kib", peak);
        report.with_machine(cli)
    }

    /// Of tasks that wait.
    pub(crate) fn delayed(cli: &Cli, delayed: Delayed) -> Self {
        let mut report = Self::of(cli, "delayed");
        report.say("tasks", delayed.tasks);
        report.say("body_bytes", delayed.body_bytes);
        report.say("grown_kib", delayed.grown_bytes >> 10);
        report.say("bytes_per_task_beyond_body", rounded(delayed.bytes_beyond_body()));
        report.say("resident_kib", delayed.resident_bytes >> 10);
        report.say("disk_bytes_per_task", rounded(delayed.disk_bytes as f64 / delayed.tasks as f64));
        report.say("posted_per_second", delayed.posted_per_second.round() as u64);
        report.say("posted_per_second_at_the_end", delayed.at_the_end_per_second.round() as u64);
        report.say("get_us", quantiles(&delayed.gets));
        report.say("cancel_us", quantiles(&delayed.cancels));
        report.with_machine(cli)
    }

    /// Of tasks that fell due.
    pub(crate) fn basket(cli: &Cli, drained: Drained) -> Self {
        let mut report = Self::of(cli, "basket");
        report.say("tasks", drained.tasks);
        report.say("posted_per_second", drained.posted_per_second.round() as u64);
        report.say("drained_per_second", drained.ended_per_second.round() as u64);
        report.say("early", drained.early);
        report.say("late_us", quantiles(&drained.late));
        report.say("grown_kib", drained.grown_bytes >> 10);
        report.say("urgent_us", drained.urgent_micros);
        report.with_machine(cli)
    }

    /// Of tasks that fell due while nobody was there.
    pub(crate) fn overdue(cli: &Cli, tasks: usize, first_start_micros: u64) -> Self {
        let mut report = Self::of(cli, "overdue");
        report.say("tasks", tasks);
        report.say("first_start_us", first_start_micros);
        report.with_machine(cli)
    }

    /// Prints it.
    pub(crate) fn print(self, json: bool) {
        if json {
            let findings: Map<_, _> =
                self.0.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            println!("{}", Value::Object(findings));
            return;
        }
        for (name, value) in self.0 {
            println!("{:<28}{}", name.replace('_', " "), shown(&value));
        }
    }

    fn of(cli: &Cli, mode: &str) -> Self {
        let mut report = Self(Vec::new());
        report.say("mode", mode);
        report.say("pool", cli.pool.name());
        report.say("workers", cli.workers);
        report.say("concurrency", cli.concurrency);
        report.say("ahead", cli.ahead);
        report.say("batch", cli.batch);
        report.say("open_batches", cli.open);
        report.say("rate", cli.rate);
        report.say("submitters", cli.submitters);
        report.say("store", cli.store.to_string());
        report.say("durability", format!("{:?}", cli.durability).to_lowercase());
        report.say("payload_bytes", cli.payload);
        report
    }

    fn say(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.push((name, value.into()));
    }

    /// A figure without its machine says little.
    fn with_machine(mut self, cli: &Cli) -> Self {
        if let Some(Ok(spans)) = cli.folder().map(|folder| host::disk_writes(&folder)) {
            self.say("fdatasync_us", quantiles(&spans));
        }
        if let Ok(Machine { cores, kernel, busy }) = Machine::look() {
            self.say("machine", json!({"cores": cores, "kernel": kernel, "load_average": busy}));
        }
        self
    }
}

fn quantiles(spans: &Spans) -> Value {
    let mut all: Map<String, Value> =
        QUANTILES.iter().map(|(name, part)| ((*name).to_owned(), spans.quantile(*part).into())).collect();
    all.insert("max".to_owned(), spans.max().into());
    Value::Object(all)
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(parts) => {
            let parts: Vec<_> = parts.iter().map(|(name, part)| format!("{name} {}", shown(part))).collect();
            parts.join(" · ")
        }
        other => other.to_string(),
    }
}
