// SPDX-License-Identifier: GPL-2.0-or-later
//! Golden tests of scaling time by weights.

use crate::golden::{compared, number, recording};
use crate::types::weight::{LoadWeight, calc_delta, calc_delta_fair};

#[test]
fn time_is_scaled_by_weights() {
    let mut nr_compared = 0;
    for line in recording("vec-arith-core-6.1.jsonl.zst").iter().filter(|line| line["f"] == "__calc_delta") {
        let mut load = LoadWeight::new(number(&line["lw"]));
        let out = calc_delta(number(&line["delta"]), number(&line["weight"]), &mut load);
        let actual = (u64::from(load.inv_weight), out);
        assert_eq!(actual, (number(&line["inv"]), number(&line["out"])), "{line}");
        nr_compared += 1;
    }
    compared("__calc_delta", nr_compared, 6000);
}

#[test]
fn virtual_time_at_every_nice_value() {
    let mut nr_compared = 0;
    for line in recording("vec-arith-core-6.1.jsonl.zst").iter().filter(|line| line["f"] == "calc_delta_fair") {
        let nice = line["nice"].as_i64().expect("a nice value") as i8;
        let actual = calc_delta_fair(number(&line["delta"]), &mut LoadWeight::from_nice(nice));
        assert_eq!(actual, number(&line["out"]), "{line}");
        nr_compared += 1;
    }
    compared("calc_delta_fair", nr_compared, 280);
}
