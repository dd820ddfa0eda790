// SPDX-License-Identifier: GPL-2.0-or-later
//! Knots: files each of which reaches each other by calls.

use std::collections::BTreeSet;

/// The largest cycle of a graph of so many nodes; empty if no two nodes reach each other.
pub(super) fn largest(nr_nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let reached: Vec<Vec<bool>> = (0..nr_nodes).map(|node| reached_from(node, nr_nodes, edges)).collect();
    let mut largest = Vec::new();
    for (node, from_node) in reached.iter().enumerate() {
        let cycles: Vec<usize> = (0..nr_nodes).filter(|&other| from_node[other] && reached[other][node]).collect();
        if cycles.len() > largest.len().max(1) {
            largest = cycles;
        }
    }
    largest
}

/// Which nodes a node reaches, itself among them.
fn reached_from(node: usize, nr_nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<bool> {
    let mut is_reached = vec![false; nr_nodes];
    is_reached[node] = true;
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        for &(_, next) in edges.range((node, 0)..(node + 1, 0)) {
            if !is_reached[next] {
                is_reached[next] = true;
                open.push(next);
            }
        }
    }
    is_reached
}
