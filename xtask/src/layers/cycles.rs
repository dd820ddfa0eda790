// SPDX-License-Identifier: GPL-2.0-or-later
//! Cycles in the graph of calls between files.

use std::collections::BTreeSet;

/// Returns the largest set of nodes that all reach each other; empty if no two nodes do.
pub(super) fn largest_cycle(nr_nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<usize> {
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

/// Returns for each node whether it is reachable from `node`, including itself.
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
