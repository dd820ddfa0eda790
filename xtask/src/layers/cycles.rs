// SPDX-License-Identifier: GPL-2.0-or-later
//! Cycles in a graph of files.

use std::collections::BTreeSet;

/// Returns the strongly connected components with at least two nodes, largest first. The nodes of a component
/// ascend.
pub(super) fn cycles(nr_nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..nr_nodes).map(|node| reached_from(node, nr_nodes, edges)).collect();
    let mut cycles = Vec::new();
    let mut is_placed = vec![false; nr_nodes];
    for (node, from_node) in reached.iter().enumerate() {
        if is_placed[node] {
            continue;
        }
        let cycle: Vec<usize> = (node..nr_nodes).filter(|&other| from_node[other] && reached[other][node]).collect();
        cycle.iter().for_each(|&member| is_placed[member] = true);
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    cycles
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
