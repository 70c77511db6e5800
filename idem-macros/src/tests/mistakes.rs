//! What is said of mistakes, and under which token. All of it stands in `tests/snapshots/mistakes.txt`.

use std::fmt::Write;

use proc_macro2::{Span, TokenStream, TokenTree};

use super::snapshot;
use crate::expand;

/// Name, arguments, item.
type Case = (&'static str, &'static str, &'static str);

const PLAIN: &str = "async fn act(order: Order, cents: u64) -> Result<u8, E> { go().await }";
const SOUND: &str = r#"scope = "tenant""#;

const ATTRIBUTE: &[Case] = &[
    ("no scope", "", PLAIN),
    ("unknown argument", r#"scope = "tenant", kye = "args""#, PLAIN),
    ("argument of another library", r#"scope = "tenant", ttl = "10m""#, PLAIN),
    ("argument twice", r#"scope = "tenant", key = "args", scope = "user""#, PLAIN),
    ("list form", r#"scope("tenant")"#, PLAIN),
    ("no comma", r#"scope = "tenant" key = "args""#, PLAIN),
    ("number for text", "scope = 3", PLAIN),
    ("bare word for text", "scope", PLAIN),
    ("text for number", r#"scope = "tenant", version = "2""#, PLAIN),
    ("version zero", r#"scope = "tenant", version = 0"#, PLAIN),
    ("text for flag", r#"scope = "tenant", detach = "yes""#, PLAIN),
    ("text for path", r#"scope = "tenant", validate = "not a path""#, PLAIN),
    ("number in a list of texts", r#"scope = "tenant", content = ["order.note", 3]"#, PLAIN),
    ("empty name", r#"scope = "tenant", name = "", counts = " ""#, PLAIN),
    ("unknown words", r#"scope = "tenant", effect = "ireversible", after_retention = "fail", on_busy = "wiat""#, PLAIN),
    (
        "not for a set",
        r#"scope = "tenant", entry, key = "args(a)""#,
        "async fn act<T: Serialize>(a: T) -> Result<u8, E> {}",
    ),
    (
        "context in a set",
        r#"scope = "tenant", ctx = ctx.call, entry"#,
        "async fn act(ctx: Context, a: u8) -> Result<u8, E> {}",
    ),
    (
        "borrowed argument in a set",
        r#"scope = "tenant", repeats = "allowed""#,
        "async fn act(a: &str) -> Result<u8, E> {}",
    ),
    ("nothing beside it in a set", r#"scope = "tenant", entry = true, outcome = false"#, PLAIN),
    ("unknown repeats", r#"scope = "tenant", repeats = "twice""#, PLAIN),
    ("effect read", r#"scope = "tenant", effect = "read""#, PLAIN),
];

const SCOPES: &[Case] = &[
    ("near miss", r#"scope = "conversaton""#, PLAIN),
    ("unknown", r#"scope = "shop""#, PLAIN),
    ("too narrow", r#"scope = "turn""#, PLAIN),
    ("empty", r#"scope = """#, PLAIN),
    ("bad name", r#"scope = "named:my cart""#, PLAIN),
    ("unclosed brace", r#"scope = "tenant+{order.id""#, PLAIN),
    ("value without braces", r#"scope = "tenant+order.id""#, PLAIN),
    ("nothing after plus", r#"scope = "tenant+""#, PLAIN),
    ("unknown parameter", r#"scope = "tenant+{oder.id}""#, PLAIN),
    ("empty path", r#"scope = "tenant+{}""#, PLAIN),
    ("self without self", r#"scope = "tenant+{self.merchant}""#, PLAIN),
    ("self as a whole", r#"scope = "tenant+{self}""#, "async fn act(&self, a: u8) -> Result<u8, E> {}"),
    (
        "content in a scope",
        r#"scope = "tenant+{a}""#,
        "async fn act(#[idem(content)] a: u8, b: u8) -> Result<u8, E> {}",
    ),
];

const KEYS: &[Case] = &[
    ("near miss", r#"scope = "tenant", key = "tool_cal_id|args""#, PLAIN),
    ("unknown", r#"scope = "tenant", key = "cents""#, PLAIN),
    ("unknown list", r#"scope = "tenant", key = "arg(cents)""#, PLAIN),
    ("empty", r#"scope = "tenant", key = """#, PLAIN),
    ("empty alternative", r#"scope = "tenant", key = "args||tool_call_id""#, PLAIN),
    ("empty after plus", r#"scope = "tenant", key = "args+""#, PLAIN),
    ("unclosed parenthesis", r#"scope = "tenant", key = "tool_call_id|args(order.id""#, PLAIN),
    ("dotted argument", r#"scope = "tenant", key = "args.oder_id""#, PLAIN),
    ("unclosed in the middle", r#"scope = "tenant", key = "args(order.id | template:x{cents|tool_call_idd""#, PLAIN),
    ("text after parenthesis", r#"scope = "tenant", key = "args(cents)x""#, PLAIN),
    ("empty list", r#"scope = "tenant", key = "args()""#, PLAIN),
    ("unknown parameter", r#"scope = "tenant", key = "args(cent, oder.id)""#, PLAIN),
    ("unclosed brace", r#"scope = "tenant", key = "template:x{cents""#, PLAIN),
    ("stray brace", r#"scope = "tenant", key = "template:x}{cents}""#, PLAIN),
    ("empty value", r#"scope = "tenant", key = "template:x{}""#, PLAIN),
    ("template without value", r#"scope = "tenant", key = "template:refund""#, PLAIN),
    ("empty template", r#"scope = "tenant", key = "template:""#, PLAIN),
    ("bar in a template", r#"scope = "tenant", key = "template:{cents}|order""#, PLAIN),
    ("unknown in a template", r#"scope = "tenant", key = "template:{ordr.id}""#, PLAIN),
    ("source twice", r#"scope = "tenant", key = "args|tool_call_id|args""#, PLAIN),
    ("source twice together", r#"scope = "tenant", key = "args+args""#, PLAIN),
    ("same alternative in another order", r#"scope = "tenant", key = "args+tool_call_id|tool_call_id+args""#, PLAIN),
    ("path twice", r#"scope = "tenant", key = "args(cents, cents)""#, PLAIN),
    ("escaped literal", "scope = \"tenant\", key = \"arg\\u{73}_\"", PLAIN),
    (
        "content in args",
        r#"scope = "tenant", key = "args(a)""#,
        "async fn act(#[idem(content)] a: u8, b: u8) -> Result<u8, E> {}",
    ),
    (
        "state in args",
        r#"scope = "tenant", key = "args(db.name)""#,
        "async fn act(#[idem(state)] db: Db, b: u8) -> Result<u8, E> {}",
    ),
    (
        "whole state in a template",
        r#"scope = "tenant", key = "template:{db}""#,
        "async fn act(#[idem(state)] db: Db, b: u8) -> Result<u8, E> {}",
    ),
    (
        "call in a template",
        r#"scope = "tenant", key = "template:{call.id}""#,
        "async fn act(call: &ToolCall, b: u8) -> Result<u8, E> {}",
    ),
    ("self in args", r#"scope = "tenant", key = "args(self.x)""#, "async fn act(&self, b: u8) -> Result<u8, E> {}"),
    ("left out path in the key", r#"scope = "tenant", content = "order.note", key = "args(order.note)""#, PLAIN),
    (
        "path around a left out one",
        r#"scope = "tenant", volatile = "order.meta.at", key = "template:{order.meta}""#,
        PLAIN,
    ),
    (
        "args over nothing",
        r#"scope = "tenant", key = "args""#,
        "async fn act(#[idem(content)] a: u8) -> Result<u8, E> {}",
    ),
    ("default key over nothing", SOUND, "async fn act() -> Result<u8, E> {}"),
];

const LISTS: &[Case] = &[
    ("unknown parameter", r#"scope = "tenant", content = "amuont""#, PLAIN),
    ("unknown root", r#"scope = "tenant", secret = ["ordr.token"]"#, PLAIN),
    ("no path", r#"scope = "tenant", volatile = "order..at""#, PLAIN),
    ("twice", r#"scope = "tenant", content = "order.note", volatile = "order.note.at""#, PLAIN),
    (
        "below a marked one",
        r#"scope = "tenant", content = "a.note""#,
        "async fn act(#[idem(volatile)] a: A, b: u8) -> Result<u8, E> {}",
    ),
    ("unknown root far from any", r#"scope = "tenant", secret = "tokn.value""#, PLAIN),
];

const TIMES: &[Case] = &[
    ("no unit", r#"scope = "tenant", retain = "30""#, PLAIN),
    ("unknown unit", r#"scope = "tenant", lease = "3 weeks""#, PLAIN),
    ("zero", r#"scope = "tenant", lease = "0s""#, PLAIN),
    ("empty", r#"scope = "tenant", window = """#, PLAIN),
    ("too long", r#"scope = "tenant", retain = "99999999999999999999999999d""#, PLAIN),
    ("window longer than retain", r#"scope = "tenant", window = "2d", retain = "1d""#, PLAIN),
    ("window without arguments", r#"scope = "tenant", key = "tool_call_id", window = "10m""#, PLAIN),
];

const FUNCTIONS: &[Case] = &[
    ("sync", SOUND, "fn act(a: u8) -> Result<u8, E> {}"),
    ("future by hand", SOUND, "fn act(a: u8) -> impl Future<Output = Result<u8, E>> { async move { go() } }"),
    ("const", SOUND, "const fn act(a: u8) -> Result<u8, E> {}"),
    ("unsafe extern variadic", SOUND, r#"async unsafe extern "C" fn act(a: u8, ...) -> Result<u8, E> {}"#),
    ("no result", SOUND, "async fn act(a: u8) {}"),
    ("tuple result", SOUND, "async fn act(a: u8) -> (u8, u8) {}"),
    ("borrowed result", SOUND, "async fn act(a: u8) -> Result<&str, E> {}"),
    ("lifetime in the result", SOUND, "async fn act<'a>(a: A<'a>) -> Result<Cow<'a, str>, E> {}"),
    ("impl in the result", SOUND, "async fn act(a: u8) -> Result<impl Serialize, E> {}"),
    ("self for change", SOUND, "async fn act(&mut self, a: u8) -> Result<u8, E> {}"),
    ("self as a mutable binding", SOUND, "async fn act(mut self, a: u8) -> Result<u8, E> {}"),
    ("impl block", SOUND, "impl Tool { async fn act(&self) {} }"),
    ("no result of a common type", SOUND, "async fn act(a: u8) -> Option<u8> {}"),
    ("struct", SOUND, "pub struct Tool;"),
    ("trait method", SOUND, "async fn act(&self) -> Result<u8, E>;"),
    ("not Rust yet", SOUND, "async fn act(a: ) -> Result<u8, E> {}"),
];

const PARAMETERS: &[Case] = &[
    ("unknown mark", SOUND, "async fn act(#[idem(contnet)] a: u8, b: u8) -> Result<u8, E> {}"),
    ("mark twice", SOUND, "async fn act(#[idem(content, content)] a: u8, b: u8) -> Result<u8, E> {}"),
    ("marks that contradict", SOUND, "async fn act(#[idem(content)] #[idem(secret)] a: u8, b: u8) -> Result<u8, E> {}"),
    (
        "empty mark",
        SOUND,
        "async fn act(#[idem] a: u8, #[idem()] b: u8, #[idem(content = 1)] c: u8) -> Result<u8, E> {}",
    ),
    ("mark on the call", SOUND, "async fn act(#[idem(state)] call: &ToolCall, b: u8) -> Result<u8, E> {}"),
    ("mark on self", SOUND, "async fn act(#[idem(secret)] &self, b: u8) -> Result<u8, E> {}"),
    ("two calls", SOUND, "async fn act(call: &ToolCall, other: idem_runtime::ToolCall, b: u8) -> Result<u8, E> {}"),
    ("ctx beside a call", r#"scope = "tenant", ctx = x.y"#, "async fn act(call: &ToolCall, b: u8) -> Result<u8, E> {}"),
    (
        "detach with borrows",
        r#"scope = "tenant", detach"#,
        "async fn act(&self, a: &str, b: &[u8], c: &Order, d: Cow<'_, str>) -> Result<u8, E> {}",
    ),
    (
        "validate beside a condition",
        r#"scope = "tenant", validate = check"#,
        "async fn act(#[cfg(unix)] a: u8, b: u8) -> Result<u8, E> {}",
    ),
    (
        "validate beside owned self",
        r#"scope = "tenant", validate = Self::check"#,
        "async fn act(self, b: u8) -> Result<u8, E> {}",
    ),
    ("name of a pattern", SOUND, "async fn act(arg1: u8, (a, b): (u8, u8)) -> Result<u8, E> {}"),
];

const RETRIES: &[Case] = &[
    ("word without parentheses", r#"scope = "tenant", retry"#, PLAIN),
    ("value for a list", r#"scope = "tenant", retry = 3"#, PLAIN),
    ("twice", r#"scope = "tenant", retry(max = 2), retry(max = 3)"#, PLAIN),
    ("one attempt in all", r#"scope = "tenant", retry(max = 1)"#, PLAIN),
    ("max that is no number", r#"scope = "tenant", retry(max = "3", base)"#, PLAIN),
    ("zero and no durations", r#"scope = "tenant", retry(base = "0s", cap = "5", deadline = 30)"#, PLAIN),
    ("base longer than cap", r#"scope = "tenant", retry(base = "6s", cap = "5s")"#, PLAIN),
    ("cap shorter than the default base", r#"scope = "tenant", retry(cap = "100ms")"#, PLAIN),
    ("cap longer than the default deadline", r#"scope = "tenant", retry(cap = "1m")"#, PLAIN),
    ("deadline shorter than the default cap", r#"scope = "tenant", retry(deadline = "1s500ms")"#, PLAIN),
    ("near miss", r#"scope = "tenant", retry(mx = 3, dedline = "30s")"#, PLAIN),
    ("unknown", r#"scope = "tenant", retry(jitter = true)"#, PLAIN),
    ("argument twice", r#"scope = "tenant", retry(max = 3, max = 4)"#, PLAIN),
    ("argument outside of its list", r#"scope = "tenant", max = 3, provider_key = "24h""#, PLAIN),
    ("malformed", r#"scope = "tenant", retry(max 3, cap = )"#, PLAIN),
    ("retain shorter than deadline", r#"scope = "tenant", retain = "10s", retry(deadline = "1m")"#, PLAIN),
    ("retain shorter than the default deadline", r#"scope = "tenant", retain = "10s", retry()"#, PLAIN),
    ("owned self", r#"scope = "tenant", retry()"#, "async fn act(self, a: u8) -> Result<u8, E> {}"),
    ("shared self", r#"scope = "tenant", retry()"#, "async fn act(self: Arc<Self>, a: u8) -> Result<u8, E> {}"),
    ("self behind two", r#"scope = "tenant", retry()"#, "async fn act(self: &Arc<Self>, a: u8) -> Result<u8, E> {}"),
    ("self for change", r#"scope = "tenant", retry()"#, "async fn act(&mut self, a: u8) -> Result<u8, E> {}"),
    ("condition", r#"scope = "tenant", retry()"#, "async fn act(#[cfg(unix)] a: u8, b: u8) -> Result<u8, E> {}"),
    ("sync", r#"scope = "tenant", retry()"#, "fn act(a: u8) -> Result<u8, E> {}"),
];

const RECOVERIES: &[Case] = &[
    ("no step", r#"scope = "tenant", recover()"#, PLAIN),
    ("word without parentheses", r#"scope = "tenant", recover, settles_in = "1m""#, PLAIN),
    ("step after then", r#"scope = "tenant", recover(then = operator, lookup = find)"#, PLAIN),
    ("another end", r#"scope = "tenant", recover(lookup = find, then = human)"#, PLAIN),
    ("end in quotes", r#"scope = "tenant", recover(lookup = find, then = "operator")"#, PLAIN),
    ("end that is a path", r#"scope = "tenant", recover(lookup = find, then = ops::page)"#, PLAIN),
    ("near miss of the end", r#"scope = "tenant", recover(lookup = find, then = oprator)"#, PLAIN),
    ("short key", r#"scope = "tenant", recover(provider_key = "59s")"#, PLAIN),
    ("key that is no duration", r#"scope = "tenant", recover(provider_key = "1 day")"#, PLAIN),
    ("near miss", r#"scope = "tenant", recover(lokup = find)"#, PLAIN),
    ("step twice", r#"scope = "tenant", recover(lookup = find, lookup = search)"#, PLAIN),
    ("step without a value", r#"scope = "tenant", recover(lookup)"#, PLAIN),
    ("no path", r#"scope = "tenant", recover(search = |a| find(a))"#, PLAIN),
    (
        "lookup beside owned self",
        r#"scope = "tenant", recover(lookup = Self::find, search = Self::search)"#,
        "async fn act(self: Arc<Self>, a: u8) -> Result<u8, E> {}",
    ),
    (
        "lookup beside a condition",
        r#"scope = "tenant", recover(lookup = find)"#,
        "async fn act(#[cfg(unix)] a: u8, b: u8) -> Result<u8, E> {}",
    ),
    (
        "state that borrows",
        r#"scope = "tenant", recover(lookup = find)"#,
        "async fn act(#[idem(state)] a: Bank<'_>, #[idem(state)] b: &Cow<'_, str>, c: u8) -> Result<u8, E> {}",
    ),
    (
        "state under a condition",
        r#"scope = "tenant", recover(provider_key = "1h")"#,
        "async fn act(#[cfg(unix)] #[idem(state)] a: Bank, c: u8) -> Result<u8, E> {}",
    ),
    ("settles_in without a question", r#"scope = "tenant", settles_in = "2m", recover(provider_key = "1h")"#, PLAIN),
    ("settles_in that is no duration", r#"scope = "tenant", settles_in = "2", recover(lookup = find)"#, PLAIN),
    ("reconcile without a question", r#"scope = "tenant", on_unknown = "reconcile""#, PLAIN),
    ("unknown words", r#"scope = "tenant", on_unknown = "recncile", reference = optional"#, PLAIN),
    ("reference in quotes", r#"scope = "tenant", reference = "required""#, PLAIN),
    ("reference as a bare word", r#"scope = "tenant", reference"#, PLAIN),
    ("flag with text", r#"scope = "tenant", store_arguments = "yes""#, PLAIN),
];

const RESOURCES: &[Case] = &[
    ("no value", r#"scope = "tenant", resource = "reservation""#, PLAIN),
    ("empty", r#"scope = "tenant", resource = """#, PLAIN),
    ("no text", r#"scope = "tenant", resource = 3, resource"#, PLAIN),
    ("unclosed brace", r#"scope = "tenant", resource = "order:{order.id""#, PLAIN),
    ("stray brace", r#"scope = "tenant", resource = "order:}{order.id}""#, PLAIN),
    ("empty value", r#"scope = "tenant", resource = "order:{}""#, PLAIN),
    ("alternatives", r#"scope = "tenant", resource = "order:{order.id}|cart:{cents}""#, PLAIN),
    ("twice", r#"scope = "tenant", resource = "order:{order.id}", resource = "order:{order.id}""#, PLAIN),
    ("unknown parameter", r#"scope = "tenant", resource = "order:{ordr.id}""#, PLAIN),
    ("self without self", r#"scope = "tenant", resource = "order:{self.id}""#, PLAIN),
    (
        "marked parameters",
        r#"scope = "tenant", resource = "{a}{b}{c}{d}{e.id}""#,
        "async fn act(#[idem(content)] a: A, #[idem(volatile)] b: B, #[idem(secret)] c: C, #[idem(state)] d: D, e: &ToolCall, f: F) -> Result<u8, E> {}",
    ),
    ("left out path", r#"scope = "tenant", secret = "order.token", resource = "{order.token}""#, PLAIN),
    (
        "parameter of the result's name",
        r#"scope = "tenant", resource = "order:{result.id}""#,
        "async fn act(result: Order, b: u8) -> Result<u8, E> {}",
    ),
    ("path into the result", r#"scope = "tenant", resource = "order:{result..id}""#, PLAIN),
];

const HARNESSES: &[Case] = &[
    ("no path", r#"scope = "tenant", harness = 3"#, PLAIN),
    ("no value", r#"scope = "tenant", harness = , key = "args""#, PLAIN),
    ("list", r#"scope = "tenant", harness(refund_fixture)"#, PLAIN),
    ("near miss", r#"scope = "tenant", harnes = refund_fixture"#, PLAIN),
    (
        "path on a method",
        r#"scope = "tenant", harness = fixtures::refund"#,
        "async fn act(&self, a: u8) -> Result<u8, E> {}",
    ),
    (
        "borrowed arguments",
        r#"scope = "tenant", harness = refund_fixture"#,
        "async fn act(a: &str, b: &[u8], c: Cow<'_, str>, #[idem(state)] d: &D) -> Result<u8, E> {}",
    ),
    (
        "generic",
        r#"scope = "tenant", harness = refund_fixture"#,
        "async fn act<'a, B: Bank>(#[idem(state)] a: &'a B, b: u8) -> Result<u8, E> {}",
    ),
    (
        "impl trait",
        r#"scope = "tenant", harness = refund_fixture"#,
        "async fn act(#[idem(state)] a: impl Bank, b: u8) -> Result<u8, E> {}",
    ),
    ("self by value", r#"scope = "tenant", harness"#, "async fn act(self, b: u8) -> Result<u8, E> {}"),
    ("self in a box", r#"scope = "tenant", harness"#, "async fn act(self: Box<Self>, b: u8) -> Result<u8, E> {}"),
    (
        "boxed method",
        r#"scope = "tenant", key = "tool_call_id", harness"#,
        "fn act<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<u8, E>> + Send + 'a>> { Box::pin(async move { go() }) }",
    ),
    (
        "state that borrows",
        r#"scope = "tenant", harness = refund_fixture"#,
        "async fn act(#[idem(state)] a: Bank<'_>, #[idem(state)] b: &mut Bank, c: u8) -> Result<u8, E> {}",
    ),
    (
        "state that borrows, with a reconciler",
        r#"scope = "tenant", recover(provider_key = "24h"), harness = refund_fixture"#,
        "async fn act(#[idem(state)] a: Bank<'_>, c: u8) -> Result<u8, E> {}",
    ),
    (
        "context below a parameter",
        r#"scope = "tenant", ctx = request.context, harness = refund_fixture"#,
        "async fn act(#[idem(state)] request: Request, c: u8) -> Result<u8, E> {}",
    ),
    (
        "four conditions",
        r#"scope = "tenant", harness = refund_fixture"#,
        "async fn act(#[cfg(a)] a: A, #[cfg(b)] b: B, #[cfg(c)] c: C, #[cfg(d)] d: D) -> Result<u8, E> {}",
    ),
];

const SEVERAL: &[Case] = &[(
    "nine at once",
    r#"scope = "conversaton", kye = "x", version = "2", key = "tool_cal_id|args(centz)", on_busy = "w", lease = "0s""#,
    "pub fn act(#[idem(contnet)] a: u8, cents: u64) -> Result<&str, E> { a. }",
)];

#[test]
fn messages() {
    let rooms = [
        ("attribute", ATTRIBUTE),
        ("scope", SCOPES),
        ("key", KEYS),
        ("lists of paths", LISTS),
        ("times", TIMES),
        ("function", FUNCTIONS),
        ("parameters", PARAMETERS),
        ("retry", RETRIES),
        ("recover", RECOVERIES),
        ("resource", RESOURCES),
        ("harness", HARNESSES),
        ("several", SEVERAL),
    ];
    let mut text = String::from("What is said of mistakes, and under which tokens. `IDEM_BLESS=1` writes it anew.\n");
    for (room, cases) in rooms {
        for (name, arguments, item) in cases {
            let told = told(arguments, item);
            assert!(!told.is_empty(), "{room}, {name}: no mistake found");
            write!(text, "\n== {room}: {name}\n#[idempotent({arguments})]\n{item}\n").expect("a string");
            for (place, message) in told {
                write!(text, "\n  under `{place}`\n").expect("a string");
                for line in message.lines().filter(|line| !line.is_empty()) {
                    writeln!(text, "    {line}").expect("a string");
                }
            }
        }
    }
    snapshot::check("mistakes.txt", &text);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let (_, arguments, item) = SEVERAL[0];
    let places: Vec<String> = told(arguments, item).into_iter().map(|(place, _)| place).collect();
    for place in ["conversaton", "kye", "\"2\"", "tool_cal_id", "centz", "\"w\"", "\"0s\"", "fn", "&str", "contnet"] {
        assert!(places.iter().any(|told| told == place), "nothing under {place}: {places:?}");
    }
}

#[test]
fn the_item_stands_beside_its_mistakes() {
    let tokens =
        expand_text(r#"scope = "x""#, "pub async fn act(#[idem(content)] a: u8, (b, _): P) -> Result<u8, E> { self. }");
    let item = "pub async fn act (a : u8 , (b , _) : P) -> Result < u8 , E > { self . }";
    assert!(tokens.to_string().ends_with(item), "{tokens}");
}

#[test]
fn messages_are_well_formed() {
    let all = [ATTRIBUTE, SCOPES, KEYS, LISTS, TIMES, PARAMETERS, RETRIES, RECOVERIES, RESOURCES, HARNESSES];
    for (_, message) in all.into_iter().flatten().flat_map(|(_, arguments, item)| told(arguments, item)) {
        let (text, help) = message.split_once("\n\nhelp: ").expect("a message has help");
        assert!(!help.contains('\n') && help.contains('`') && !text.contains('\n'), "{message}");
        assert!(!text.ends_with('.') && !text.starts_with(char::is_uppercase), "{message}");
        assert!(
            ["exactly once", "cache", "lock", "job", "ttl", "expired"]
                .iter()
                .all(|word| !text.split(' ').any(|w| w == *word))
        );
    }
}

fn expand_text(arguments: &str, item: &str) -> TokenStream {
    let (arguments, item) = (arguments.parse().expect("tokens"), item.parse().expect("tokens"));
    expand(arguments, item)
}

/// Every `compile_error!` with the source text it stands under.
fn told(arguments: &str, item: &str) -> Vec<(String, String)> {
    told_in(expand_text(arguments, item))
}

/// Every `compile_error!` in these tokens.
pub(super) fn told_in(tokens: TokenStream) -> Vec<(String, String)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut told = Vec::new();
    for window in tokens.windows(3) {
        if let [TokenTree::Ident(name), _, TokenTree::Group(group)] = window
            && name == "compile_error"
        {
            let message: syn::LitStr = syn::parse2(group.stream()).expect("a literal");
            told.push((source(name.span(), group.span()), message.value()));
        }
    }
    told
}

fn source(first: Span, last: Span) -> String {
    let span = first.join(last).unwrap_or(first);
    span.source_text().unwrap_or_else(|| "the attribute".to_owned())
}
