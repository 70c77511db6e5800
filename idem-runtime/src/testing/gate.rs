//! Who is where: gates that a call stands at until a test lets it go on, and waiting for what happens.
//!
//! Nothing here waits by the clock: it waits for something, and gives up after a minute so that a hang is a failure.

use std::{
    future::poll_fn,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A place where a call stops until a test lets it go on. Clones are the same gate.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Arrives, and waits to be let through.
    pub(crate) async fn pass(&self) {
        self.arrived.add_permits(1);
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
    }

    /// The same on a thread that may wait: a store's, a server's.
    pub(crate) fn pass_blocking(&self) {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() {
            runtime.block_on(self.pass());
        }
    }

    /// Takes note of one that has arrived, if one has.
    pub(crate) fn seen(&self) -> bool {
        self.arrived.try_acquire().map(tokio::sync::SemaphorePermit::forget).is_ok()
    }

    /// Lets one through.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}

/// Polls `future` at most so many times, each time when it asked for it, and drops it; its output if it came to one.
pub(crate) async fn poll_times<F: Future>(future: F, polls: usize) -> Option<F::Output> {
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

/// Asks until the answer is there; `None` when it is not within a minute.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let asked = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        if asked.elapsed() >= PATIENCE {
            return None;
        }
        tokio::task::yield_now().await;
    }
}
