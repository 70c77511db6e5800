//! What calls look for: whatever waits while a connection is busy is answered by one statement, each question as if alone.
//!
//! Must not know who asks, nor why. Many callers' replays cost few statements: most of what a small one costs is the way to
//! the server and back, its parsing and its planning.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, PgConnection, postgres::PgRow};
use tokio::sync::oneshot;

use super::{
    failure::{is_of_data, nothing},
    number,
    read::{self, get, whole_record_in},
    readers::{Pool, Unread},
    script::Rows,
    text::text,
};
use crate::{
    id::Tenant,
    identity::{Digest, Identity},
    ledger::{Find, Found, Match, StoreError},
};

/// How many connections answer at once: while one's answers are on their way and are read, the server works on the next ones.
/// More would only make smaller statements of the same questions.
const CONNECTIONS_MAX: usize = 2;

/// From so many questions on the other connection begins. Those who are answered together ask together again: the first of them
/// would take it for itself, again and again.
const QUESTIONS_MIN: usize = 16;

/// A statement begins no further group behind so many questions: each may bring a result of a megabyte.
const QUESTIONS_MAX: usize = 256;

/// One message, so one way to the server and back, and nothing of it is left to a pooler between two connections. It has no
/// parameters: those need a second message. `read write`, because a standby refuses it: what it has may be old.
const BEFORE: &str = "begin isolation level read committed read write; ";

/// What waits for a connection.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Group>,
    /// Of all groups.
    questions: usize,
    /// Connections that are answering.
    busy: usize,
}

/// Questions that were asked together, and are answered together.
#[derive(Debug)]
pub(super) struct Group {
    questions: Vec<Question>,
    reply: oneshot::Sender<Vec<Found>>,
}

#[derive(Debug)]
struct Question {
    tenant: Tenant,
    scope: Digest,
    identities: Vec<Identity>,
}

/// What whoever has asked does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Starts to [`answer`].
    Answer,
    /// Waits.
    Wait,
}

impl Group {
    /// These questions, and where their answers arrive.
    pub(super) fn new(finds: &[Find<'_>]) -> (Self, oneshot::Receiver<Vec<Found>>) {
        let (reply, answers) = oneshot::channel();
        let question = |find: &Find<'_>| Question {
            tenant: find.tenant.clone(),
            scope: *find.scope,
            identities: find.identities.to_vec(),
        };
        (Self { questions: finds.iter().map(question).collect(), reply }, answers)
    }
}

impl Asked {
    pub(super) fn push(&self, group: Group) -> Next {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.questions += group.questions.len();
        queue.waiting.push(group);
        if queue.busy == 0 || queue.busy < CONNECTIONS_MAX && queue.questions >= QUESTIONS_MIN {
            queue.busy += 1;
            return Next::Answer;
        }
        Next::Wait
    }

    /// What is to be answered next; nothing, when the connection is free again.
    fn next(&self) -> Vec<Group> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut groups, mut questions) = (0, 0);
        for group in &queue.waiting {
            if questions >= QUESTIONS_MAX {
                break;
            }
            groups += 1;
            questions += group.questions.len();
        }
        if groups == 0 {
            queue.busy -= 1;
        }
        queue.questions -= questions;
        queue.waiting.drain(..groups).collect()
    }
}

/// Answers until nothing is asked any more.
pub(super) async fn answer(asked: Arc<Asked>, pool: Arc<Pool>) {
    loop {
        let groups = asked.next();
        if groups.is_empty() {
            return;
        }
        let (mut questions, mut replies) = (Vec::new(), Vec::with_capacity(groups.len()));
        for group in groups {
            replies.push((group.questions.len(), group.reply));
            questions.extend(group.questions);
        }
        let pool = Arc::clone(&pool);
        // A task of its own: whatever befalls it, the next ones are answered.
        let Ok(found) = tokio::spawn(async move { find(&pool, &questions).await }).await else { continue };
        let mut found = found.into_iter();
        for (many, reply) in replies {
            // Whoever asked may be gone.
            let _ = reply.send(found.by_ref().take(many).collect());
        }
    }
}

async fn find(pool: &Pool, questions: &[Question]) -> Vec<Found> {
    let failed = |error: StoreError| questions.iter().map(|_| Err(error.clone())).collect();
    match together(pool, questions).await {
        Ok(found) => found,
        Err(Unread::Failed(error)) if questions.len() > 1 && is_of_data(&error) => {
            // One of them is to blame.
            let mut found = Vec::with_capacity(questions.len());
            for question in questions {
                match together(pool, std::slice::from_ref(question)).await {
                    Ok(alone) => found.extend(alone),
                    Err(error) => found.push(Err(error.into_error())),
                }
            }
            found
        }
        Err(error) => failed(error.into_error()),
    }
}

/// The answers of one statement.
async fn together(pool: &Pool, questions: &[Question]) -> Result<Vec<Found>, Unread> {
    let (lines, places) = Lines::of(questions);
    let many = lines.all.len();
    let statement: Arc<str> = lines.statement().into();
    let found = pool.with(|db| {
        let statement = Arc::clone(&statement);
        Box::pin(async move { if many == 0 { Ok(Vec::new()) } else { read(db, statement, many).await } })
    });
    let found = found.await?;
    let answer = |places: &Vec<usize>| places.iter().map(|line| found[*line].clone().transpose()).collect();
    Ok(places.iter().map(answer).collect())
}

/// What each line leads to. What cannot be understood is a failure of the lines that lead there.
async fn read(
    db: &mut PgConnection,
    statement: Arc<str>,
    many: usize,
) -> Result<Vec<Option<Result<Match, StoreError>>>, sqlx::Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(statement)).fetch_all(db).await?;
    let place = |row: &PgRow| Ok::<_, sqlx::Error>((get::<i64>(row, "place")?, get::<i64>(row, "handle")?));
    let mut records = FxHashMap::default();
    for row in &rows {
        if get::<Option<i64>>(row, "id")?.is_some() {
            let record = whole_record_in(row).and_then(|record| Ok((Arc::new(record), get(row, "reopened")?)));
            records.insert(place(row)?, record.map_err(nothing));
        }
    }
    let mut found = vec![None; many];
    for row in &rows {
        let nth = usize::try_from(get::<i64>(row, "nth")?).unwrap_or(usize::MAX);
        // An identity may lead nowhere: its record was purged, and there are later ones.
        if let (Some(line), Some(record)) = (found.get_mut(nth.wrapping_sub(1)), records.get(&place(row)?)) {
            let generation = read::count(row, "generation")?;
            let matched = |(record, reopened): &(Arc<_>, bool)| Match {
                generation,
                record: Arc::clone(record),
                reopened: *reopened,
            };
            *line = Some(record.as_ref().map(matched).map_err(Clone::clone));
        }
    }
    Ok(found)
}

/// What is looked for. What several questions want is looked for once.
#[derive(Debug, Default)]
struct Lines<'a> {
    all: Vec<(i64, &'a Identity)>,
    /// Where: tenants and scopes. Lines name them by their numbers, from 1 on.
    places: Vec<(&'a Tenant, &'a Digest)>,
}

impl<'a> Lines<'a> {
    /// The lines, and which ones answer each question.
    fn of(questions: &'a [Question]) -> (Self, Vec<Vec<usize>>) {
        let (mut lines, mut known, mut places) = (Self::default(), FxHashMap::default(), FxHashMap::default());
        let mut answers = Vec::with_capacity(questions.len());
        for Question { tenant, scope, identities } in questions {
            let place: i64 = *places.entry((tenant, scope)).or_insert_with(|| {
                lines.places.push((tenant, scope));
                number(lines.places.len() as u64)
            });
            let mut line = |identity: &'a Identity| {
                *known.entry((place, identity.digest, identity.generation)).or_insert_with(|| {
                    lines.all.push((place, identity));
                    lines.all.len() - 1
                })
            };
            answers.push(identities.iter().map(&mut line).collect());
        }
        (lines, answers)
    }

    fn statement(&self) -> String {
        let all = || self.all.iter();
        let places = || self.places.iter();
        let rows = Rows::default()
            .keys("place", all().map(|(place, _)| *place))
            .joined("digest", all().map(|(_, identity)| identity.digest.as_slice()))
            .maybe("generation", all().map(|(_, identity)| identity.generation.map(i64::from)))
            .each_word("name", places().map(|(tenant, _)| Some(text(tenant.as_str()).into_owned())))
            .joined("of", places().map(|(_, scope)| scope.as_slice()));
        format!("{BEFORE}select * from {}; rollback", rows.call("idem_find"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Source;

    fn question(tenant: &str, scope: u8, identities: &[(u8, Option<u32>)]) -> Question {
        let identity = |(digest, generation): &(u8, _)| Identity {
            source: Source::Args,
            digest: [*digest; 32],
            generation: *generation,
        };
        Question {
            tenant: Tenant::new(tenant).expect("a tenant"),
            scope: [scope; 32],
            identities: identities.iter().map(identity).collect(),
        }
    }

    #[test]
    fn what_several_want_is_looked_for_once() {
        let questions = [
            question("a", 1, &[(1, None), (2, None)]),
            question("a", 1, &[(2, None), (2, Some(3))]),
            question("b", 1, &[(1, None)]),
            question("a", 2, &[(1, None)]),
            question("a", 1, &[]),
        ];
        let (lines, places) = Lines::of(&questions);
        assert_eq!(places, [vec![0, 1], vec![1, 2], vec![3], vec![4], vec![]]);
        let looked_for: Vec<_> = lines.all.iter().map(|(place, identity)| (*place, identity.generation)).collect();
        assert_eq!(looked_for, [(1, None), (1, None), (1, Some(3)), (2, None), (3, None)]);
    }

    #[test]
    fn nothing_in_a_name_means_anything_to_the_server() {
        let questions = [question("\\'}'; drop table idem_operations; --\"", 255, &[(0, None)])];
        let statement = Lines::of(&questions).0.statement();
        assert!(
            statement.contains("_name => array[E'\\\\''}''; drop table idem_operations; --\"']::text[]"),
            "{statement}"
        );
    }

    #[test]
    fn a_group_is_answered_whole_and_waits_while_connections_are_busy() {
        let find = |many: usize| {
            let (tenant, scope) = (Tenant::new("a").expect("a tenant"), [0; 32]);
            Group::new(&vec![Find { tenant: &tenant, scope: &scope, identities: &[] }; many]).0
        };
        let asked = Asked::default();
        let sizes = |groups: Vec<Group>| groups.iter().map(|group| group.questions.len()).collect::<Vec<_>>();
        assert_eq!(asked.push(find(1)), Next::Answer);
        assert_eq!(asked.push(find(2)), Next::Wait, "few wait for the connection that is busy");
        assert_eq!(asked.push(find(QUESTIONS_MAX - 3)), Next::Answer, "many get the other one");
        for many in [QUESTIONS_MAX, 1] {
            assert_eq!(asked.push(find(many)), Next::Wait, "both connections are taken");
        }
        assert_eq!(sizes(asked.next()), [1, 2, QUESTIONS_MAX - 3]);
        assert_eq!(sizes(asked.next()), [QUESTIONS_MAX]);
        assert_eq!(sizes(asked.next()), [1]);
        assert!(asked.next().is_empty());
        assert_eq!(asked.push(find(1)), Next::Wait, "one connection is busy still");
        assert_eq!(sizes(asked.next()), [1]);
        assert!(asked.next().is_empty());
        assert_eq!(asked.push(find(1)), Next::Answer);
    }
}
