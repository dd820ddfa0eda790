// SPDX-License-Identifier: GPL-2.0-or-later
//! One update of an entity's averages, for each mix of `pelt bench`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

mod mixes;

fn pelt_update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pelt_update");
    for mix in mixes::Mixes::new() {
        group.throughput(Throughput::Elements(mix.inputs.len() as u64));
        let mut entity = mixes::nice_0_entity();
        let mut now = 0;
        group.bench_function(mix.name.split(" (").next().expect("a name has a first part"), |bencher| {
            bencher.iter(|| {
                for input in &mix.inputs {
                    now += input.delta_ns;
                    mixes::update(black_box(&mut entity), now, input);
                }
            });
        });
    }
}

criterion_group!(benches, pelt_update);
criterion_main!(benches);
