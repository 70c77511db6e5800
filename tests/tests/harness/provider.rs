//! The provider itself: its habits, what goes wrong on the way, the log that several share; in process and over HTTP.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use idem_runtime::{
    ErrorClass,
    testing::{Checkpoint, Fault, Habits, Provider, ProviderError, Request, Sandbox, TestClock},
};

const DAY: Duration = Duration::from_hours(24);

fn provider(folder: &Path, habits: Habits) -> (Provider, TestClock) {
    let clock = TestClock::default();
    (Provider::at(folder.join("provider.jsonl"), &clock, habits), clock)
}

fn refund(key: &str) -> Request {
    Request::of("refund").object("A-1").recipient("mia").key(key).field("cents", 4_900)
}

#[tokio::test]
async fn it_does_as_often_as_it_is_told_unless_it_has_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, clock) = provider(folder.path(), Habits::default());
    for _ in 0..2 {
        assert!(!provider.commit(refund("k")).await.expect("an effect").known);
    }
    assert_eq!(provider.effects().expect("a log").len(), 2);
    provider.behave(|habits| habits.keyed(DAY));
    let known = provider.commit(refund("k")).await.expect("the first one");
    assert_eq!((known.known, known.reference.as_str(), known.number("cents")), (true, "fx_1", 4_900));
    let changed = provider.commit(refund("k").field("cents", 9_400)).await;
    assert_eq!(changed.expect_err("another request").class(), ErrorClass::Final);
    // The window ends on the instant.
    clock.advance(DAY.saturating_sub(Duration::from_nanos(1)));
    assert!(provider.commit(refund("k")).await.expect("it remembers").known);
    clock.advance(Duration::from_nanos(1));
    assert!(!provider.commit(refund("k")).await.expect("it has forgotten").known);
    assert_eq!((provider.effects().expect("a log").len(), provider.requests().expect("a log").len()), (3, 6));
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_is_told_as_what_it_proves() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, _) = provider(folder.path(), Habits::default());
    let cases = [
        (Checkpoint::Dispatch, Fault::Error, ProviderError::Busy, 0),
        (Checkpoint::Dispatch, Fault::Timeout, ProviderError::TimedOut, 0),
        (Checkpoint::ProviderCommit, Fault::LostResponse, ProviderError::NoAnswer, 1),
        (Checkpoint::ProviderCommit, Fault::Reset, ProviderError::Reset, 1),
        (Checkpoint::ReceiveResponse, Fault::CorruptResponse, ProviderError::Garbage, 1),
    ];
    for (at, fault, error, effects) in cases {
        let before = provider.effects().expect("a log").len();
        provider.strike(at, fault, 1);
        assert_eq!(provider.commit(refund("k")).await, Err(error.clone()), "{at} {fault}");
        assert_eq!(provider.effects().expect("a log").len() - before, effects, "{at} {fault}");
        let proof = error.class() != ErrorClass::Unknown;
        assert!(!proof || effects == 0, "{at} {fault}: an error that proves has no effect");
    }
    let before = provider.effects().expect("a log").len();
    provider.strike(Checkpoint::Dispatch, Fault::DuplicateDelivery, 1);
    provider.commit(refund("k")).await.expect("an effect");
    assert_eq!(provider.effects().expect("a log").len() - before, 2);
    provider.behave(|habits| habits.declines("closed"));
    assert_eq!(provider.commit(refund("k")).await.expect_err("no").class(), ErrorClass::Final);
}

#[tokio::test]
async fn it_can_be_asked_once_its_index_has_seen_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, clock) = provider(folder.path(), Habits::default().lags(Duration::from_mins(1)));
    provider.commit(refund("k")).await.expect("an effect");
    assert_eq!(provider.lookup("k").await, Ok(None));
    clock.advance(Duration::from_mins(1));
    assert!(provider.lookup("k").await.is_ok_and(|found| found.is_some()));
    assert!(provider.search("A-1").await.is_ok_and(|found| found.is_some()));
    assert!(provider.by_reference("fx_1").await.is_ok_and(|found| found.is_some()));
    assert_eq!(provider.search("A-2").await, Ok(None));
    provider.behave(|habits| habits.without_lookup().without_search());
    assert_eq!(provider.lookup("k").await, Err(ProviderError::Unavailable));
    assert_eq!(provider.search("A-1").await, Err(ProviderError::Unavailable));
}

#[tokio::test]
async fn whoever_names_its_file_sees_one_provider_and_one_effect_a_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let tellers: Vec<_> = (0..8)
        .map(|_| {
            let (provider, _) = provider(folder.path(), Habits::default().keyed(DAY));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                for nth in 0..10 {
                    runtime.block_on(provider.commit(refund(&format!("k{nth}")))).expect("an effect");
                }
            })
        })
        .collect();
    for teller in tellers {
        teller.join().expect("no panic");
    }
    let (provider, _) = provider(folder.path(), Habits::default());
    assert_eq!((provider.effects().expect("a log").len(), provider.requests().expect("a log").len()), (10, 80));
    assert_eq!(Sandbox::effects(&provider).expect("effects").len(), 10);
    provider.clean_up().expect("an empty log");
    assert!(provider.effects().expect("a log").is_empty());
}

/// One request over HTTP: status line and body; nothing where the connection ends without an answer.
fn ask(url: &str, method: &str, path: &str, key: &str, body: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").expect("an address")).expect("a connection");
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: x\r\nidempotency-key: {key}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

#[test]
fn over_http_it_has_the_same_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, _) = provider(folder.path(), Habits::default().keyed(DAY));
    let url = provider.url().expect("a port");
    assert_eq!(provider.url().expect("the same"), url);
    let body = r#"{"object":"A-1","recipient":"mia","fields":{"cents":4900}}"#;
    let post = |key: &str| ask(&url, "POST", "/effects/refund", key, body);
    assert!(post("k").expect("an answer").0.contains("201"));
    let (status, known) = post("k").expect("an answer");
    assert!(status.contains("200") && known.contains("\"known\":true") && known.contains("fx_1"), "{known}");
    provider.strike(Checkpoint::ProviderCommit, Fault::LostResponse, 1);
    assert_eq!(post("k2"), None, "the answer is lost");
    provider.strike(Checkpoint::ReceiveResponse, Fault::CorruptResponse, 1);
    let (_, garbage) = post("k3").expect("an answer");
    assert!(serde_json::from_str::<serde_json::Value>(&garbage).is_err(), "{garbage}");
    provider.strike(Checkpoint::Dispatch, Fault::Error, 1);
    assert!(post("k4").expect("an answer").0.contains("503"));
    assert_eq!(provider.effects().expect("a log").len(), 3);
    let found = ask(&url, "GET", "/effects?key=k2", "", "").expect("an answer");
    assert!(found.0.contains("200") && found.1.contains("fx_2"), "{found:?}");
    assert!(ask(&url, "GET", "/effects?object=A%2D9", "", "").expect("an answer").0.contains("404"));
    provider.behave(|habits| habits.declines("closed"));
    assert!(post("k5").expect("an answer").0.contains("422"));
    provider.behave(Habits::without_search);
    assert!(ask(&url, "GET", "/effects?object=A-1", "", "").expect("an answer").0.contains("501"));
}
