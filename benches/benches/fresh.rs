//! New operations: 1, 64 and 256 callers, in memory and in a file whose every commit waits for the disk.
//!
//! A closed loop of callers is no function to be timed alone, so each measurement runs the loop for a while and gives
//! criterion the time that as many calls as it asked for took.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use idem_benches::arm::{
    Keys,
    ours::{self, Place},
};
use tokio::runtime::Runtime;

/// For how long the callers call in one measurement.
const SPAN: Duration = Duration::from_millis(300);

fn fresh(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("fresh");
    group.sample_size(10).throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(3));
    for store in ["memory", "sqlite"] {
        for callers in [1, 64, 256] {
            group.bench_function(BenchmarkId::new(store, callers), |bencher| {
                bencher.iter_custom(|calls| took(&runtime, store, callers, calls));
            });
        }
    }
    group.finish();
}

/// The time that `calls` calls took at the rate of one run.
fn took(runtime: &Runtime, store: &str, callers: u64, calls: u64) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let place = match store {
        "memory" => Place::Memory,
        _ => Place::Sqlite(folder.path().join("fresh.db")),
    };
    let run = runtime.spawn(ours::run(place, Keys::Scoped, callers, SPAN));
    let sample = runtime.block_on(run).expect("no panic").expect("every call answered");
    Duration::from_secs_f64(idem_benches::load::as_f64(calls) / sample.rate())
}

criterion_group!(benches, fresh);
criterion_main!(benches);
