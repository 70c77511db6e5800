//! The provider itself, without a ledger: it does what its habits say, so that what is counted in its books can be trusted.

use std::time::Duration;

use idem_runtime::testing::TestClock;
use idem_tests::provider::{BankError, KnownKey, Looking, Provider, Refund, Sending};

use super::stage::{CENTS, ORDER, RECIPIENT};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

async fn send(provider: &Provider, key: &str) -> Result<Refund, BankError> {
    provider.bank().send(key, ORDER, CENTS, RECIPIENT).await
}

#[tokio::test]
async fn a_key_is_honoured_until_it_is_forgotten() {
    let clock = TestClock::default();
    let provider = Provider::start(&clock);
    provider.habits(|habits| habits.forgets_after = Some(DAY));
    let first = send(&provider, "k-1").await.expect("a refund");
    assert_eq!((first.id.as_str(), first.cents, first.recipient.as_str()), ("rf_1", CENTS, RECIPIENT));
    assert_eq!(send(&provider, "k-1").await.expect("the same"), first);
    clock.advance(SECOND * (24 * 3_600 - 1));
    assert_eq!(send(&provider, "k-1").await.expect("the same"), first);
    assert_eq!(provider.refunds_of(ORDER), 1);
    clock.advance(SECOND);
    assert_ne!(send(&provider, "k-1").await.expect("another"), first);
    assert_eq!((provider.sent(), provider.refunds_of(ORDER)), (4, 2));
    // Without keys every send is another refund.
    provider.habits(|habits| habits.keyed = false);
    send(&provider, "k-1").await.expect("another");
    assert_eq!(provider.refunds_of(ORDER), 3);
}

#[tokio::test]
async fn a_known_key_can_be_refused() {
    let provider = Provider::start(&TestClock::default());
    provider.habits(|habits| habits.known_key = KnownKey::Conflict);
    send(&provider, "k-1").await.expect("a refund");
    let refused = send(&provider, "k-1").await.expect_err("a conflict");
    assert!(matches!(&refused, BankError::Refused { status: 409, words } if words == "already processed"), "{refused}");
    assert_eq!(provider.refunds_of(ORDER), 1);
}

#[tokio::test]
async fn what_is_lost_happened_and_what_is_dropped_did_not() {
    let provider = Provider::start(&TestClock::default());
    provider.sends([Sending::Lost, Sending::Dropped, Sending::Refused(402)]);
    assert!(matches!(send(&provider, "k-1").await, Err(BankError::NoAnswer(_))));
    assert_eq!(provider.refunds_of(ORDER), 1);
    assert!(matches!(send(&provider, "k-2").await, Err(BankError::NoAnswer(_))));
    assert!(matches!(send(&provider, "k-3").await, Err(BankError::Refused { status: 402, .. })));
    assert_eq!((provider.sent(), provider.refunds_of(ORDER)), (3, 1));
}

#[tokio::test]
async fn what_is_late_happens_when_its_time_comes() {
    let clock = TestClock::default();
    let provider = Provider::start(&clock);
    provider.sends([Sending::Late(10 * SECOND)]);
    assert!(matches!(send(&provider, "k-1").await, Err(BankError::NoAnswer(_))));
    clock.advance(9 * SECOND);
    assert_eq!((provider.refunds_of(ORDER), provider.bank().by_key("k-1").await.expect("an answer")), (0, None));
    clock.advance(SECOND);
    assert_eq!(provider.refunds_of(ORDER), 1);
    assert!(provider.bank().by_key("k-1").await.expect("an answer").is_some());
}

#[tokio::test]
async fn it_is_asked_by_key_by_reference_and_by_order() {
    let clock = TestClock::default();
    let provider = Provider::start(&clock);
    provider.habits(|habits| habits.index_lag = 10 * SECOND);
    let bank = provider.bank();
    let refund = send(&provider, "k-1").await.expect("a refund");
    clock.advance(9 * SECOND);
    assert_eq!(bank.by_key("k-1").await.expect("an answer"), None, "the index lags");
    clock.advance(SECOND);
    assert_eq!(bank.by_key("k-1").await.expect("an answer"), Some(refund.clone()));
    assert_eq!(bank.by_reference("rf_1").await.expect("an answer"), Some(refund.clone()));
    assert_eq!(bank.of_order(ORDER).await.expect("an answer"), [refund]);
    assert_eq!(bank.by_key("k-2").await.expect("an answer"), None);
    assert_eq!(bank.by_reference("rf_2").await.expect("an answer"), None);
    assert_eq!(bank.of_order("A-2").await.expect("an answer"), []);
    for (lookups, status) in [(Looking::Refused(503), Some(503)), (Looking::Dropped, None)] {
        provider.lookups(lookups);
        match (bank.by_key("k-1").await, status) {
            (Err(BankError::Refused { status, .. }), Some(expected)) => assert_eq!(status, expected),
            (Err(BankError::NoAnswer(_)), None) => {}
            (answer, _) => panic!("{lookups:?}: {answer:?}"),
        }
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_is_sent() {
    let bank = Provider::start(&TestClock::default()).bank();
    let told = bank.send("k-1", ORDER, CENTS, RECIPIENT).await.expect_err("nobody listens");
    assert!(matches!(told, BankError::Unreachable(_)), "{told}");
}
