// SPDX-License-Identifier: GPL-2.0-or-later
//! Shortest slice of the waiting entities of a cfs_rq, as the kernel's tree knows it (6.12).
//!
//! The kernel keeps waiting entities in a red-black tree whose nodes store the smallest virtual runtime and the shortest
//! slice below them (`se->min_vruntime`, `se->min_slice`). When a rotation or a removal puts a node in another one's
//! place, the first of these values is handed over, and the second is not (`RB_DECLARE_CALLBACKS()` knows one field). So
//! the shortest slice at the root is out of date at times, and a group's entity gets the slice that it finds there. Which
//! values are out of date depends on the shape of the tree. Therefore this is the same tree: inserted and removed nodes
//! rebalance it as in `lib/rbtree.c`.
//!
//! [`super::timeline`] has the order of all entities.

use crate::state::entity::vruntime_before;
use alloc::vec::Vec;

/// Position of a node in a tree.
pub type Slot = u32;

/// Value of an entity's slot while it is in no tree.
pub const NO_SLOT: Slot = Slot::MAX;

/// Children of a node.
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    parent: Slot,
    children: [Slot; 2],
    is_red: bool,
    deadline: u64,
    vruntime: u64,
    slice: u64,
    /// Smallest virtual runtime of the node and those below it.
    min_vruntime: u64,
    /// Shortest slice of the node and those below it; may be out of date.
    min_slice: u64,
}

/// Tree of the waiting entities of a cfs_rq, in the order of their deadlines.
#[derive(Clone, Debug)]
pub struct SliceTree {
    nodes: Vec<Node>,
    free: Vec<Slot>,
    root: Slot,
}

impl Default for SliceTree {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NO_SLOT }
    }
}

impl SliceTree {
    /// Makes an empty tree with room for some entities, so that they are added without an allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { nodes: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity), root: NO_SLOT }
    }

    /// Shortest slice of all entities as the root knows it; `None` for an empty tree.
    pub fn min_slice(&self) -> Option<u64> {
        (self.root != NO_SLOT).then(|| self.node(self.root).min_slice)
    }

    /// Adds an entity behind all whose deadline is not later, and returns its slot.
    pub fn insert(&mut self, deadline: u64, vruntime: u64, slice: u64) -> Slot {
        let (mut parent, mut side, mut at) = (NO_SLOT, LEFT, self.root);
        while at != NO_SLOT {
            parent = at;
            side = if vruntime_before(deadline, self.node(at).deadline) { LEFT } else { RIGHT };
            at = self.node(at).children[side];
        }
        let node = Node {
            parent,
            children: [NO_SLOT; 2],
            is_red: true,
            deadline,
            vruntime,
            slice,
            min_vruntime: vruntime,
            min_slice: slice,
        };
        let slot = self.store(node);
        if parent == NO_SLOT {
            self.node_mut(slot).is_red = false;
            self.root = slot;
            return slot;
        }
        self.node_mut(parent).children[side] = slot;
        self.propagate(parent, NO_SLOT);
        self.rebalance_after_insert(slot);
        slot
    }

    /// Removes the entity of a slot.
    pub fn remove(&mut self, slot: Slot) {
        self.free.push(slot);
        let Node { parent, children: [left, right], is_red, .. } = *self.node(slot);
        if parent == NO_SLOT && left == NO_SLOT && right == NO_SLOT {
            self.root = NO_SLOT;
            return;
        }
        let (changed, short) = if left == NO_SLOT || right == NO_SLOT {
            let only = if left == NO_SLOT { right } else { left };
            self.replace_child(parent, slot, only);
            if only != NO_SLOT {
                let child = self.node_mut(only);
                (child.parent, child.is_red) = (parent, is_red);
            }
            (parent, if only == NO_SLOT && !is_red { parent } else { NO_SLOT })
        } else {
            self.replace_by_successor(slot)
        };
        self.propagate(changed, NO_SLOT);
        if short != NO_SLOT {
            self.rebalance_after_removal(short);
        }
    }

    /// Changes the slice of an entity.
    pub fn set_slice(&mut self, slot: Slot, slice: u64) {
        self.node_mut(slot).slice = slice;
        self.propagate(slot, NO_SLOT);
    }

    #[inline]
    fn node(&self, slot: Slot) -> &Node {
        &self.nodes[slot as usize]
    }

    #[inline]
    fn node_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    fn store(&mut self, node: Node) -> Slot {
        match self.free.pop() {
            Some(slot) => {
                *self.node_mut(slot) = node;
                slot
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as Slot
            }
        }
    }

    fn is_red(&self, slot: Slot) -> bool {
        slot != NO_SLOT && self.node(slot).is_red
    }

    /// Recomputes both minima of a node from its children. Returns whether neither has changed.
    fn recompute(&mut self, slot: Slot) -> bool {
        let Node { children, vruntime, slice, min_vruntime, min_slice, .. } = *self.node(slot);
        let (mut least, mut shortest) = (vruntime, slice);
        for child in children.into_iter().filter(|&child| child != NO_SLOT) {
            let child = self.node(child);
            if vruntime_before(child.min_vruntime, least) {
                least = child.min_vruntime;
            }
            shortest = shortest.min(child.min_slice);
        }
        let node = self.node_mut(slot);
        (node.min_vruntime, node.min_slice) = (least, shortest);
        (least, shortest) == (min_vruntime, min_slice)
    }

    /// Recomputes the minima of a node and of those above it, up to `stop` or to one that does not change.
    fn propagate(&mut self, mut slot: Slot, stop: Slot) {
        while slot != stop && slot != NO_SLOT && !self.recompute(slot) {
            slot = self.node(slot).parent;
        }
    }

    fn replace_child(&mut self, parent: Slot, old: Slot, new: Slot) {
        if parent == NO_SLOT {
            self.root = new;
        } else {
            let side = self.side_of(parent, old);
            self.node_mut(parent).children[side] = new;
        }
    }

    fn side_of(&self, parent: Slot, child: Slot) -> usize {
        if self.node(parent).children[LEFT] == child { LEFT } else { RIGHT }
    }

    /// Rotates a node into the place of its parent. It takes over the smallest virtual runtime, and not the shortest
    /// slice.
    fn rotate_up(&mut self, slot: Slot) {
        let parent = self.node(slot).parent;
        let (above, side) = (self.node(parent).parent, self.side_of(parent, slot));
        let inner = self.node(slot).children[1 - side];
        self.replace_child(above, parent, slot);
        self.node_mut(parent).children[side] = inner;
        if inner != NO_SLOT {
            self.node_mut(inner).parent = parent;
        }
        self.node_mut(parent).parent = slot;
        let min_vruntime = self.node(parent).min_vruntime;
        let node = self.node_mut(slot);
        node.children[1 - side] = parent;
        (node.parent, node.min_vruntime) = (above, min_vruntime);
        self.recompute(parent);
    }

    fn rebalance_after_insert(&mut self, mut slot: Slot) {
        loop {
            let parent = self.node(slot).parent;
            if parent == NO_SLOT {
                self.node_mut(slot).is_red = false;
                return;
            }
            if !self.node(parent).is_red {
                return;
            }
            let above = self.node(parent).parent;
            let side = self.side_of(above, parent);
            let uncle = self.node(above).children[1 - side];
            if self.is_red(uncle) {
                self.node_mut(uncle).is_red = false;
                self.node_mut(parent).is_red = false;
                self.node_mut(above).is_red = true;
                slot = above;
                continue;
            }
            let top = if self.node(parent).children[1 - side] == slot {
                self.rotate_up(slot);
                slot
            } else {
                parent
            };
            self.node_mut(top).is_red = false;
            self.node_mut(above).is_red = true;
            self.rotate_up(top);
            return;
        }
    }

    /// Puts the next node in the place of a node with two children. Returns that next node, and the node below which a
    /// black node is missing, if any.
    fn replace_by_successor(&mut self, slot: Slot) -> (Slot, Slot) {
        let Node { parent, children: [left, right], is_red, min_vruntime, .. } = *self.node(slot);
        let mut next = right;
        while self.node(next).children[LEFT] != NO_SLOT {
            next = self.node(next).children[LEFT];
        }
        let Node { parent: old_parent, children: [_, orphan], is_red: was_red, .. } = *self.node(next);
        let new_parent = if next == right { next } else { old_parent };
        if next != right {
            self.node_mut(old_parent).children[LEFT] = orphan;
            self.node_mut(next).children[RIGHT] = right;
            self.node_mut(right).parent = next;
        }
        self.node_mut(next).min_vruntime = min_vruntime;
        if next != right {
            self.propagate(old_parent, next);
        }
        self.node_mut(next).children[LEFT] = left;
        self.node_mut(left).parent = next;
        self.replace_child(parent, slot, next);
        let node = self.node_mut(next);
        (node.parent, node.is_red) = (parent, is_red);
        if orphan == NO_SLOT {
            return (next, if was_red { NO_SLOT } else { new_parent });
        }
        let orphan = self.node_mut(orphan);
        (orphan.parent, orphan.is_red) = (new_parent, false);
        (next, NO_SLOT)
    }

    /// Restores the black height below a node, one of whose sides lacks a black node.
    fn rebalance_after_removal(&mut self, mut parent: Slot) {
        let mut short = NO_SLOT;
        loop {
            let side = if self.node(parent).children[RIGHT] == short { RIGHT } else { LEFT };
            let mut sibling = self.node(parent).children[1 - side];
            if self.node(sibling).is_red {
                self.node_mut(sibling).is_red = false;
                self.node_mut(parent).is_red = true;
                self.rotate_up(sibling);
                sibling = self.node(parent).children[1 - side];
            }
            let mut outer = self.node(sibling).children[1 - side];
            if !self.is_red(outer) {
                let inner = self.node(sibling).children[side];
                if !self.is_red(inner) {
                    self.node_mut(sibling).is_red = true;
                    if self.node(parent).is_red {
                        self.node_mut(parent).is_red = false;
                        return;
                    }
                    short = parent;
                    parent = self.node(parent).parent;
                    if parent == NO_SLOT {
                        return;
                    }
                    continue;
                }
                self.rotate_up(inner);
                (outer, sibling) = (sibling, inner);
            }
            let colour = self.node(parent).is_red;
            self.node_mut(sibling).is_red = colour;
            self.node_mut(parent).is_red = false;
            self.node_mut(outer).is_red = false;
            self.rotate_up(sibling);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
