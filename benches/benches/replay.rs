//! Replays of finished operations, chosen at random: from memory, and from a file that the process remembers nothing of.

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use idem_benches::{profile::OPERATIONS, single::Finished};
use tokio::runtime::Runtime;

fn replay(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = criterion.benchmark_group("replay");
    group.throughput(Throughput::Elements(1));
    let memory = runtime.block_on(Finished::in_memory(OPERATIONS)).expect("finished operations");
    let file = runtime.block_on(Finished::in_file(folder.path(), OPERATIONS)).expect("finished operations");
    for (name, mut finished) in [("memory", memory), ("sqlite", file)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|calls| {
                let begun = Instant::now();
                runtime.block_on(async {
                    for _ in 0..calls {
                        finished.replay().await.expect("a replay");
                    }
                });
                begun.elapsed()
            });
        });
        group.bench_function(format!("{name}, making the call alone"), |bencher| bencher.iter(|| finished.make()));
    }
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
