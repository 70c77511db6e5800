//! The words that the attribute accepts: one table each, so that parsing and messages cannot disagree.
//!
//! It must not know what a word leads to; that is `validate`'s.

/// An argument of an attribute, with an example of it as it is typed.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) takes: Takes,
}

/// How an argument is written.
#[derive(Debug)]
pub(crate) enum Takes {
    /// Once.
    One,
    /// As often as there is something to say.
    Several,
    /// Once, with arguments of its own in parentheses.
    List(&'static Table),
}

/// The arguments that stand in one place, and how a message speaks of them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) known: &'static [Known],
    /// What one of them is called.
    pub(crate) one: &'static str,
    /// How one of them is written.
    pub(crate) shape: &'static str,
    /// Behind the name of one, where they are not the attribute's own.
    pub(crate) of: &'static str,
}

const ARGUMENT: &str = "an argument is a word, `=` and a value";
const MARK: &str = "a mark is a word alone";

const fn known(name: &'static str, example: &'static str) -> Known {
    Known { name, example, takes: Takes::One }
}

/// `#[idempotent(…)]`.
pub(crate) const ARGUMENTS: Table = Table {
    known: &[
        known("scope", r#"scope = "conversation""#),
        known("key", r#"key = "tool_call_id|args""#),
        known("name", r#"name = "billing.refund""#),
        known("version", "version = 2"),
        known("effect", r#"effect = "irreversible""#),
        known("counts", r#"counts = "one refund per return""#),
        Known { takes: Takes::Several, ..known("resource", r#"resource = "reservation:{reservation_id}""#) },
        known("window", r#"window = "10m""#),
        known("retain", r#"retain = "30d""#),
        known("lease", r#"lease = "30s""#),
        known("after_retention", r#"after_retention = "tell""#),
        known("on_busy", r#"on_busy = "wait""#),
        Known { takes: Takes::List(&RETRY), ..known("retry", r#"retry(max = 3, deadline = "30s")"#) },
        Known { takes: Takes::List(&RECOVER), ..known("recover", r#"recover(provider_key = "24h", then = operator)"#) },
        known("settles_in", r#"settles_in = "2m""#),
        known("reference", "reference = required"),
        known("on_unknown", r#"on_unknown = "tell""#),
        known("store_arguments", "store_arguments"),
        known("content", r#"content = "order.note""#),
        known("volatile", r#"volatile = "order.requested_at""#),
        known("secret", r#"secret = "order.token""#),
        known("ctx", "ctx = request.context"),
        known("validate", "validate = check_refund"),
        known("classify", "classify = classify_error"),
        known("refuse", "refuse = refuse_call"),
        known("detach", "detach"),
        known("outcome", "outcome = false"),
        known("harness", "harness = refund_fixture"),
        known("repeats", r#"repeats = "allowed""#),
        known("entry", "entry = false"),
        known("crate", "crate = my_facade::idem_runtime"),
    ],
    one: "argument",
    shape: ARGUMENT,
    of: "",
};

/// `retry(…)`.
pub(crate) const RETRY: Table = Table {
    known: &[
        known("max", "max = 3"),
        known("base", r#"base = "200ms""#),
        known("cap", r#"cap = "5s""#),
        known("deadline", r#"deadline = "30s""#),
    ],
    one: "argument",
    shape: ARGUMENT,
    of: " of `retry`",
};

/// `recover(…)`.
pub(crate) const RECOVER: Table = Table {
    known: &[
        known("provider_key", r#"provider_key = "24h""#),
        known("lookup", "lookup = find_refund"),
        known("search", "search = search_refunds"),
        known("then", "then = operator"),
    ],
    one: "step",
    shape: "a step is a word, `=` and a value",
    of: " of `recover`",
};

/// `#[effect(…)]` on a variant.
pub(crate) const EFFECT_OF_VARIANT: Table = Table {
    known: &[
        known("retryable", "#[effect(retryable)]"),
        known("final", "#[effect(final)]"),
        known("unknown", "#[effect(unknown)]"),
        known("transparent", "#[effect(transparent)]"),
    ],
    one: "mark",
    shape: MARK,
    of: " of a variant",
};

/// `#[effect(…)]` on a type: the marks are a struct's.
pub(crate) const EFFECT_OF_TYPE: Table = Table {
    known: &[
        known("retryable", "#[effect(retryable)]"),
        known("final", "#[effect(final)]"),
        known("unknown", "#[effect(unknown)]"),
        known("transparent", "#[effect(transparent)]"),
        known("crate", "#[effect(crate = my_facade::idem_runtime)]"),
    ],
    one: "mark",
    shape: MARK,
    of: " of a type",
};

/// `#[effect(…)]` on a field.
pub(crate) const EFFECT_OF_FIELD: Table =
    Table { known: &[known("source", "#[effect(source)]")], one: "mark", shape: MARK, of: " of a field" };

impl Table {
    /// Every name, in order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.known.iter().map(|known| known.name).collect()
    }

    /// The argument of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Known> {
        self.known.iter().find(|known| known.name == name)
    }

    /// How an argument is typed; the first one's example for a name that is none.
    pub(crate) fn example(&self, name: &str) -> &'static str {
        self.find(name).unwrap_or(&self.known[0]).example
    }
}

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

/// `on_unknown = "…"`. The default depends on the chain of recovery.
pub(crate) const ON_UNKNOWN: &[Choice] = &[choice("reconcile", "Reconcile"), choice("tell", "Tell")];

/// `repeats = "…"`, the default first.
pub(crate) const REPEATS: &[Choice] = &[choice("one_effect", "OneEffect"), choice("allowed", "Allowed")];

/// `reference = …`.
pub(crate) const REFERENCES: &[&str] = &["required"];

/// `then = …`, the end of every chain of recovery.
pub(crate) const ENDS: &[&str] = &["operator"];

/// The root of a path into the tool's result, in a resource.
pub(crate) const RESULT: &str = "result";

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
