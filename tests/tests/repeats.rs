//! The token that makes an equal call a second effect: who gets one, what it does, and what it never does.

use std::sync::Arc;

use idem_runtime::{Idem, IdentityKey, OperationId, Outcome, Refusal, RefusalKind, RepeatToken, ToolCall, idempotent};
use idem_tests::{
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, every_store, every_store_with, memory},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.buy", classify = classify)]
async fn buy(
    call: &ToolCall,
    item: String,
    #[idem(content)] note: String,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    let _ = (call.number(), note);
    match item.as_str() {
        "declined" => Err(ToolError::Declined),
        "lost" => Err(ToolError::Timeout),
        _ => Ok(world.effect(item)),
    }
}

/// Takes what `buy` takes, and is another tool.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.rent", classify = classify)]
async fn rent(
    call: &ToolCall,
    item: String,
    #[idem(content)] note: String,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    let _ = (call.number(), note);
    Ok(world.effect(item))
}

#[idempotent(scope = "tenant", key = "template:lease-{item}", name = "test.lease")]
async fn by_template(call: &ToolCall, item: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(item))
}

async fn bought(setup: &Setup, call: &ToolCall, item: &str) -> Outcome<usize> {
    buy_outcome(call, item.into(), "please".into(), setup.world.clone()).await
}

fn token<T>(outcome: &Outcome<T>) -> Option<RepeatToken> {
    match outcome {
        Outcome::Succeeded(success) => success.told.replay.as_ref().and_then(|replay| replay.repeat),
        Outcome::Refused(_) => None,
    }
}

fn id<T>(outcome: &Outcome<T>) -> OperationId {
    outcome.operation().expect("an operation")
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// The replay of `tea` under a new id, and its token.
async fn replayed(setup: &Setup) -> (Outcome<usize>, RepeatToken) {
    assert!(!bought(setup, &setup.call_as("call_1", 1), "tea").await.is_replay());
    let replay = bought(setup, &setup.call_as("call_2", 2), "tea").await;
    let token = token(&replay).expect("a token");
    (replay, token)
}

#[tokio::test]
async fn r_k10_a_token_comes_with_equal_arguments_under_a_new_id_and_with_nothing_else() {
    for setup in every_store().await {
        let first = bought(&setup, &setup.call_as("call_1", 1), "tea").await;
        assert_eq!(token(&first), None, "what ran is no repeat");
        let same = bought(&setup, &setup.call_as("call_1", 1), "tea").await;
        assert_eq!((same.is_replay(), token(&same)), (true, None), "the same call again means the same");
        let new = bought(&setup, &setup.call_as("call_2", 2), "tea").await;
        assert!(new.is_replay() && token(&new).is_some(), "{}: {new:?}", setup.name());
        // A platform that lost the answer asks again, and is told the same.
        for _ in 0..3 {
            let same = bought(&setup, &setup.call_as("call_2", 2), "tea").await;
            assert_eq!((same.is_replay(), token(&same)), (true, token(&new)), "{}: {same:?}", setup.name());
        }
        let first = bought(&setup, &setup.call_as("call_1", 1), "tea").await;
        assert_eq!(token(&first), None, "still the first call, once more");
        let Outcome::Succeeded(success) = &new else { panic!("{new:?}") };
        let carried = bought(&setup, &setup.call().resume(Arc::clone(&success.told.record)), "tea").await;
        assert_eq!((carried.is_replay(), token(&carried)), (true, None), "a carried record names its operation");
        let without_id = bought(&setup, &setup.call(), "tea").await;
        assert_eq!((without_id.is_replay(), token(&without_id)), (true, None), "no id, no new id");
        // Not where the tool's key leaves no doubt, nor for what did not succeed.
        let call = setup.idem.call().tenant(TENANT);
        let by_template = async || by_template_outcome(&call, "flat".into(), setup.world.clone()).await;
        assert_eq!((token(&by_template().await), token(&by_template().await)), (None, None));
        for item in ["declined", "lost"] {
            for turn in 3..6 {
                assert_eq!(token(&bought(&setup, &setup.call_as("call", turn), item).await), None);
            }
        }
        assert_eq!(setup.world.effects(), ["tea", "flat"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_k10_a_token_is_one_more_effect_however_often_it_is_presented() {
    for setup in every_store().await {
        let (replay, token_of_2) = replayed(&setup).await;
        assert_eq!(setup.world.count("tea"), 1, "a token alone does nothing: {}", setup.name());
        let again = setup.call_as("call_2", 2).repeat(token_of_2);
        let second = bought(&setup, &again, "tea").await;
        assert!(!second.is_replay() && id(&second) != id(&replay), "{}: {second:?}", setup.name());
        assert_eq!(setup.world.count("tea"), 2);
        // Presented again: with the same call, under other ids, without one, in other words.
        for call in [again.clone(), setup.call_as("call_7", 7).repeat(token_of_2), setup.call().repeat(token_of_2)] {
            let third = bought(&setup, &call, "tea").await;
            assert_eq!((third.is_replay(), id(&third)), (true, id(&second)), "{}: {third:?}", setup.name());
        }
        let worded = buy_outcome(&again, "tea".into(), "thanks".into(), setup.world.clone()).await;
        assert!(worded.is_replay());
        assert_eq!(setup.world.count("tea"), 2, "{}", setup.name());
        // Without it the calls are still what they were.
        for call in [setup.call_as("call_1", 1), setup.call_as("call_2", 2)] {
            assert_eq!(id(&bought(&setup, &call, "tea").await), id(&replay));
        }
        // What is still called without it has its token still, and it leads to the same second effect.
        let asked_again = bought(&setup, &setup.call_as("call_2", 2), "tea").await;
        assert_eq!(token(&asked_again), Some(token_of_2), "{}", setup.name());
        // Another call that was a replay has a token of its own: a third effect.
        let other = bought(&setup, &setup.call_as("call_3", 3), "tea").await;
        let token_of_3 = token(&other).expect("a token");
        assert_ne!(token_of_3, token_of_2);
        let third = bought(&setup, &setup.call_as("call_3", 3).repeat(token_of_3), "tea").await;
        assert!(!third.is_replay() && id(&third) != id(&second));
        assert_eq!(setup.world.count("tea"), 3, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_k10_presented_by_many_at_the_same_moment_it_is_one_more_effect() {
    for setup in every_store().await {
        let (_, token) = replayed(&setup).await;
        let callers = (0..16).map(|turn| {
            let (call, world) = (setup.call_as("call", 100 + turn).repeat(token), setup.world.clone());
            tokio::spawn(async move { buy_outcome(&call, "tea".into(), "please".into(), world).await })
        });
        let callers: Vec<_> = callers.collect();
        let mut ran = 0;
        for caller in callers {
            ran += usize::from(!caller.await.expect("no panic").is_replay());
        }
        assert_eq!((ran, setup.world.count("tea")), (1, 2), "{}", setup.name());
    }
}

#[tokio::test]
async fn a_token_fits_one_tenant_one_tool_and_one_set_of_arguments() {
    for setup in every_store().await {
        let (_, token) = replayed(&setup).await;
        let before = (setup.operations().await, setup.world.effects());
        let call = setup.call_as("call_2", 2).repeat(token);
        let stranger = setup.idem.call().tenant("umbrella").conversation("c-1").tool_call_id("call_2").turn(2);
        let refused = [
            bought(&setup, &call, "coffee").await,
            rent_outcome(&call, "tea".into(), "please".into(), setup.world.clone()).await,
            bought(&setup, &stranger.clone().repeat(token), "tea").await,
        ];
        for refused in refused {
            let refused = refusal(refused);
            assert_eq!(refused.kind(), &RefusalKind::Invalid, "{}: {refused:?}", setup.name());
            assert!(refused.to_string().contains("the repeat token belongs to another call"), "{refused}");
        }
        assert_eq!((setup.operations().await, setup.world.effects()), before, "{}", setup.name());
        // The control arm: each of them without the token is accepted.
        assert!(bought(&setup, &setup.call_as("call_4", 4), "coffee").await.value().is_some());
        assert!(bought(&setup, &stranger, "tea").await.value().is_some());
        assert!(!bought(&setup, &call, "tea").await.is_replay());
    }
}

#[tokio::test]
async fn a_token_survives_its_text() {
    for setup in every_store().await {
        let (_, token) = replayed(&setup).await;
        let json = serde_json::to_string(&token).expect("JSON");
        let read: RepeatToken = serde_json::from_str(&json).expect("a token");
        assert_eq!((read, token.to_string().parse()), (token, Ok(token)));
        assert_eq!(json, format!("\"{token}\""));
        for broken in
            [json.replace("again_", "gain_"), json.replace('"', "\"0"), json[..json.len() - 2].to_owned() + "\""]
        {
            assert!(serde_json::from_str::<RepeatToken>(&broken).is_err(), "{broken}");
        }
        assert!(!bought(&setup, &setup.call_as("call_2", 2).repeat(read), "tea").await.is_replay());
        assert_eq!(setup.world.count("tea"), 2, "{}", setup.name());
    }
}

#[tokio::test]
async fn r_k10_nothing_that_the_model_writes_is_a_second_effect() {
    for setup in every_store().await {
        let (replay, token) = replayed(&setup).await;
        // It is not told its token, in any form.
        let digits = token.to_string().replace("again_", "");
        let read_by_model = [replay.to_model_text(), replay.to_json().to_string(), format!("{token:?}")];
        for text in read_by_model {
            assert!(
                ![&digits[..], &digits[..32], &digits[32..], "again_"].iter().any(|it| text.contains(it)),
                "{text}"
            );
        }
        assert!(!format!("{replay:?}").contains(&digits[..32]), "nor do logs have it");
        assert!(!setup.home.as_ref().is_some_and(|home| home.holds(&token.to_string())), "nor does the ledger");
        // And if it knew it, there is no place for it: not the call's id, not the words of the call.
        let text = token.to_string();
        let call = setup.call_as(&text, 9);
        let by_id = bought(&setup, &call, "tea").await;
        assert_eq!((by_id.is_replay(), id(&by_id)), (true, id(&replay)));
        let call = setup.call_as("call_10", 10);
        let by_words = buy_outcome(&call, "tea".into(), format!("again, {text}"), setup.world.clone()).await;
        assert_eq!((by_words.is_replay(), id(&by_words)), (true, id(&replay)));
        assert_eq!(setup.world.count("tea"), 1, "{}", setup.name());
    }
}

#[tokio::test]
async fn with_a_key_nobody_else_makes_a_token() {
    let key = |byte: u8| IdentityKey::new([byte; 32]).expect("long enough");
    for setup in every_store_with(|| Idem::builder().identity_key(key(1))).await {
        let (_, ours) = replayed(&setup).await;
        // Made for the same tenant, tool and arguments, by somebody with another key and by somebody without.
        for builder in [Idem::builder().identity_key(key(2)), Idem::builder()] {
            let (_, theirs) = replayed(&memory(builder).await).await;
            let refused = refusal(bought(&setup, &setup.call_as("call_2", 2).repeat(theirs), "tea").await);
            assert_eq!(refused.kind(), &RefusalKind::Invalid, "{}", setup.name());
        }
        assert_eq!(setup.world.count("tea"), 1);
        assert!(!bought(&setup, &setup.call_as("call_2", 2).repeat(ours), "tea").await.is_replay());
        assert_eq!(setup.world.count("tea"), 2, "{}", setup.name());
    }
}
