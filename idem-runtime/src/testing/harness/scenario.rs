//! The scenarios: one list, of which the enum and every generated suite are made.
//!
//! Must not know how a scenario is played.

use std::fmt;

/// The one list: test, variant, family, whether it is critical, and what it proves.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_scenarios {
    ([$($then:tt)+] $($with:tt)*) => {
        $($then)+! { $($with)*
            lost_response_then_retry LostResponseThenRetry "retries" critical
                "The response is lost after the effect; the call comes again: two attempts to call, one effect, one key.";
            resume_from_a_serialised_record ResumeFromARecord "retries" critical
                "A retry that carries the attempt record through JSON, under another id, is the same operation.";
            final_failure_then_retry FinalFailureThenRetry "retries" ordinary
                "What the provider declined for good is not sent again, and stays declined.";
            retry_storm_of_fifty RetryStormOfFifty "retries" critical
                "Fifty callers come again at once, after a lost response: one effect, nobody is misled.";
            two_different_calls_both_happen TwoDifferentCalls "identity" critical
                "Two calls that mean two effects in one scope have both.";
            same_call_twice_in_one_message SameCallTwice "identity" critical
                "The model emits one call twice in one response, under two ids: one effect.";
            replanned_with_a_new_id Replanned "identity" critical
                "The model plans the same call again in a later response: one effect.";
            deliberate_repeat_with_a_new_occurrence DeliberateRepeat "identity" ordinary
                "The platform means the same call a second time: two effects, each of them once.";
            other_tenant OtherTenant "identity" critical
                "The same call of another tenant is another operation, and sees nothing of the first.";
            no_scope NoScope "identity" critical
                "A call without the scope that the tool declares is refused before anything happens.";
            drift_on_each_argument DriftOnEachArgument "drift" critical
                "A retry with one argument changed is refused, has no effect, and leaves the operation as it was.";
            barrier_race_of_tasks RaceOfTasks "races" critical
                "Callers that start at a barrier have one effect and one result, every round.";
            barrier_race_of_processes RaceOfProcesses "races" critical
                "The same in processes that share nothing but the ledger.";
            retention_boundary RetentionBoundary "clocks" ordinary
                "One nanosecond before the end of retention the result is given; at it and after it, as declared.";
            lease_ends_while_the_provider_is_slow LeaseEndsWhileSlow "clocks" critical
                "A lease that ends during a slow request leads to an unknown outcome, not to a second request.";
            late_owner LateOwner "clocks" critical
                "An owner that comes back late changes no newer state; its result settles what was unknown.";
            deadline_zero DeadlineZero "clocks" ordinary
                "A call that has no time left is refused before anything happens.";
            restart_and_reconcile RestartAndReconcile "restarts" critical
                "The process is killed after the effect; the next one finds out before anybody tries again.";
            dropped_at_every_poll DroppedAtEveryPoll "cancellation" critical
                "The caller's future is dropped at each of its polls: one effect at most, and the truth afterwards.";
            panic_in_the_body PanicInTheBody "cancellation" critical
                "A body that panics after its effect leaves an unknown outcome, not a failure.";
            result_too_large ResultTooLarge "results" ordinary
                "A result that is too large to be kept: its repeat is told so, and has no effect.";
            result_that_cannot_be_decoded ResultNotDecodable "results" ordinary
                "A stored result that today's code cannot read: its repeat is told so, and has no effect.";
            recovery_by_provider_key RecoveryByProviderKey "recovery" critical
                "After a lost response the call is sent again under the provider's key: two requests, one effect.";
            recovery_by_lookup RecoveryByLookup "recovery" critical
                "The tool's look-up tells what happened, and that nothing did.";
            recovery_by_search RecoveryBySearch "recovery" critical
                "The tool's search tells what happened, and that nothing did.";
            recovery_by_webhook RecoveryByWebhook "recovery" ordinary
                "The provider tells by itself what it did, before or after anybody asks.";
            recovery_by_operator RecoveryByOperator "recovery" critical
                "What nobody could find out stays unknown until a person decides, and then all are told so.";
            negative_missing_business_object MissingBusinessObject "negatives" ordinary
                "A call whose key would have an empty part is refused.";
            negative_random_caller_key RandomCallerKey "negatives" critical
                "Ids that are made up for each call do not make new operations.";
            negative_reuse_after_the_providers_window ReuseAfterProviderWindow "negatives" critical
                "Once the provider may have forgotten the key, nothing is sent again under it.";
            negative_key_across_tenants KeyAcrossTenants "negatives" critical
                "One tenant's attempt record is of no use to another.";
            negative_changed_amount ChangedAmount "negatives" critical
                "The same operation with another amount is refused.";
            negative_changed_currency ChangedCurrency "negatives" critical
                "The same operation in another currency is refused.";
            negative_changed_recipient ChangedRecipient "negatives" critical
                "The same operation for another recipient is refused.";
            negative_changed_permission_scope ChangedPermissionScope "negatives" critical
                "The same operation under another principal's permission is refused.";
            negative_manual_provider_action ManualProviderAction "negatives" ordinary
                "What a person did by hand at the provider is found by the call, which does not do it again.";
            negative_succeeded_without_a_reference SucceededWithoutReference "negatives" ordinary
                "Where a reference is required, a success without one is not recorded as one.";
            negative_retry_after_a_denial RetryAfterDenial "negatives" ordinary
                "What the tool's own check denies reserves nothing and sends nothing, however often it comes.";
            negative_unbounded_reconciliation UnboundedReconciliation "negatives" critical
                "A provider that never tells is asked a bounded number of times; then a person is.";
            faults_at_validate FaultsAtValidate "faults" critical
                "Each fault before anything is reserved.";
            faults_at_reserve FaultsAtReserve "faults" critical
                "Each fault at the commit of the reservation.";
            faults_at_dispatch FaultsAtDispatch "faults" critical
                "Each fault on the way to the provider.";
            faults_at_provider_commit FaultsAtProviderCommit "faults" critical
                "Each fault after the effect, before a response was sent.";
            faults_at_receive_response FaultsAtReceiveResponse "faults" critical
                "Each fault when the response has arrived.";
            faults_at_persist_result FaultsAtPersistResult "faults" critical
                "Each fault at the commit of the result.";
            faults_at_return FaultsAtReturn "faults" critical
                "Each fault on the way to the caller.";
        }
    };
}

macro_rules! scenarios {
    ($($test:ident $variant:ident $family:literal $weight:ident $proves:literal;)+) => {
        /// What is played with a tool, each in a test of its own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Scenario {
            $(#[doc = $proves] $variant,)+
        }

        impl Scenario {
            /// Every scenario, in the order of a suite.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name of its test and of its record.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($test),)+ }
            }

            /// The family that it is listed under.
            pub const fn family(self) -> &'static str {
                match self { $(Self::$variant => $family,)+ }
            }

            /// Whether a failure of it lets effects be repeated or callers be misled about them.
            pub const fn is_critical(self) -> bool {
                match self { $(Self::$variant => scenarios!(@ $weight),)+ }
            }

            /// What it proves, in a sentence.
            pub const fn proves(self) -> &'static str {
                match self { $(Self::$variant => $proves,)+ }
            }
        }
    };
    (@ critical) => { true };
    (@ ordinary) => { false };
}

__idem_scenarios! { [scenarios] }

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A module with one test for each scenario, for a tool and its fixture. The paths are as they are seen from inside of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_suite {
    ($module:ident, $subject:expr, $fixture:expr $(,)?) => {
        #[cfg(test)]
        #[allow(clippy::all, clippy::pedantic, reason = "written by idem's harness")]
        mod $module {
            #[allow(unused_imports, reason = "the paths may need them")]
            use super::*;

            $crate::__idem_scenarios! { [$crate::__idem_tests] ($subject) ($fixture) }
        }
    };
}

/// The tests of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_tests {
    (($subject:expr) ($fixture:expr)
        $($test:ident $variant:ident $family:literal $weight:ident $proves:literal;)+) => {
        $crate::__idem_tests! { @ ($subject, $fixture) $($test $variant)+ }
    };
    (@ $with:tt $($test:ident $variant:ident)+) => {
        $(
            #[test]
            fn $test() {
                $crate::__idem_tests! { % $with $test $variant }
            }
        )+
    };
    (% ($subject:expr, $fixture:expr) $test:ident $variant:ident) => {
        $crate::testing::harness::play(
            concat!(module_path!(), "::", stringify!($test)),
            &$subject(),
            &$fixture(),
            $crate::testing::harness::Scenario::$variant,
        )
    };
}
