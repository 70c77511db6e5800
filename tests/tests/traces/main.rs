//! What recorded agents really asked for, run through guarded tools: which repeats ran, and what was held back.
//!
//! Every recorded write is called as it was; then each loses its answer after it was carried out, and is planned again under
//! a new id in a turn of its own. What counts is what the airline saw. It must not assume a trace beyond its lines:
//! `IDEM_TRACES_DIR` names other recordings, and `tests/traces` has a few of our own.

mod airline;
mod recorded;
mod tools;

use std::{fmt, sync::Arc};

use airline::{Airline, Answer, Desk};
use idem_runtime::{Idem, Outcome, RefusalKind, ToolCall};
use idem_tests::world::every_store;
use recorded::{Line, Meant, Write, writes};

/// How two calls are told to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// No guard at all: what the airline sees of the agents alone.
    None,
    Arguments,
    Id,
    IdInTurn,
    EitherWithoutTurns,
    Either,
    Resources,
    PaymentLeftOut,
}

impl Policy {
    const ALL: [Self; 8] = [
        Self::None,
        Self::Arguments,
        Self::Id,
        Self::IdInTurn,
        Self::EitherWithoutTurns,
        Self::Either,
        Self::Resources,
        Self::PaymentLeftOut,
    ];

    fn declared(self) -> [&'static str; 4] {
        match self {
            Self::None => ["no guard", "", "", ""],
            Self::Arguments => ["args", "no", "no", "no"],
            Self::Id => ["tool_call_id", "no", "no", "no"],
            Self::IdInTurn => ["tool_call_id", "yes", "no", "no"],
            Self::EitherWithoutTurns => ["tool_call_id|args", "no", "no", "no"],
            Self::Either => ["tool_call_id|args", "yes", "no", "no"],
            Self::Resources => ["tool_call_id|args", "yes", "yes", "no"],
            Self::PaymentLeftOut => ["tool_call_id|args", "yes", "yes", "payment"],
        }
    }

    fn turns(self) -> bool {
        !matches!(self, Self::Id | Self::EitherWithoutTurns)
    }

    /// Calls the recorded tool under this policy; `None` where it has no guard that could say anything.
    async fn dispatch(self, call: &ToolCall, line: &Line, desk: &Desk) -> Option<Outcome<Answer>> {
        let (tool, said) = (line.tool.as_str(), &line.args);
        Some(match self {
            Self::None => {
                drop(desk.ask(tools::name(tool), said.clone(), String::new()));
                return None;
            }
            Self::Arguments => tools::arguments::dispatch(call, tool, said, desk).await,
            Self::Id | Self::IdInTurn => tools::id::dispatch(call, tool, said, desk).await,
            Self::EitherWithoutTurns | Self::Either => tools::either::dispatch(call, tool, said, desk).await,
            Self::Resources => tools::resources::dispatch(call, tool, said, desk).await,
            Self::PaymentLeftOut => tools::payment_left_out::dispatch(call, tool, said, desk).await,
        })
    }
}

/// Whether answers get through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    Arrive,
    /// The first answer to each call is lost on the way from the airline; the model plans the call again.
    AreLost,
}

/// What a replay came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tally {
    wanted: Share,
    accidental: Share,
    /// Accidental repeats that changed something.
    accidental_changes: Vec<String>,
    collisions_blocked: Share,
    /// Calls that were no accidental repeats, and did not get to the airline.
    suppressed: Vec<String>,
    /// Lost answers of what was carried out, and how many of the calls planned anew were carried out again.
    carried_out_again: Share,
    /// Answers other than the airline's own: conflicts and the like.
    refused: usize,
}

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, counts: bool) {
        self.join(Self(usize::from(counts), 1));
    }

    fn join(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&format!("{}/{}", self.0, self.1))
    }
}

impl Tally {
    /// All conversations, at once; each in order.
    async fn of(idem: &Idem, policy: Policy, answers: Answers, conversations: &[Arc<Vec<Write>>]) -> Self {
        let mut running = Vec::new();
        for writes in conversations {
            // A tenant each: every recorded run began with an airline of its own.
            let name = &writes[0].line.conversation;
            let (airline, call) = (Airline::default(), idem.call().tenant(name.as_str()).conversation(name.as_str()));
            let writes = Arc::clone(writes);
            running.push(tokio::spawn(async move {
                let mut tally = Self::default();
                for write in &*writes {
                    tally.replay(&call, policy, answers, write, &airline).await;
                }
                tally
            }));
        }
        let mut all = Self::default();
        for one in running {
            all.join(one.await.expect("a conversation"));
        }
        all
    }

    fn join(&mut self, other: Self) {
        self.wanted.join(other.wanted);
        self.accidental.join(other.accidental);
        self.accidental_changes.extend(other.accidental_changes);
        self.collisions_blocked.join(other.collisions_blocked);
        self.suppressed.extend(other.suppressed);
        self.carried_out_again.join(other.carried_out_again);
        self.refused += other.refused;
    }

    /// One write. Calls of one message are made one after another, as they stand in it.
    async fn replay(&mut self, call: &ToolCall, policy: Policy, answers: Answers, write: &Write, airline: &Airline) {
        let line = &write.line;
        let lost = answers == Answers::AreLost;
        let desk = Desk { airline: airline.clone(), recorded: Arc::new(line.clone()), loses: lost };
        let named = call.clone().tool_call_id(line.id.as_str());
        let named = if policy.turns() { named.turn(line.message) } else { named };
        let before = airline.counts();
        let mut told = policy.dispatch(&named, line, &desk).await;
        let after = airline.counts();
        if lost {
            let again = call.clone().tool_call_id(format!("again_{}_{}", line.message, line.id));
            let again = if policy.turns() { again.turn(format!("after {}", line.message)) } else { again };
            told = policy.dispatch(&again, line, &Desk { loses: false, ..desk }).await;
            if after.effects > before.effects {
                self.carried_out_again.add(airline.counts().effects > after.effects);
            }
        }
        self.count(write, after.requests > before.requests, after.changes > before.changes, told);
    }

    fn count(&mut self, write: &Write, ran: bool, changed: bool, told: Option<Outcome<Answer>>) {
        let line = &write.line;
        let name = format!("{} message {} {}", line.conversation, line.message, line.tool);
        match write.meant {
            Meant::New => {}
            Meant::Wanted => self.wanted.add(ran),
            Meant::Accidental => {
                self.accidental.add(ran);
                self.accidental_changes.extend(changed.then(|| name.clone()));
            }
        }
        if write.collides {
            self.collisions_blocked.add(!ran);
        }
        if write.meant != Meant::Accidental && !ran {
            self.suppressed.push(name);
        }
        let declined = |outcome: Outcome<Answer>| match outcome.into_result() {
            Ok(_) => true,
            Err(refusal) => matches!(refusal.kind(), RefusalKind::FailedRetryable),
        };
        self.refused += usize::from(told.is_some_and(|told| !declined(told)));
    }

    fn row(&self, policy: Policy) -> String {
        let [key, turns, resources, content] = policy.declared();
        let again = self.carried_out_again;
        let prevented = if again.1 == 0 { String::new() } else { format!("{}/{}", again.1 - again.0, again.1) };
        format!(
            "| {key:17} | {turns:5} | {resources:9} | {content:7} | {:>10} | {:>14} | {:>7} | {:>10} | {:>10} | {prevented:>9} |",
            self.wanted,
            self.accidental,
            self.accidental_changes.len(),
            self.collisions_blocked,
            self.suppressed.len(),
        )
    }
}

const HEAD: &str = "| key               | turns | resources | content | wanted ran | accidental ran | changed | collisions \
                    | suppressed | prevented |";

async fn memory() -> Idem {
    Idem::open("memory:").await.expect("a ledger")
}

/// What the guarded tools have to come to, whatever the trace.
fn meets_the_target(tally: &Tally, on: &str) {
    assert_eq!(tally.wanted.0, tally.wanted.1, "{on}: wanted repeats ran");
    assert!(
        tally.accidental_changes.len() <= 1,
        "{on}: accidental repeats that changed something: {:?}",
        tally.accidental_changes
    );
    assert_eq!(tally.collisions_blocked.0, 0, "{on}: ids that are used again block nothing");
    assert_eq!(tally.suppressed, [""; 0], "{on}: what was no repeat ran");
    assert_eq!(tally.refused, 0, "{on}: every call is told the airline's own answer");
    assert_eq!(tally.carried_out_again.0, 0, "{on}: what was carried out is not carried out again");
}

#[tokio::test]
async fn recorded_writes_by_policy() {
    let conversations = writes();
    for answers in [Answers::Arrive, Answers::AreLost] {
        eprintln!("\nanswers {answers:?}\n{HEAD}");
        let mut tallies = Vec::new();
        for policy in Policy::ALL {
            let tally = Tally::of(&memory().await, policy, answers, &conversations).await;
            eprintln!("{}", tally.row(policy));
            tallies.push((policy, tally));
        }
        let of = |policy| &tallies.iter().find(|(one, _)| *one == policy).expect("all were replayed").1;
        eprintln!("changed something, with resources: {:?}", of(Policy::Resources).accidental_changes);
        eprintln!("held back, with the payment left out: {:?}", of(Policy::PaymentLeftOut).suppressed);
        meets_the_target(of(Policy::Resources), "memory");
        // The control arms. Without a guard every repeat runs, and every call that is planned anew does.
        let unguarded = of(Policy::None);
        assert!(unguarded.accidental.1 > 0 && unguarded.wanted.1 > 0 && unguarded.collisions_blocked.1 > 0);
        assert_eq!(unguarded.accidental.0, unguarded.accidental.1);
        assert_eq!(unguarded.carried_out_again.0, unguarded.carried_out_again.1);
        assert_eq!(unguarded.carried_out_again.1 > 0, answers == Answers::AreLost);
        assert!(unguarded.accidental_changes.len() > 1, "the airline notices a repeat that changes something");
        // What each declaration is for.
        assert_eq!(of(Policy::Arguments).wanted.0, 0, "arguments alone hold back what is wanted again");
        assert!(of(Policy::Id).collisions_blocked.0 > 0, "an id without its turn stands for other calls too");
        assert!(of(Policy::IdInTurn).accidental.0 > 0, "an id says nothing of a call that is planned anew");
        assert!(of(Policy::Either).wanted.0 < of(Policy::Resources).wanted.0, "resources tell what is wanted again");
    }
}

#[tokio::test]
async fn recorded_writes_come_to_the_same_in_every_store() {
    let conversations = writes();
    for answers in [Answers::Arrive, Answers::AreLost] {
        let mut first: Option<Tally> = None;
        for setup in every_store().await {
            let tally = Tally::of(&setup.idem, Policy::Resources, answers, &conversations).await;
            meets_the_target(&tally, setup.name());
            assert_eq!(*first.get_or_insert_with(|| tally.clone()), tally, "{}", setup.name());
        }
    }
}
