//! What answers of a real server, and failures to get one, are taken for; and that nothing is sent again on that ground.
//!
//! Must not know the tables: what each case is to be stands here once more.

use std::{sync::Arc, time::Duration};

use idem_runtime::{
    EffectError, ErrorClass, Outcome, Refusal, ToolCall,
    http::{self, Statuses, Transport, Transports},
    idempotent,
};
use idem_tests::world::{Setup, every_store};

use self::http_table::{
    connector::Connector,
    provider::{Provider, Way},
};

mod http_table {
    //! What only these cases need; the folder beside this file.

    pub(crate) mod connector;
    pub(crate) mod provider;
}

#[derive(Debug, thiserror::Error, EffectError)]
enum PayError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{0}")]
    #[effect(transparent)]
    Http(#[from] reqwest::Error),
}

impl PayError {
    fn http(&self) -> &reqwest::Error {
        match self {
            Self::Http(error) => error,
            Self::Refused(refusal) => panic!("the body did not run: {refusal}"),
        }
    }
}

const PATIENCE: Duration = Duration::from_mins(1);

/// A client, and where it sends to.
#[derive(Debug, Clone)]
struct Bank {
    client: reqwest::Client,
    url: String,
}

impl Bank {
    /// Its client waits for a minute, so that a hang is a failure; a case may say otherwise.
    fn new(url: String, build: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> Self {
        let client = http::sends_once(reqwest::Client::builder()).no_proxy().timeout(PATIENCE);
        Self { client: build(client).build().expect("a client"), url }
    }

    async fn pay(&self, call: &idem_runtime::Attempt, order: String) -> Result<String, PayError> {
        let request = self.client.post(&self.url).header("idempotency-key", call.provider_key("pay").as_str());
        Ok(request.body(order).send().await?.error_for_status()?.text().await?)
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn pay(call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, PayError> {
    bank.pay(call, order).await
}

/// What a tool says that knows better: nothing happened where not a byte was written, and 503 is a refusal.
fn opted_in(error: &PayError) -> ErrorClass {
    const STATUSES: Statuses = Statuses::STANDARD.with(503, ErrorClass::Retryable);
    const TRANSPORTS: Transports = Transports::STANDARD.with(Transport::NotBegun, ErrorClass::Retryable);
    http::classify(error.http(), &STATUSES, &TRANSPORTS)
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = opted_in)]
async fn pay_knowing(call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, PayError> {
    bank.pay(call, order).await
}

/// Pays twice under one identity: the class of the first failure, where it came from, and what the second call is told.
async fn twice(setup: &Setup, bank: &Bank, order: &str) -> (ErrorClass, Transport, &'static str) {
    let call = setup.call_as(order, 1);
    let failed = pay(&call, order.to_owned(), bank.clone()).await.expect_err("no answer that is a success");
    let again = pay_outcome(&call, order.to_owned(), bank.clone()).await;
    let Outcome::Refused(again) = again else { panic!("{order}: no result to give: {again:?}") };
    (failed.effect_class(), Transport::of(failed.http()), again.kind().name())
}

const UNKNOWN: &str = "unknown_requires_reconciliation";
const RETRYABLE: &str = "failed_retryable";
const FINAL: &str = "failed_final";

#[tokio::test]
async fn r055_answers_are_taken_for_what_they_prove() {
    for setup in every_store().await {
        for (status, class, told, requests) in [
            (500, ErrorClass::Unknown, UNKNOWN, 1),
            (502, ErrorClass::Unknown, UNKNOWN, 1),
            (503, ErrorClass::Unknown, UNKNOWN, 1),
            (504, ErrorClass::Unknown, UNKNOWN, 1),
            (520, ErrorClass::Unknown, UNKNOWN, 1),
            (408, ErrorClass::Unknown, UNKNOWN, 1),
            (409, ErrorClass::Unknown, UNKNOWN, 1),
            (425, ErrorClass::Retryable, RETRYABLE, 2),
            (429, ErrorClass::Retryable, RETRYABLE, 2),
            (400, ErrorClass::Final, FINAL, 1),
            (402, ErrorClass::Final, FINAL, 1),
            (422, ErrorClass::Final, FINAL, 1),
        ] {
            let provider = Provider::start(Way::Answer(status)).await;
            let bank = Bank::new(provider.url(), |client| client);
            let order = format!("status {status}");
            let seen = twice(&setup, &bank, &order).await;
            assert_eq!(seen, (class, Transport::Other, told), "{order}");
            assert_eq!(provider.read.count(&order), requests, "{order}: {}", setup.name());
            assert_eq!(provider.connections(), requests, "{order}");
            // A second request is the operation's second attempt: the key is the same.
            let keys = provider.keys.effects();
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
            let acted = usize::from(!(400..500).contains(&status));
            assert_eq!(provider.acted.count(&order), acted, "{order}: never twice");
        }
    }
}

#[tokio::test]
async fn r055_a_request_that_was_never_sent_may_be_sent() {
    for setup in every_store().await {
        // Refused: nobody listens.
        let (down, socket) = Provider::down();
        let bank = Bank::new(down.url(), |client| client);
        let seen = twice(&setup, &bank, "refused").await;
        assert_eq!(seen, (ErrorClass::Retryable, Transport::Connecting, RETRYABLE));
        drop(socket);

        // No address.
        let bank = Bank::new("http://bank.invalid/".to_owned(), |client| client.dns_resolver(Arc::new(NoNames)));
        let seen = twice(&setup, &bank, "no address").await;
        assert_eq!(seen, (ErrorClass::Retryable, Transport::Connecting, RETRYABLE));

        // TLS fails: the server speaks plain text.
        let provider = Provider::start(Way::PlainText).await;
        let bank = Bank::new(provider.url(), |client| client.connector_layer(Connector::Tls(provider.address)));
        let seen = twice(&setup, &bank, "tls").await;
        assert_eq!(seen, (ErrorClass::Retryable, Transport::Connecting, RETRYABLE));
        assert_eq!((provider.connections(), provider.read.effects().len()), (2, 0), "once for each attempt");

        // Connecting takes too long.
        let provider = Provider::start(Way::Answer(200)).await;
        let bank = Bank::new(provider.url(), |client| {
            client.connector_layer(Connector::Stuck).connect_timeout(Duration::from_millis(20))
        });
        let seen = twice(&setup, &bank, "connect timeout").await;
        assert_eq!(seen, (ErrorClass::Retryable, Transport::Connecting, RETRYABLE));
        assert_eq!(provider.read.effects().len(), 0);

        // There is no request.
        let bank = Bank::new("no address at all".to_owned(), |client| client);
        let seen = twice(&setup, &bank, "built wrongly").await;
        assert_eq!(seen, (ErrorClass::Final, Transport::Building, FINAL));
    }
}

#[tokio::test]
async fn r055_what_may_have_arrived_is_not_sent_again() {
    for setup in every_store().await {
        for (way, transport) in [
            (Way::Reset, Transport::Other),
            (Way::Close, Transport::Closed),
            (Way::Babble, Transport::Other),
            (Way::HalfAnswer, Transport::Decoding),
        ] {
            let provider = Provider::start(way).await;
            let bank = Bank::new(provider.url(), |client| client);
            let order = format!("{way:?}");
            let seen = twice(&setup, &bank, &order).await;
            assert_eq!(seen, (ErrorClass::Unknown, transport, UNKNOWN), "{order}");
            assert_eq!((provider.read.count(&order), provider.acted.count(&order)), (1, 1), "{order}");
            assert_eq!(provider.connections(), 1, "{order}: {}", setup.name());
        }
        for reading in [false, true] {
            // A patience that is too short for this machine ends before the request is sent, which is another case: then
            // the client gets twice as long.
            let mut patience = Duration::from_millis(20);
            loop {
                let provider = Provider::start(Way::Silent).await;
                let bank = Bank::new(provider.url(), |client| {
                    if reading { client.read_timeout(patience) } else { client.timeout(patience) }
                });
                let order = format!("{patience:?} {reading}");
                let seen = twice(&setup, &bank, &order).await;
                assert_eq!(seen, (ErrorClass::Unknown, Transport::TimedOut, UNKNOWN), "{order}");
                if provider.connections() > 0 {
                    provider.done.arrived().await;
                }
                if provider.acted.count(&order) == 1 {
                    assert_eq!((provider.read.count(&order), provider.connections()), (1, 1), "{order}");
                    break;
                }
                patience *= 2;
            }
        }
    }
}

#[tokio::test]
async fn r055_a_tool_may_know_better_of_its_provider() {
    for setup in every_store().await {
        let provider = Provider::start(Way::Answer(503)).await;
        let bank = Bank::new(provider.url(), |client| client);
        let call = setup.call_as("503", 1);
        for attempt in 1..=2 {
            let told = pay_knowing_outcome(&call, "503".into(), bank.clone()).await;
            assert_eq!(told.to_json()["outcome"], RETRYABLE);
            assert_eq!(provider.read.count("503"), attempt);
        }
    }
}

#[tokio::test]
async fn r112_a_connection_that_closed_before_the_answer_proves_nothing() {
    for setup in every_store().await {
        // On a fresh connection, and on one that answered before, which clients like to send again on.
        for (way, fresh) in [(Way::Close, true), (Way::AnswerThenClose, false)] {
            let provider = Provider::start(way).await;
            let bank = Bank::new(provider.url(), |client| client);
            if !fresh {
                let before = pay(&setup.call_as("before", 1), "before".into(), bank.clone()).await;
                assert_eq!(before.expect("an answer"), "ok");
            }
            let order = format!("{way:?}");
            let call = setup.call_as(&order, 1);
            let failed = pay_knowing(&call, order.clone(), bank.clone()).await.expect_err("no answer");
            let words = format!("{:?}", failed.http());
            assert!(words.contains("IncompleteMessage"), "{words}");
            assert_eq!(Transport::of(failed.http()), Transport::Closed);
            assert_eq!((failed.effect_class(), opted_in(&failed)), (ErrorClass::Unknown, ErrorClass::Unknown));
            for _ in 0..2 {
                let told = pay_knowing_outcome(&call, order.clone(), bank.clone()).await;
                assert_eq!(told.to_json()["outcome"], UNKNOWN);
            }
            assert_eq!((provider.read.count(&order), provider.acted.count(&order)), (1, 1), "sent once");
            assert_eq!(provider.connections(), 1, "{order}: {}", setup.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r112_a_connection_closed_before_reading_is_definite_only_if_not_a_byte_went_and_the_tool_says_so() {
    for setup in every_store().await {
        // Whether the client writes before it sees the end is chance. Where it gave the request back untouched, a tool may
        // call that definite, and it is: not a byte came. Otherwise it cannot tell, and nor can the tool.
        for (round, way) in [Way::CloseUnread, Way::DropUnread].into_iter().cycle().take(100).enumerate() {
            let provider = Provider::start(way).await;
            // Now and then the client does not notice the end at all, and would wait for ever.
            let bank = Bank::new(provider.url(), |client| client.timeout(Duration::from_secs(2)));
            let order = format!("unread {round}");
            let call = setup.call_as(&order, 1);
            let failed = pay_knowing(&call, order.clone(), bank.clone()).await.expect_err("no answer");
            let untouched = Transport::of(failed.http()) == Transport::NotBegun;
            assert_eq!(failed.effect_class(), ErrorClass::Unknown, "{order}: the table does not take its word");
            assert_eq!(opted_in(&failed) == ErrorClass::Retryable, untouched, "{order}: {failed:?}");
            if Transport::of(failed.http()) == Transport::TimedOut {
                continue;
            }
            provider.done.arrived().await;
            assert!(!untouched || provider.unread() == 0, "{order}: {failed:?}");
            let told = pay_knowing_outcome(&call, order.clone(), bank.clone()).await;
            assert!(told.value().is_none());
            assert_eq!(provider.connections(), if untouched { 2 } else { 1 }, "{order}: {failed:?}");
        }
    }
}

/// A resolver that knows no name.
struct NoNames;

impl reqwest::dns::Resolve for NoNames {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async move { Err(format!("no address of {}", name.as_str()).into()) })
    }
}
