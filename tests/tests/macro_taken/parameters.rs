//! Parameters in every form: under conditions, as patterns, generic, borrowed, with names that Rust keeps for itself.

use idem_runtime::{Refusal, idempotent};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Serialize, Deserialize)]
struct Order {
    id: String,
    r#type: u8,
    note: String,
}

#[idempotent(scope = "tenant")]
async fn conditional(
    #[cfg(unix)] a: u8,
    #[cfg(not(unix))] b: u8,
    #[allow(unused, reason = "the case")] c: u8,
    #[cfg(any())] gone: NoSuchType,
    #[cfg(not(windows))] (d, e): (u8, u8),
) -> Result<u8, Refusal> {
    #[cfg(unix)]
    return Ok(a + d + e);
    #[cfg(not(unix))]
    Ok(b + d + e)
}

#[idempotent(scope = "tenant+{order.id}")]
async fn of_one_name(
    #[cfg(not(windows))] order: Order,
    #[cfg(windows)] order: &Order,
    #[cfg(any())] other: NoSuchType,
) -> Result<u8, Refusal> {
    Ok(order.r#type)
}

#[idempotent(scope = "named:cart")]
async fn patterns(mut a: u8, (b, c): (u8, u8), Order { r#type, .. }: Order, _: u8, _unused: u8) -> Result<u8, Refusal> {
    a += 1;
    Ok(a + b + c + r#type)
}

#[idempotent(
    scope = "tenant+{order.id}",
    key = "tool_call_id|args(order.id)|template:{first}-{order.type}",
    content = "order.note"
)]
async fn inside_patterns((first, mut second): (u8, u8), order: Order, r#fn: u8) -> Result<u8, Refusal> {
    second += r#fn;
    Ok(first + second + u8::from(order.note.is_empty()))
}

#[idempotent(scope = "tenant")]
async fn generic<'a, T, const N: usize>(value: T, #[idem(state)] name: &'a str) -> Result<T, Refusal>
where
    T: Clone + Serialize + DeserializeOwned,
{
    let _ = name.len() + N;
    Ok(value.clone())
}

#[idempotent(scope = "tenant")]
async fn of_any_type(value: impl Serialize, borrowed: &[&str]) -> Result<usize, Refusal> {
    let _ = value;
    Ok(borrowed.len())
}

#[idempotent(scope = "tenant", detach)]
async fn detached_generic<T: Serialize + DeserializeOwned + Send + 'static>(value: T) -> Result<T, Refusal> {
    Ok(value)
}

struct Stored<T> {
    value: T,
}

impl<T: Clone + Serialize + DeserializeOwned> Stored<T> {
    #[idempotent(scope = "tenant+{self.value}")]
    async fn take(&self, index: usize) -> Result<T, Refusal> {
        let _ = index;
        Ok(self.value.clone())
    }
}

/// Nothing is called without being polled: only the types matter.
#[test]
fn r115_conditional_parameters_are_taken() {
    let unused = Stored { value: 1_u8 };
    drop((conditional(1, 2, (3, 4)), patterns(1, (2, 3), order(), 4, 5), unused.take(1)));
    drop((of_one_name(order()), inside_patterns((1, 2), order(), 3), generic::<u8, 3>(1, "name")));
    drop((of_any_type(1, &["a"]), detached_generic(1)));
    drop((conditional_outcome(1, 2, (3, 4)), generic_outcome::<u8, 3>(1, "name")));
}

fn order() -> Order {
    Order { id: "A-1".to_owned(), r#type: 1, note: String::new() }
}
