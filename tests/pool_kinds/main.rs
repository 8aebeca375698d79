//! One suite on each kind of pool: a handler sees the same yard, and the yard the same ends, wherever the handler runs. What
//! differs by design stands in [`kinds`], with the reason.

#[path = "../common/mod.rs"]
mod common;
mod drains;
mod ends;
mod handlers;
mod host_threads;
mod inside;
mod kinds;
mod limits;
mod processes;
mod records;
mod waiting;

/// Worker processes start here.
#[test]
fn worker_entry() {
    taskyard::worker::run_if_worker(&handlers::registry());
}

/// Makes a test of each behaviour on each kind, on a board in memory or on disk.
macro_rules! suite {
    (on: [$($kind:ident)*] $behaviours:tt) => {
        $(suite! { @kind $kind in_memory $behaviours })*
    };
    (on disk: [$($kind:ident)*] $behaviours:tt) => {
        mod on_disk { $(suite! { @kind $kind on_disk $behaviours })* }
    };
    (@kind $kind:ident $board:ident { $($file:ident: $($behaviour:ident)*;)* }) => {
        mod $kind {
            $($(
                #[tokio::test]
                async fn $behaviour() {
                    crate::$file::$behaviour(crate::kinds::$kind().$board()).await;
                }
            )*)*
        }
    };
}

suite! { on: [process blocking inline custom] {
    ends:
        a_task_gives_its_value
        an_error_is_tried_again_and_told_at_last
        a_retry_waits_for_its_pause_which_grows
        a_fatal_error_is_not_tried_again
        a_panic_is_a_failure_and_the_pool_goes_on
        a_panic_while_the_result_is_written_is_a_failure_too
        arguments_that_do_not_fit_are_not_tried_again
        a_snooze_is_no_attempt;
    records:
        each_end_counts_as_it_shall
        the_trash_keeps_the_reason_and_gives_the_task_back;
    limits:
        a_task_is_ended_when_its_time_is_up
        a_time_out_is_an_attempt_and_the_next_one_has_its_own
        a_running_task_tells_its_progress_and_is_cancelled
        a_task_that_hears_nothing_is_timed_out_and_its_slot_comes_back
        a_cancel_of_a_task_that_hears_nothing_ends_it_if_anything_can;
    waiting:
        with_one_slot_the_highest_priority_goes_first
        a_cancel_takes_out_what_waits
        what_expires_while_it_waits_never_runs;
    inside:
        what_is_submitted_once_is_there_once
        a_callback_follows_success_and_an_errback_failure
        a_task_does_not_rule_the_program_around_it;
    drains:
        a_drain_of_an_idle_yard_waits_for_nothing
        a_drain_lets_what_runs_end_and_gives_the_rest_back
        what_outlasts_the_grace_is_given_back
        what_a_drain_gave_back_goes_on_in_the_next_yard
        a_drain_asked_for_twice_is_one_drain
        what_a_running_task_submits_while_the_yard_drains_is_kept;
}}

// What is read from the board, or is there for the next yard.
suite! { on disk: [process blocking inline custom] {
    ends:
        a_retry_waits_for_its_pause_which_grows;
    records:
        each_end_counts_as_it_shall
        the_trash_keeps_the_reason_and_gives_the_task_back;
    inside:
        what_is_submitted_once_is_there_once
        a_callback_follows_success_and_an_errback_failure;
    drains:
        a_drain_lets_what_runs_end_and_gives_the_rest_back
        what_outlasts_the_grace_is_given_back
        what_a_drain_gave_back_goes_on_in_the_next_yard
        what_a_running_task_submits_while_the_yard_drains_is_kept;
}}
