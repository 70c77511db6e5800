//! Keys of arguments of four sizes, ours and the reference in the same run.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use idem_benches::arguments::{Keyed, Order, Plain, Presorted};

fn keys(criterion: &mut Criterion) {
    of(criterion, "100 B", &Plain::hundred());
    of(criterion, "166 B, sorted", &Presorted::refund());
    of(criterion, "1 KB, mixed", &Order::thousand());
    of(criterion, "10 KB, mixed", &Order::ten_thousand());
}

fn of(criterion: &mut Criterion, name: &str, arguments: &impl Keyed) {
    let mut group = criterion.benchmark_group(format!("key/{name}"));
    let bytes = arguments.bytes().expect("a canonical form");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("ours", |bencher| bencher.iter(|| black_box(arguments.ours())));
    group.bench_function("serde_jcs + sha2", |bencher| bencher.iter(|| black_box(arguments.reference())));
    group.finish();
}

criterion_group!(benches, keys);
criterion_main!(benches);
