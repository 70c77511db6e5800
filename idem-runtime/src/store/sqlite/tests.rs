//! SQLite beside memory: the same commands, the same replies, the same records and everything beside them.
//!
//! The conformance suite says what is right; here nothing is, two stores are compared. And whether queries that have to be
//! fast use their indexes, which only this store has.

use std::{collections::BTreeSet, pin::pin, sync::Arc, task, time::Duration};

use super::{SqliteStore, evidence, listing, open, sweep};
use crate::identity::Source;
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    ledger::{
        AfterRetention, Alias, BeginReconcile, Begun, Bound, BoxFuture, Budget, Command, Decision, Detail, Ending,
        Event, Evidence, Find, Finding, Hold, Identity, Judge, Link, LinkKind, Listing, Reply, Reserve, Reserved,
        Resolution, Resolve, Scope, Settle, Silent, State, Step, Store, Stored, StoredKind, Sweep, Tally, Tool, decide,
    },
    store::MemoryStore,
};

/// A future that is ready at once, as those of both stores are.
fn now<T>(future: BoxFuture<'_, T>) -> T {
    match pin!(future).poll(&mut task::Context::from_waker(task::Waker::noop())) {
        task::Poll::Ready(value) => value,
        task::Poll::Pending => panic!("a store that blocks did not finish"),
    }
}

/// Numbers that look random: `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn coin(&mut self) -> bool {
        self.roll(2) == 0
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let sides = u64::try_from(all.len()).ok().filter(|sides| *sides > 0)?;
        all.get(usize::try_from(self.roll(sides)).ok()?).cloned()
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        self.coin().then_some(value)
    }

    fn digest(&mut self, kind: u8, sides: u64) -> [u8; 32] {
        let mut digest = [kind; 32];
        digest[0] = u8::try_from(self.roll(sides)).unwrap_or(0);
        digest
    }
}

/// Both stores, and what they have been told so far.
struct Pair {
    seed: u64,
    dice: Dice,
    at: Timestamp,
    sqlite: SqliteStore,
    memory: MemoryStore,
    reserves: Vec<Reserve>,
    operations: Vec<(Tenant, OperationId)>,
    /// Tenant, handle, token, number.
    grants: Vec<(Tenant, i64, i64, u32)>,
    begun: Vec<(Tenant, i64, i64)>,
    sweep: Sweep,
    /// Names of what has happened: events and states, and what replies are rare.
    happened: BTreeSet<String>,
    _folder: tempfile::TempDir,
}

const SECONDS: Duration = Duration::from_secs(30);

const SEEDS: u64 = 4;
const SEEDS_MAX: u64 = 40;

fn tenants() -> [Tenant; 2] {
    ["acme", "other"].map(|name| Tenant::new(name).expect("a name"))
}

fn tools() -> [Arc<Tool>; 2] {
    ["billing.refund", "billing.credit"]
        .map(|name| Arc::new(Tool { name: name.into(), version: 1, params: "order;".into() }))
}

impl Pair {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sqlite = SqliteStore::open(folder.path().join("idem.db")).expect("a ledger");
        // No test of power loss.
        sqlite.writer.pragma_update(None, "synchronous", "off").expect("a pragma");
        let tools = vec![Arc::clone(&tools()[0].name)];
        Self {
            seed,
            dice: Dice(seed),
            at: Timestamp::from_nanos(1_893_456_000_123_456_789),
            sqlite,
            memory: MemoryStore::new(),
            reserves: Vec::new(),
            operations: Vec::new(),
            grants: Vec::new(),
            begun: Vec::new(),
            sweep: Sweep { tools, records_max: 1_000, ..Sweep::default() },
            happened: BTreeSet::new(),
            _folder: folder,
        }
    }

    fn call(&mut self) -> Reserve {
        if self.dice.roll(3) > 0
            && let Some(mut again) = self.dice.of(&self.reserves)
        {
            again.nonce = if self.dice.coin() { again.nonce } else { self.dice.roll(u64::MAX) + 1 };
            again.budget = self.budget();
            return again;
        }
        let dice = &mut self.dice;
        let tenant = dice.of(&tenants()).expect("a tenant");
        let args = dice.digest(1, 4);
        let mut identities = vec![Identity { source: Source::Args, digest: args, generation: None }];
        if dice.coin() {
            identities.push(Identity { source: Source::ToolCallId, digest: dice.digest(2, 9), generation: None });
        }
        let scope = Scope { kind: "tenant".into(), value: None, digest: [tenant.as_str().as_bytes()[0]; 32] };
        let to = dice.of(&self.operations).map(|(_, operation)| operation);
        let kind = if dice.coin() { LinkKind::Compensates } else { LinkKind::Replaces };
        Reserve {
            tenant,
            principal: None,
            scope,
            tool: dice.of(&tools()).expect("a tool"),
            identities,
            resumed: None,
            fingerprint: args,
            parts: args[..8].into(),
            content: Arc::default(),
            window: dice.maybe(SECONDS),
            after_retention: if dice.coin() { AfterRetention::Tell } else { AfterRetention::Run },
            lease: SECONDS,
            nonce: dice.roll(u64::MAX) + 1,
            resend: dice.maybe(10 * SECONDS),
            paused: dice.roll(4) > 0,
            budget: None,
            retain: SECONDS * u32::try_from(dice.roll(20)).unwrap_or(1),
            needs_reference: dice.roll(4) == 0,
            approval: dice.maybe("board".into()),
            link: to.map(|to| Link { kind, to }).filter(|_| dice.coin()),
            resources: self.resources(),
            arguments: self.dice.maybe(Arc::from(*b"{\"order\":1}")),
        }
    }

    fn budget(&mut self) -> Option<Budget> {
        (self.dice.roll(4) == 0).then_some(Budget { attempts_max: 2, deadline: 20 * SECONDS })
    }

    fn resources(&mut self) -> Arc<[[u8; 32]]> {
        (0..self.dice.roll(3)).map(|_| self.dice.digest(3, 3)).collect()
    }

    fn reference(&mut self) -> Option<Arc<str>> {
        let number = self.dice.roll(100);
        self.dice.maybe(format!("rf_{number}").into())
    }

    fn stored(&mut self) -> Option<Stored> {
        let kind = StoredKind::from_code(u8::try_from(self.dice.roll(4)).ok()?)?;
        let bytes = format!("\"{}\"", self.dice.roll(100)).into_bytes().into();
        self.dice.maybe(Stored { kind, bytes })
    }

    fn finding(&mut self) -> Finding {
        match self.dice.roll(3) {
            0 => Finding::NotApplied,
            1 => Finding::Inconclusive,
            _ => Finding::Applied { stored: self.stored(), reference: self.reference() },
        }
    }

    fn settle(&mut self) -> Option<Command> {
        let (tenant, row, fence, attempt) = self.dice.of(&self.grants)?;
        let endings = [Ending::Ok, Ending::Ok, Ending::Retryable, Ending::Final, Ending::Unknown, Ending::NotStarted];
        Some(Command::Settle(Settle {
            tenant,
            row,
            fence,
            attempt,
            ending: self.dice.of(&endings)?,
            reference: self.reference(),
            stored: self.stored(),
            retain: SECONDS * u32::try_from(self.dice.roll(20)).ok()?,
            pause: if self.dice.roll(4) == 0 { SECONDS } else { Duration::ZERO },
            budget: self.budget(),
            resources: if self.dice.coin() { self.resources() } else { Arc::default() },
            looks: self.dice.coin(),
        }))
    }

    fn judge(&mut self) -> Option<Command> {
        let last = self.begun.last().cloned()?;
        let (tenant, row, fence) = if self.dice.coin() { last } else { self.dice.of(&self.begun)? };
        let step = |name| Step { name, said: "inconclusive", evidence: "nothing found".into() };
        Some(Command::Verdict(Box::new(Judge {
            tenant,
            row,
            fence,
            finding: self.finding(),
            steps: vec![step("lookup"), step("search")],
            counted: self.dice.coin(),
            bound: Bound { answered_max: 1, passes_max: 2 },
            spare_operators: self.dice.coin(),
            again_in: SECONDS,
            budget: self.budget(),
            resources: if self.dice.coin() { self.resources() } else { Arc::default() },
        })))
    }

    /// A record that is there, seen as it is, or as it was a moment before.
    fn seen(&mut self) -> Option<(Tenant, i64, u64)> {
        let (tenant, operation) = self.dice.of(&self.operations)?;
        let record = now(self.memory.reader().show(&tenant, operation)).expect("a read")?;
        Some((tenant, record.row, record.version - u64::from(self.dice.roll(8) == 0)))
    }

    fn resolve(&mut self) -> Option<Command> {
        let (tenant, row, version) = self.seen()?;
        let resolution = match self.dice.roll(3) {
            0 => Resolution::Retryable,
            1 => Resolution::Final,
            _ => Resolution::Succeeded { stored: self.stored(), reference: self.reference() },
        };
        let (actor, reason) = ("ada".into(), "looked it up".into());
        let evidence = self.dice.maybe("a statement".into());
        Some(Command::Resolve(Box::new(Resolve { tenant, row, version, actor, reason, evidence, resolution })))
    }

    fn evidence(&mut self) -> Option<Command> {
        let (tenant, operation) = if self.dice.coin() {
            self.dice.of(&self.operations)?
        } else {
            // One that may come later.
            let call = self.call();
            let Decision::Create { operation, .. } = decide(&call, &vec![None; call.identities.len()], self.at) else {
                return None;
            };
            (call.tenant, operation)
        };
        Some(Command::Evidence(Box::new(Evidence {
            tenant,
            operation,
            source: "webhook".into(),
            event: format!("evt_{}", self.dice.roll(6)).into(),
            actor: self.dice.maybe("ada".into()),
            finding: self.finding(),
            words: self.dice.maybe("settled".into()),
        })))
    }

    fn tally(&mut self) -> Option<Command> {
        let (tenant, row, ..) = self.dice.of(&self.grants)?;
        // No call's own: those get the generation that `decide` saw.
        let aliases = vec![Alias { source: Source::ToolCallId, digest: self.dice.digest(4, 9), generation: 1 }];
        let parameters = vec!["order".to_owned()];
        Some(Command::Tally(vec![Tally { tenant, row, replays: 1, drifts: self.dice.roll(2), parameters, aliases }]))
    }

    fn command(&mut self) -> Command {
        let command = match self.dice.roll(22) {
            0..=5 => self.settle(),
            6 => self
                .dice
                .of(&self.grants)
                .map(|(_, row, fence, _)| Command::Renew(vec![Hold { row, fence, lease: SECONDS }])),
            7 => self.tally(),
            8 => self.seen().map(|(tenant, row, version)| Command::EndLeases(vec![Silent { tenant, row, version }])),
            9..=11 => self.seen().map(|(tenant, row, version)| {
                let (lease, by_hand) = (SECONDS, self.dice.coin());
                Command::BeginReconcile(BeginReconcile { tenant, row, version, lease, by_hand })
            }),
            12..=13 => self.judge(),
            14 => self.resolve(),
            15..=16 => self.evidence(),
            17 => Some(Command::Purge { records_max: 3, tombstone: 2 * SECONDS }),
            _ => None,
        };
        command.unwrap_or_else(|| Command::Reserve(Arc::new(self.call())))
    }

    /// Applies a few commands to both.
    fn step(&mut self) {
        let commands: Vec<Command> = (0..=self.dice.roll(3)).map(|_| self.command()).collect();
        let memory = now(self.memory.apply(&commands, self.at)).expect("memory takes them");
        let sqlite = now(self.sqlite.apply(&commands, self.at)).expect("SQLite takes them");
        for ((command, memory), sqlite) in commands.iter().zip(&memory).zip(&sqlite) {
            assert_eq!(format!("{sqlite:#?}"), format!("{memory:#?}"), "seed {}, {command:#?}", self.seed);
        }
        for (command, reply) in commands.into_iter().zip(memory) {
            self.note(command, reply);
        }
        self.at = self.at.after(Duration::from_secs(self.dice.of(&[0, 0, 1, 20, 30, 400]).unwrap_or(0)));
    }

    fn note(&mut self, command: Command, reply: Reply) {
        match (command, reply) {
            (Command::Reserve(reserve), Reply::Reserved(reserved)) => {
                let operation = match reserved {
                    Reserved::Granted(grant) => {
                        self.grants.push((reserve.tenant.clone(), grant.row, grant.fence, grant.attempt));
                        grant.operation
                    }
                    Reserved::Found(answer) => answer.record.operation,
                    Reserved::Refused(conflict) => conflict.operation,
                };
                let of = (reserve.tenant.clone(), operation);
                if !self.operations.contains(&of) {
                    self.operations.push(of);
                }
                self.reserves.push(Reserve::clone(&reserve));
            }
            (Command::BeginReconcile(begin), Reply::Begun(Begun::Yours { fence, .. })) => {
                self.begun.push((begin.tenant, begin.row, fence));
            }
            _ => {}
        }
    }

    /// Whether everything can be read from both alike.
    fn compare(&mut self) {
        let (memory, sqlite) = (self.memory.reader(), self.sqlite.reader());
        for (tenant, operation) in &self.operations {
            let of_memory = now(memory.detail(tenant, *operation)).expect("a read");
            let of_sqlite = now(sqlite.detail(tenant, *operation)).expect("a read");
            assert_eq!(of_sqlite, of_memory, "seed {}", self.seed);
            let of_sqlite = now(sqlite.show(tenant, *operation)).expect("a read");
            assert_eq!(of_sqlite.as_ref(), of_memory.as_ref().map(|detail| &detail.record), "seed {}", self.seed);
            if let Some(detail) = of_memory {
                let events = detail.history.iter().map(|happened| &*happened.event);
                self.happened.extend(events.chain([detail.record.state.name()]).map(str::to_owned));
                let Detail { record, evidence, links, linked_from, arguments, .. } = &detail;
                let rare = [
                    ("never ran", record.attempt == 0),
                    ("in doubt", record.in_doubt),
                    ("in review", record.review),
                    ("evidence", evidence.len() > 1),
                    ("links", !links.is_empty()),
                    ("links back", linked_from.len() > 1),
                    ("arguments", arguments.is_some()),
                ];
                self.happened.extend(rare.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| (*name).to_owned()));
            }
        }
        for reserve in &self.reserves {
            let Reserve { tenant, scope, identities, .. } = reserve;
            let find = Find { tenant, scope: &scope.digest, identities };
            let [of_sqlite, of_memory] = [&sqlite, &memory].map(|reader| now(reader.find(find)).expect("a read"));
            assert_eq!(format!("{of_sqlite:#?}"), format!("{of_memory:#?}"), "seed {}", self.seed);
        }
        let states: Vec<State> = State::ALL.into_iter().filter(|_| self.dice.roll(3) > 0).collect();
        let unsettled: Vec<State> = states.iter().copied().filter(|state| state.is_unsettled()).collect();
        for states in [Vec::new(), states, unsettled] {
            let listing = Listing {
                states,
                in_review: self.dice.roll(3) == 0,
                before: self.dice.maybe(self.at.before(SECONDS)),
                after: i64::try_from(self.dice.roll(5)).unwrap_or(0),
                records_max: 4,
            };
            for tenant in tenants() {
                let [of_sqlite, of_memory] =
                    [&sqlite, &memory].map(|reader| now(reader.list(&tenant, &listing)).expect("a read"));
                assert_eq!(of_sqlite, of_memory, "seed {}, {listing:?}", self.seed);
            }
        }
        // Memory finds everything each time; SQLite goes on where it stood, and starts anew now and then.
        let swept = now(sqlite.sweep(&self.sweep, self.at)).expect("a read");
        let of_memory = now(memory.sweep(&self.sweep, self.at)).expect("a read");
        assert_eq!(swept.due, of_memory.due, "seed {}", self.seed);
        let few = Sweep { records_max: 1, ..swept.next.clone() };
        let first = now(sqlite.sweep(&few, self.at)).expect("a read").due;
        assert_eq!(first.first(), of_memory.due.first(), "the oldest comes first: seed {}", self.seed);
        self.sweep =
            if self.dice.roll(5) == 0 { Sweep { seen_to: 0, running: Vec::new(), ..swept.next } } else { swept.next };
    }
}

#[test]
fn memory_and_sqlite_tell_the_same() {
    let mut happened = BTreeSet::new();
    let states = State::ALL.into_iter().map(State::name);
    let rare = ["step", "never ran", "in doubt", "in review", "evidence", "links", "links back", "arguments"];
    let all: Vec<&str> = Event::ALL.into_iter().map(Event::name).chain(states).chain(rare).collect();
    let missing = |happened: &BTreeSet<String>| -> Vec<&str> {
        all.iter().copied().filter(|name| !happened.contains(*name)).collect()
    };
    // A comparison in which little happens would prove little: it goes on until everything has.
    for seed in 0..SEEDS_MAX {
        if seed >= SEEDS && missing(&happened).is_empty() {
            break;
        }
        let mut pair = Pair::new(seed);
        for _ in 0..80 {
            pair.step();
            pair.compare();
        }
        happened.append(&mut pair.happened);
    }
    assert!(missing(&happened).is_empty(), "never happened: {:?}", missing(&happened));
}

#[test]
fn what_is_open_is_found_by_its_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open::writer(&folder.path().join("idem.db")).expect("a ledger");
    let queries = [
        (listing::UNSETTLED, "INDEX idem_operations_unsettled (tenant=? AND rowid>?)"),
        (listing::IN_REVIEW, "INDEX idem_operations_review (tenant=? AND rowid>?)"),
        (listing::ANY, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (sweep::UNSETTLED, "INDEX idem_operations_unsettled"),
        (sweep::REOPENED, "INDEX idem_operations_reopened"),
        (sweep::STARTED, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (sweep::STILL_RUNNING, "USING INTEGER PRIMARY KEY (rowid=?)"),
        (evidence::ANYTHING, "INDEX idem_evidence_waiting"),
    ];
    for (query, index) in queries {
        let mut explain = db.prepare(&format!("explain query plan {query}")).expect("a query");
        let steps = explain.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>();
        let steps = steps.expect("a plan").join("\n");
        assert!(steps.contains(index), "{query}\n{steps}");
    }
}
