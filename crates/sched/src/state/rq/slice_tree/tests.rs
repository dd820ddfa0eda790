// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the tree: its shape stays a red-black tree, its order is that of the deadlines, virtual runtimes are up to
//! date, and slices are out of date as in the kernel.

use super::{LEFT, NO_SLOT, RIGHT, SliceTree, Slot};
use crate::state::entity::vruntime_before;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Checks the nodes below a slot. Returns the number of black nodes on each path, and the smallest virtual runtime.
fn check(tree: &SliceTree, slot: Slot, parent: Slot, order: &mut Vec<Slot>) -> (usize, Option<u64>) {
    if slot == NO_SLOT {
        return (1, None);
    }
    let node = *tree.node(slot);
    assert_eq!(node.parent, parent);
    assert!(!(node.is_red && tree.is_red(parent)), "a red node has a red child");
    let (left_black, left_least) = check(tree, node.children[LEFT], slot, order);
    order.push(slot);
    let (right_black, right_least) = check(tree, node.children[RIGHT], slot, order);
    assert_eq!(left_black, right_black, "paths have different numbers of black nodes");
    let least = [left_least, right_least]
        .into_iter()
        .flatten()
        .fold(node.vruntime, |least, other| if vruntime_before(other, least) { other } else { least });
    assert_eq!(node.min_vruntime, least);
    (left_black + usize::from(!node.is_red), Some(least))
}

fn order(tree: &SliceTree) -> Vec<Slot> {
    let mut slots = Vec::new();
    check(tree, tree.root, NO_SLOT, &mut slots);
    assert!(!tree.is_red(tree.root));
    slots
}

proptest! {
    #[test]
    fn stays_a_red_black_tree_in_the_order_of_the_deadlines(
        steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..40, 1u64..9, any::<prop::sample::Index>()), 1..200),
    ) {
        let (mut tree, mut expected): (SliceTree, Vec<(u64, Slot)>) = Default::default();
        for (is_removed, deadline, vruntime, slice, index) in steps {
            if is_removed && !expected.is_empty() {
                tree.remove(expected.remove(index.index(expected.len())).1);
            } else {
                let deadline = deadline.wrapping_sub(20);
                let slot = tree.insert(deadline, vruntime.wrapping_sub(20), slice);
                let at = expected.partition_point(|&(other, _)| !vruntime_before(deadline, other));
                expected.insert(at, (deadline, slot));
            }
            prop_assert_eq!(order(&tree), expected.iter().map(|&(_, slot)| slot).collect::<Vec<_>>());
            let slices = expected.iter().map(|&(_, slot)| tree.node(slot).slice);
            prop_assert_eq!(tree.min_slice().is_some(), slices.min().is_some());
        }
    }
}

#[test]
fn shortest_slice_is_exact_while_nothing_rotates() {
    let mut tree = SliceTree::default();
    tree.insert(20, 0, 3);
    let early = tree.insert(10, 0, 3);
    let late = tree.insert(30, 0, 1);
    assert_eq!(tree.min_slice(), Some(1));
    tree.set_slice(early, 2);
    tree.remove(late);
    assert_eq!(tree.min_slice(), Some(2));
    tree.set_slice(early, 5);
    assert_eq!(tree.min_slice(), Some(3));
}

/// The third node rotates above the first one, whose short slice its own value does not learn.
#[test]
fn node_that_rotates_up_does_not_learn_of_a_shorter_slice() {
    let mut tree = SliceTree::default();
    tree.insert(10, 0, 1);
    tree.insert(20, 0, 3);
    tree.insert(30, 0, 3);
    assert_eq!(tree.min_slice(), Some(3));
}
