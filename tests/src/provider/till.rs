//! The provider's books: what happened, which keys it knows, what is still on its way.
//!
//! Must not know how it is asked. Everything here happens in one piece, at an instant of the test's clock.

use std::sync::Arc;

use idem_runtime::{Clock, Timestamp};
use serde_json::{Value, json};

use super::{Effect, Habits, KnownKey, Looking, Sending, http::Request};

/// The books.
#[derive(Debug)]
pub(super) struct Till {
    pub(super) habits: Habits,
    pub(super) sent: usize,
    pub(super) sent_under: Vec<String>,
    pub(super) looked_up: usize,
    pub(super) asked: Vec<String>,
    clock: Arc<dyn Clock>,
    happened: Vec<Effect>,
    on_their_way: Vec<Effect>,
    keys: Vec<Key>,
}

/// A key that came, and the refund that it led to.
#[derive(Debug)]
struct Key {
    text: String,
    first_at: Timestamp,
    reference: String,
}

/// What is answered; none for a connection that drops.
type Answer = Option<(u16, Value)>;

impl Till {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            habits: Habits::default(),
            sent: 0,
            sent_under: Vec::new(),
            looked_up: 0,
            asked: Vec::new(),
            clock,
            happened: Vec::new(),
            on_their_way: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Everything that has happened by now.
    pub(super) fn effects(&mut self) -> Vec<Effect> {
        let now = self.clock.now();
        let (arrived, rest) = std::mem::take(&mut self.on_their_way).into_iter().partition(|effect| effect.at <= now);
        self.on_their_way = rest;
        let arrived: Vec<Effect> = arrived;
        self.happened.extend(arrived);
        self.happened.clone()
    }

    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        self.effects();
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        self.asked.push(format!("{} {}", request.method, request.path));
        match (request.method.as_str(), path.strip_prefix("/refunds")) {
            ("POST", Some("")) => self.send(request),
            ("GET", Some(rest)) => self.look_up(rest.trim_start_matches('/'), query),
            _ => Some((405, json!({ "error": "no such thing here" }))),
        }
    }

    fn send(&mut self, request: &Request) -> Answer {
        self.sent += 1;
        self.sent_under.extend(request.key.clone());
        let sends = &mut self.habits.sends;
        let sending = if sends.is_empty() { Sending::Answered } else { sends.remove(0) };
        let late = match sending {
            Sending::Refused(status) => return Some((status, json!({ "error": "refused" }))),
            Sending::Dropped => return None,
            Sending::Late(span) => Some(span),
            Sending::Answered | Sending::Lost => None,
        };
        let now = self.clock.now();
        let key = request.key.clone().filter(|_| self.habits.keyed);
        let known = key.as_ref().and_then(|key| self.known(key, now));
        let (status, body) = match known {
            Some(_) if self.habits.known_key == KnownKey::Conflict => (409, json!({ "error": "already processed" })),
            Some(effect) => (200, written(&effect)),
            None => {
                let effect = self.made(request, late.map_or(now, |span| now.after(span)));
                if let Some(key) = key {
                    self.keys.push(Key { text: key, first_at: now, reference: effect.reference.clone() });
                }
                let body = written(&effect);
                let books = if late.is_some() { &mut self.on_their_way } else { &mut self.happened };
                books.push(effect);
                (201, body)
            }
        };
        (sending == Sending::Answered).then_some((status, body))
    }

    fn made(&self, request: &Request, at: Timestamp) -> Effect {
        let text = |name: &str| request.body[name].as_str().unwrap_or_default().to_owned();
        Effect {
            reference: format!("rf_{}", self.happened.len() + self.on_their_way.len() + 1),
            key: request.key.clone(),
            order: text("order"),
            cents: request.body["cents"].as_u64().unwrap_or_default(),
            recipient: text("recipient"),
            at,
        }
    }

    /// The refund under a key that has not been forgotten.
    fn known(&self, key: &str, now: Timestamp) -> Option<Effect> {
        let forgotten = |known: &Key| self.habits.forgets_after.is_some_and(|span| now >= known.first_at.after(span));
        let known = self.keys.iter().rev().find(|known| known.text == key && !forgotten(known))?;
        let mut all = self.happened.iter().chain(&self.on_their_way);
        all.find(|effect| effect.reference == known.reference).cloned()
    }

    fn look_up(&mut self, reference: &str, query: &str) -> Answer {
        self.looked_up += 1;
        match self.habits.lookups {
            Looking::Dropped => return None,
            Looking::Refused(status) => return Some((status, json!({ "error": "refused" }))),
            Looking::Answered => {}
        }
        let now = self.clock.now();
        let lag = self.habits.index_lag;
        let indexed: Vec<Effect> = self.happened.iter().filter(|effect| now >= effect.at.after(lag)).cloned().collect();
        if let Some(order) = query.strip_prefix("order=") {
            let found: Vec<Value> = indexed.iter().filter(|effect| effect.order == order).map(written).collect();
            return Some((200, json!({ "refunds": found })));
        }
        let key = query.strip_prefix("key=");
        let wanted = |effect: &&Effect| match key {
            Some(key) => effect.key.as_deref() == Some(key),
            None => effect.reference == reference,
        };
        Some(match indexed.iter().find(wanted) {
            Some(effect) => (200, written(effect)),
            None => (404, json!({ "error": "no such refund" })),
        })
    }
}

fn written(effect: &Effect) -> Value {
    let Effect { reference, order, cents, recipient, .. } = effect;
    json!({ "id": reference, "order": order, "cents": cents, "recipient": recipient })
}
