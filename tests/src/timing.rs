//! Who is where, and when: gates that a body stands at, futures polled so often, waiting for what happens.
//!
//! Nothing here waits by the clock: it waits for something, and gives up after a minute so that a hang is a failure.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::{runtime::Handle, sync::Semaphore};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// A place in a body where it stops until a test lets it go on. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A gate that is shut.
    pub fn new() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// A gate that stops nobody.
    pub fn opened() -> Self {
        let gate = Self::new();
        gate.open.add_permits(Semaphore::MAX_PERMITS);
        gate
    }

    /// Arrives, and waits to be let through.
    ///
    /// # Panics
    /// Never: nobody closes a gate for good.
    pub async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.expect("a gate is never closed for good").forget();
    }

    /// Waits until one more has arrived.
    ///
    /// # Panics
    /// When nobody comes within a minute.
    pub async fn arrived(&self) {
        let arrived = tokio::time::timeout(PATIENCE, self.arrived.acquire());
        arrived.await.expect("nobody came to the gate").expect("a gate is never closed for good").forget();
    }

    /// How many have arrived that nobody waited for.
    pub fn waiting(&self) -> usize {
        self.arrived.available_permits()
    }

    /// Lets one through.
    pub fn open(&self) {
        self.open.add_permits(1);
    }
}

/// Polls `future` at most so many times, each time when it asked for it, and drops it; its output if it came to one.
pub async fn poll_times<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = polls;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Asks until the answer is there.
///
/// # Panics
/// When it is not within a minute.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asked = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(asked.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::task::yield_now().await;
    }
}

/// A future that finds itself in another runtime whenever it is polled: what it spawns, it spawns there.
#[derive(Debug)]
pub struct Inside<F> {
    runtime: Handle,
    future: Pin<Box<F>>,
}

impl<F: Future> Inside<F> {
    /// `future` as if `runtime` polled it.
    pub fn new(runtime: &Handle, future: F) -> Self {
        Self { runtime: runtime.clone(), future: Box::pin(future) }
    }
}

impl<F: Future> Future for Inside<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let runtime = self.runtime.clone();
        let _inside = runtime.enter();
        self.future.as_mut().poll(context)
    }
}
