//! Carries a plan out: fills in what each command names, and compares after each batch.
//!
//! Must not decide what an answer should be: that is the stores' and the table's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use idem_runtime::{
    OperationId, Source, Tenant,
    ledger::{
        AfterRetention, BeginReconcile, Begun, Bound, Budget, Command, Decision, Digest, Ending, Evidence, Finding,
        Grant, Hold, Identity, Judge, Link, LinkKind, Record, Reply, Reserve, Reserved, Resolution, Resolve, Scope,
        Settle, Silent, Standing, State, Step as Tried, Stored, StoredKind, Sweep, Tool, decide,
    },
};

use super::{
    pair::Pair,
    plan::{
        AGAIN, DEADLINE, Decided, Found, KEY_WINDOW, LEASE, Plan, RETAIN, SLOTS, Step, TOMBSTONE, Token, WINDOW, What,
    },
    walk::{Seen, walk},
};

/// What there is of one operation at a time.
#[derive(Debug, Default)]
struct Slot {
    order: u8,
    ids: u8,
    operation: Option<OperationId>,
    grants: Vec<Grant>,
    /// Reconciliations: the record's handle and the token.
    passes: Vec<(i64, i64)>,
}

/// One plan on its way.
pub(crate) struct Case {
    pair: Pair,
    number: u32,
    tenant: Tenant,
    tool: Arc<Tool>,
    slots: [Slot; SLOTS],
    operations: BTreeSet<OperationId>,
    sweeps: [Sweep; 2],
    /// The version up to which each operation's walk was counted.
    told: BTreeMap<OperationId, u64>,
    said: u64,
}

impl Case {
    /// A case of its own: no other one has its tenant or its tool.
    pub(crate) fn new(pair: Pair, number: u32) -> Self {
        let name: Arc<str> = format!("tool {number}").into();
        let sweep = Sweep { tools: vec![Arc::clone(&name)], records_max: 1_000, ..Sweep::default() };
        Self {
            pair,
            number,
            tenant: Tenant::new(format!("tenant {number}")).expect("a name"),
            tool: Arc::new(Tool { name, version: 1, params: "order;note".into() }),
            slots: Default::default(),
            operations: BTreeSet::new(),
            sweeps: [sweep.clone(), sweep],
            told: BTreeMap::new(),
            said: 0,
        }
    }

    pub(crate) fn into_pair(self) -> Pair {
        self.pair
    }

    pub(crate) fn run(&mut self, plan: &Plan, seen: &mut Seen) -> Result<(), String> {
        for (at, batch) in plan.batches.iter().enumerate() {
            self.pair.now = self.pair.now.after(batch.pause);
            let (mut commands, mut replies) = (Vec::new(), Vec::new());
            for step in &batch.steps {
                let Some(command) = self.command(plan, &self.deeper(step)) else { continue };
                let reply = self.pair.first(&command)?;
                self.heard(step.slot, &command, &reply);
                commands.push(command);
                replies.push(reply);
            }
            let told = self.pair.second(&commands, &replies).and_then(|()| self.compare(seen));
            told.map_err(|wrong| format!("after batch {at}: {wrong}\nof {commands:#?}"))?;
        }
        Ok(())
    }

    fn compare(&mut self, seen: &mut Seen) -> Result<(), String> {
        let mut rows = BTreeSet::new();
        for operation in &self.operations {
            if let Some(detail) = self.pair.detail(&self.tenant, *operation)? {
                let told = self.told.entry(*operation).or_default();
                walk(&detail, *told, seen)?;
                *told = detail.record.version;
                rows.insert(detail.record.row);
            } else {
                self.told.remove(operation);
            }
        }
        let listed: BTreeSet<i64> = self.pair.listed(&self.tenant)?.into_iter().collect();
        if listed != rows {
            return Err(format!("{listed:?} are listed, and {rows:?} are there"));
        }
        // A walk that starts anew and one that goes on find the same.
        let tools = vec![Arc::clone(&self.tool.name)];
        let anew = Sweep { tools, records_max: 1_000, ..Sweep::default() };
        let [anew, goes_on] = [self.pair.swept(&mut [anew.clone(), anew])?, self.pair.swept(&mut self.sweeps)?];
        super::pair::agreed("what walks find that start anew and that go on", [anew, goes_on]).map(drop)
    }

    /// Learns from a reply what later commands may name.
    fn heard(&mut self, at: usize, command: &Command, reply: &Reply) {
        let slot = &mut self.slots[at];
        match (command, reply) {
            (_, Reply::Reserved(Reserved::Granted(grant))) => {
                if slot.operation != Some(grant.operation) {
                    slot.grants.clear();
                    slot.passes.clear();
                }
                slot.operation = Some(grant.operation);
                self.operations.insert(grant.operation);
                slot.grants.push(grant.clone());
            }
            (_, Reply::Reserved(Reserved::Found(answer))) => {
                let record = &answer.record;
                if slot.operation != Some(record.operation) {
                    slot.grants.clear();
                    slot.passes.clear();
                }
                slot.operation = Some(record.operation);
                self.operations.insert(record.operation);
            }
            (Command::BeginReconcile(begin), Reply::Begun(Begun::Yours { fence, .. })) => {
                slot.passes.push((begin.row, *fence));
            }
            _ => {}
        }
    }

    fn record(&self, at: usize) -> Option<Record> {
        self.pair.shown(&self.tenant, self.slots[at].operation?)
    }

    /// The step that leads on from where the slot's operation stands, for those that leave it open.
    fn deeper(&self, step: &Step) -> Step {
        let What::Deeper { resend, anew } = step.what else { return step.clone() };
        let reserve = What::Reserve { anew, new_id: false, resend, budget: None, nonce: 1 };
        let (token, found) = (Token::Last, Found::Inconclusive);
        let ending = if anew { Ending::Ok } else { Ending::Unknown };
        let unproved = What::Settle { token, ending, reference: false, stored: true, budget: None };
        let last = What::Verdict { token, found, counted: true, last: true, spare: false, budget: None, steps: 1 };
        let what = match self.record(step.slot).map(|record| record.standing()) {
            Some(Standing { state: State::InProgress, .. }) => unproved,
            Some(Standing { state: State::OutcomeUnknown, in_doubt }) if in_doubt || !resend => {
                What::Begin { stale: false, by_hand: false }
            }
            Some(Standing { state: State::Reconciling, .. }) => last,
            _ => reserve,
        };
        Step { slot: step.slot, what }
    }

    fn command(&mut self, plan: &Plan, step: &Step) -> Option<Command> {
        let at = step.slot;
        match step.what {
            What::Reserve { .. } => Some(Command::Reserve(Arc::new(self.reserve(plan, step)?))),
            What::Settle { token, ending, reference, stored, budget } => {
                let grant = self.grant(at, token)?;
                let kind = if ending == Ending::Ok { StoredKind::Value } else { StoredKind::Text };
                let words = self.words();
                Some(Command::Settle(Settle {
                    tenant: self.tenant.clone(),
                    row: grant.row,
                    fence: grant.fence,
                    attempt: grant.attempt,
                    ending,
                    // One that a failure told would prove every later success.
                    reference: (reference && ending == Ending::Ok).then(|| words.as_str().into()),
                    stored: stored.then(|| Stored { kind, bytes: words.as_bytes().into() }),
                    retain: RETAIN,
                    pause: if stored { LEASE / 3 } else { LEASE / 7 },
                    budget: budget.map(within),
                    resources: Arc::default(),
                    looks: true,
                }))
            }
            What::Renew { token } => {
                let grant = self.grant(at, token)?;
                Some(Command::Renew(vec![Hold { row: grant.row, fence: grant.fence, lease: LEASE }]))
            }
            What::Verdict { .. } => Some(Command::Verdict(Box::new(self.judge(step)?))),
            What::Evidence { event, found } => self.evidence(at, event, found),
            What::Purge { few } => {
                Some(Command::Purge { records_max: if few { 3 } else { 100_000 }, tombstone: TOMBSTONE })
            }
            What::EndLease { .. } | What::Begin { .. } | What::Resolve { .. } => self.on_a_version(step),
            What::Deeper { .. } => None,
        }
    }

    /// Commands that rest on the version of a record.
    fn on_a_version(&mut self, step: &Step) -> Option<Command> {
        let Record { row, version, .. } = self.record(step.slot)?;
        let tenant = self.tenant.clone();
        let seen = |stale: bool| version - u64::from(stale);
        Some(match step.what {
            What::EndLease { stale } => Command::EndLeases(vec![Silent { tenant, row, version: seen(stale) }]),
            What::Begin { stale, by_hand } => {
                Command::BeginReconcile(BeginReconcile { tenant, row, version: seen(stale), lease: LEASE, by_hand })
            }
            What::Resolve { stale, decided } => Command::Resolve(Box::new(Resolve {
                tenant,
                row,
                version: seen(stale),
                actor: "ada@example.com".into(),
                reason: self.words().into(),
                evidence: None,
                resolution: match decided {
                    Decided::Retryable => Resolution::Retryable,
                    Decided::Final => Resolution::Final,
                    Decided::Succeeded { result, reference } => {
                        let words = self.words();
                        Resolution::Succeeded {
                            stored: result.then(|| value(&words)),
                            reference: reference.then(|| words.as_str().into()),
                        }
                    }
                },
            })),
            _ => return None,
        })
    }

    fn reserve(&mut self, plan: &Plan, step: &Step) -> Option<Reserve> {
        let What::Reserve { anew, new_id, resend, budget, nonce } = step.what else { return None };
        let at = step.slot;
        let finished = self.record(at).is_some_and(|record| record.state.is_finished());
        let link = self.slots[0].operation.map(|to| Link { kind: LinkKind::Replaces, to }).filter(|_| at == 1);
        let slot = &mut self.slots[at];
        // What is finished makes room for the next one.
        slot.order += u8::from(anew && finished);
        slot.ids += u8::from(new_id);
        let shared = [[self.number.to_be_bytes()[3]; 32]];
        Some(Reserve {
            content: [nonce.to_be_bytes()[7]; 8].into(),
            nonce,
            resend: resend.then_some(KEY_WINDOW),
            paused: resend,
            budget: budget.map(within),
            needs_reference: plan.strict[at],
            link,
            resources: if plan.shares[at] { shared.into() } else { Arc::default() },
            arguments: (at == 0).then(|| b"{}".as_slice().into()),
            ..self.asked(at, self.slots[at].order)
        })
    }

    /// A call of the slot's operation with this number.
    fn asked(&self, at: usize, order: u8) -> Reserve {
        let number = u8::try_from(at).unwrap_or(u8::MAX);
        let identity = |source, last| {
            let mut digest = [0; 32];
            digest[..3].copy_from_slice(&[number, order, last]);
            Identity { source, digest, generation: None }
        };
        let fingerprint: Digest = [number + 1; 32];
        Reserve {
            tenant: self.tenant.clone(),
            principal: None,
            scope: Scope { kind: "tenant".into(), value: None, digest: [7; 32] },
            tool: Arc::clone(&self.tool),
            identities: vec![identity(Source::Args, 1), identity(Source::ToolCallId, 100 + self.slots[at].ids)],
            resumed: None,
            fingerprint,
            parts: fingerprint[..8].into(),
            content: Arc::default(),
            window: Some(WINDOW),
            after_retention: AfterRetention::Tell,
            lease: LEASE,
            nonce: 0,
            resend: None,
            paused: false,
            budget: None,
            retain: RETAIN,
            needs_reference: false,
            approval: Some("approval".into()),
            link: None,
            resources: Arc::default(),
            arguments: None,
        }
    }

    fn grant(&self, at: usize, token: Token) -> Option<Grant> {
        let grants = &self.slots[at].grants;
        let last = grants.last()?;
        Some(match token {
            Token::Last => last.clone(),
            Token::Older(before) => grants[grants.len().saturating_sub(before + 2)].clone(),
            Token::Foreign => Grant { fence: last.fence + 1_000_000, ..last.clone() },
        })
    }

    fn judge(&mut self, step: &Step) -> Option<Judge> {
        let What::Verdict { token, found, counted, last, spare, budget, steps } = step.what else { return None };
        let passes = &self.slots[step.slot].passes;
        let (row, newest) = *passes.last()?;
        let fence = match token {
            Token::Last => newest,
            Token::Older(before) => passes[passes.len().saturating_sub(before + 2)].1,
            Token::Foreign => newest + 1_000_000,
        };
        let max = if last { 1 } else { 9 };
        let names = ["provider_key", "lookup", "search"];
        let tried = |name| Tried { name, said: "inconclusive", evidence: "no answer".into() };
        Some(Judge {
            tenant: self.tenant.clone(),
            row,
            fence,
            finding: self.finding(found),
            steps: names.into_iter().take(steps).map(tried).collect(),
            counted,
            bound: Bound { answered_max: max, passes_max: max },
            spare_operators: spare,
            again_in: AGAIN,
            budget: budget.map(within),
            resources: Arc::default(),
        })
    }

    /// Evidence is about the slot's operation; before there is one, and now and then, about the one that comes next.
    fn evidence(&mut self, at: usize, event: usize, found: Found) -> Option<Command> {
        let Slot { order, operation, .. } = self.slots[at];
        let next = self.asked(at, order + u8::from(operation.is_some()));
        let first = decide(&next, &[None, None], self.pair.now);
        let ((Some(operation), _) | (None, Decision::Create { operation, .. })) =
            (operation.filter(|_| event < 5), first)
        else {
            return None;
        };
        self.operations.insert(operation);
        Some(Command::Evidence(Box::new(Evidence {
            tenant: self.tenant.clone(),
            operation,
            source: "bank".into(),
            event: format!("event {event}").into(),
            actor: (event == 0).then(|| "ada@example.com".into()),
            finding: self.finding(found),
            words: (event == 1).then(|| "in words".into()),
        })))
    }

    fn finding(&mut self, found: Found) -> Finding {
        match found {
            Found::NotApplied => Finding::NotApplied,
            Found::Inconclusive => Finding::Inconclusive,
            Found::Applied { result, reference } => {
                let words = self.words();
                Finding::Applied {
                    stored: result.then(|| value(&words)),
                    reference: reference.then(|| words.as_str().into()),
                }
            }
        }
    }

    /// Words that nobody said before.
    fn words(&mut self) -> String {
        self.said += 1;
        format!("\"{} {}\"", self.number, self.said)
    }
}

fn value(json: &str) -> Stored {
    Stored { kind: StoredKind::Value, bytes: json.as_bytes().into() }
}

fn within(attempts_max: u32) -> Budget {
    Budget { attempts_max, deadline: DEADLINE }
}
