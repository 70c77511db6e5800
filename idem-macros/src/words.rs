//! The words that the attribute accepts: one table each, so that parsing and messages cannot disagree.
//!
//! It must not know what a word leads to; that is `validate`'s.

/// An argument of the attribute, with an example of it as it is typed.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
}

const fn known(name: &'static str, example: &'static str) -> Known {
    Known { name, example }
}

/// Every argument of `#[idempotent(…)]`.
pub(crate) const ARGUMENTS: &[Known] = &[
    known("scope", r#"scope = "conversation""#),
    known("key", r#"key = "tool_call_id|args""#),
    known("name", r#"name = "billing.refund""#),
    known("version", "version = 2"),
    known("effect", r#"effect = "irreversible""#),
    known("counts", r#"counts = "one refund per return""#),
    known("window", r#"window = "10m""#),
    known("retain", r#"retain = "30d""#),
    known("lease", r#"lease = "30s""#),
    known("after_retention", r#"after_retention = "tell""#),
    known("on_busy", r#"on_busy = "wait""#),
    known("content", r#"content = "order.note""#),
    known("volatile", r#"volatile = "order.requested_at""#),
    known("secret", r#"secret = "order.token""#),
    known("ctx", "ctx = request.context"),
    known("validate", "validate = check_refund"),
    known("classify", "classify = classify_error"),
    known("refuse", "refuse = refuse_call"),
    known("detach", "detach"),
    known("outcome", "outcome = false"),
    known("crate", "crate = my_facade::idem_runtime"),
];

/// A word of the attribute and the variant of the runtime's enum that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) word: &'static str,
    pub(crate) variant: &'static str,
}

const fn choice(word: &'static str, variant: &'static str) -> Choice {
    Choice { word, variant }
}

/// `effect = "…"`, the default first.
pub(crate) const EFFECTS: &[Choice] = &[
    choice("irreversible", "Irreversible"),
    choice("reversible", "Reversible"),
    choice("set", "Set"),
    choice("trigger", "Trigger"),
    choice("audited_read", "AuditedRead"),
    choice("read", "Read"),
];

/// `after_retention = "…"`, the default first.
pub(crate) const AFTER_RETENTION: &[Choice] = &[choice("tell", "Tell"), choice("run", "Run")];

/// `on_busy = "…"`, the default first.
pub(crate) const ON_BUSY: &[Choice] = &[choice("wait", "Wait"), choice("tell", "Tell")];

/// The kinds of scope that are one word.
pub(crate) const SCOPES: &[Choice] = &[
    choice("conversation", "Conversation"),
    choice("workflow", "Workflow"),
    choice("user", "User"),
    choice("tenant", "Tenant"),
    choice("global", "Global"),
];

/// The prefix of a scope that the application names itself.
pub(crate) const NAMED_SCOPE: &str = "named:";

/// Words that people write as a scope and that end before the retry comes, each with the reason.
pub(crate) const TOO_NARROW: &[(&str, &str)] = &[
    ("attempt", "every retry is a new attempt"),
    ("call", "a retry is often a new call"),
    ("message", "a retry is often a new message"),
    ("request", "every retry is a new request"),
    ("run", "a resumed agent is often a new run"),
    ("session", "a reconnected client gets a new session"),
    ("session_id", "a reconnected client gets a new session"),
    ("span", "every retry is a new span"),
    ("step", "a resumed agent counts its steps anew"),
    ("task", "a retry is often a new task"),
    ("trace", "every retry is a new trace"),
    ("trace_id", "every retry is a new trace"),
    ("turn", "a retry often comes in a later turn"),
];

/// The sources of a key, as they are typed.
pub(crate) const SOURCES: &[&str] = &["tool_call_id", "operation_id", "args", "args(…)", "template:…"];

/// `#[idem(…)]` on a parameter.
pub(crate) const MARKS: &[&str] = &["content", "volatile", "secret", "state"];

/// Units of a duration with their nanoseconds, the longest first.
pub(crate) const UNITS: &[(&str, u128)] = &[
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The words of a table of choices.
pub(crate) fn words_of(choices: &[Choice]) -> Vec<&'static str> {
    choices.iter().map(|choice| choice.word).collect()
}

/// "`a`, `b`, `c`", or "none".
pub(crate) fn list<S: AsRef<str>>(words: &[S]) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// What was probably meant, if something was: at most a third of the letters differ.
pub(crate) fn near_miss<'w, S: AsRef<str>>(written: &str, words: &'w [S]) -> Option<&'w str> {
    words
        .iter()
        .map(|word| (distance(&written.to_lowercase(), word.as_ref()), word.as_ref()))
        .filter(|(distance, word)| *distance <= (word.len().max(written.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
        .filter(|_| !written.is_empty())
}

/// The end of a message about an unknown word: ": did you mean `x`? the KIND are …".
pub(crate) fn instead<S: AsRef<str>>(written: &str, kind: &str, words: &[S]) -> String {
    let near = near_miss(written, words).map_or_else(String::new, |word| format!("did you mean `{word}`? "));
    format!(": {near}the {kind} are {}", list(words))
}

/// Edits between two words; two neighbours that swapped places count as one.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<_>>()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let swap = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + swap);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}
