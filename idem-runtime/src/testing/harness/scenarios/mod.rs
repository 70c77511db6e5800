//! The scenarios, one file a family. Each sets a case, lets something go wrong, and says what has to be true.
//!
//! Must not know on which tool it is played.

mod cancellation;
mod clocks;
mod drift;
mod identity;
mod negatives;
mod races;
mod recovery;
mod restarts;
mod results;
mod retries;

use super::{
    Scenario, cell,
    playing::{Part, Played, Playing},
    stage::Ground,
};
use crate::testing::Checkpoint;

/// Plays the scenario.
pub(super) async fn play<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    match it.scenario {
        Scenario::LostResponseThenRetry => retries::lost_response(it).await,
        Scenario::ResumeFromARecord => retries::resume_from_a_record(it).await,
        Scenario::FinalFailureThenRetry => retries::final_failure(it).await,
        Scenario::RetryStormOfFifty => retries::storm(it).await,
        Scenario::TwoDifferentCalls => identity::two_different_calls(it).await,
        Scenario::SameCallTwice => identity::same_call_twice(it).await,
        Scenario::Replanned => identity::replanned(it).await,
        Scenario::DeliberateRepeat => identity::deliberate_repeat(it).await,
        Scenario::OtherTenant => identity::other_tenant(it).await,
        Scenario::NoScope => identity::no_scope(it).await,
        Scenario::DriftOnEachArgument => drift::on_each_argument(it).await,
        Scenario::RaceOfTasks => races::of_tasks(it).await,
        Scenario::RaceOfProcesses => races::of_processes(it).await,
        Scenario::RetentionBoundary => clocks::retention_boundary(it).await,
        Scenario::LeaseEndsWhileSlow => clocks::lease_ends_while_slow(it).await,
        Scenario::LateOwner => clocks::late_owner(it).await,
        Scenario::DeadlineZero => clocks::deadline_zero(it).await,
        Scenario::RestartAndReconcile => restarts::restart_and_reconcile(it).await,
        Scenario::DroppedAtEveryPoll => cancellation::dropped_at_every_poll(it).await,
        Scenario::PanicInTheBody => cancellation::panic_in_the_body(it).await,
        Scenario::ResultTooLarge => results::too_large(it).await,
        Scenario::ResultNotDecodable => results::not_decodable(it).await,
        Scenario::RecoveryByProviderKey => recovery::by_provider_key(it).await,
        Scenario::RecoveryByLookup => recovery::by_asking(it, "lookup").await,
        Scenario::RecoveryBySearch => recovery::by_asking(it, "search").await,
        Scenario::RecoveryByWebhook => recovery::by_webhook(it).await,
        Scenario::RecoveryByOperator => recovery::by_operator(it).await,
        Scenario::MissingBusinessObject => negatives::missing_business_object(it).await,
        Scenario::RandomCallerKey => negatives::random_caller_key(it).await,
        Scenario::ReuseAfterProviderWindow => negatives::reuse_after_the_window(it).await,
        Scenario::KeyAcrossTenants => negatives::key_across_tenants(it).await,
        Scenario::ChangedAmount => drift::on_one_that_says(it, "amount", drift::AMOUNTS).await,
        Scenario::ChangedCurrency => drift::on_one_that_says(it, "currency", drift::CURRENCIES).await,
        Scenario::ChangedRecipient => drift::on_one_that_says(it, "recipient", drift::RECIPIENTS).await,
        Scenario::ChangedPermissionScope => negatives::changed_permission_scope(it).await,
        Scenario::ManualProviderAction => negatives::manual_provider_action(it).await,
        Scenario::SucceededWithoutReference => negatives::succeeded_without_reference(it).await,
        Scenario::RetryAfterDenial => negatives::retry_after_a_denial(it).await,
        Scenario::UnboundedReconciliation => negatives::unbounded_reconciliation(it).await,
        Scenario::FaultsAtValidate => cell::all_at(it, Checkpoint::Validate).await,
        Scenario::FaultsAtReserve => cell::all_at(it, Checkpoint::Reserve).await,
        Scenario::FaultsAtDispatch => cell::all_at(it, Checkpoint::Dispatch).await,
        Scenario::FaultsAtProviderCommit => cell::all_at(it, Checkpoint::ProviderCommit).await,
        Scenario::FaultsAtReceiveResponse => cell::all_at(it, Checkpoint::ReceiveResponse).await,
        Scenario::FaultsAtPersistResult => cell::all_at(it, Checkpoint::PersistResult).await,
        Scenario::FaultsAtReturn => cell::all_at(it, Checkpoint::Return).await,
    }
}

/// On the usual ledger, and with the feature `postgres` on a server too.
pub(super) async fn on_every_ground<S: Part, A: Part>(
    it: &Playing<'_, S, A>,
    play: impl AsyncFn(Ground) -> Played,
) -> Played {
    play(Ground::usual()).await?;
    if let Some(reason) = &it.fixture.without_postgres {
        it.note("on a PostgreSQL server".to_owned(), reason);
        return Ok(());
    }
    #[cfg(feature = "postgres")]
    {
        let cluster = crate::testing::postgres::Cluster::start().map_err(|error| it.broken(error.to_string()))?;
        let address = cluster.ledger().map_err(|error| it.broken(error.to_string()))?;
        // A scenario has few tenants, and each partition takes as long to make as the first.
        play(Ground::Postgres(address + "&idem_partitions=1")).await?;
    }
    Ok(())
}
