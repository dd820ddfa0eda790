// SPDX-License-Identifier: GPL-2.0-or-later
//! Owners of addresses: a kernel variable, per-CPU data, an object of a slab cache, a kernel stack.

use super::kernel::Symbols;
use std::collections::HashMap;

/// Size of a page.
const PAGE: u64 = 4096;

/// Bytes of a CPU's per-CPU area at most.
const MAX_PERCPU_BYTES: u64 = 2 << 20;

/// Owners of memory, as the guest prints them.
pub(super) struct Owners<'a> {
    symbols: &'a Symbols,
    image: (u64, u64),
    percpu: (u64, u64),
    /// By CPU.
    percpu_offsets: Vec<u64>,
    /// Slab cache by address of the page.
    slabs: HashMap<u64, String>,
    stacks: Vec<(u64, u64)>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(symbols: &'a Symbols) -> Self {
        let range =
            |first, last| (symbols.address(first).unwrap_or_default(), symbols.address(last).unwrap_or_default());
        Self {
            symbols,
            image: range("_text", "_end"),
            percpu: range("__per_cpu_start", "__per_cpu_end"),
            percpu_offsets: Vec::new(),
            slabs: HashMap::new(),
            stacks: Vec::new(),
        }
    }

    /// Reads a line of the guest. Returns whether it is about owners.
    pub(super) fn read(&mut self, line: &str) -> bool {
        let hex = |word: &str| u64::from_str_radix(word, 16).ok();
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["SLAB", page, name] => {
                if let Some(page) = hex(page) {
                    self.slabs.insert(page, name.to_owned());
                }
            }
            ["STACK", begin, end] => {
                if let (Some(begin), Some(end)) = (hex(begin), hex(end)) {
                    self.stacks.push((begin, end));
                }
            }
            ["PERCPU", _, offset] => self.percpu_offsets.extend(hex(offset)),
            _ => return false,
        }
        true
    }

    /// Returns the owner of an address.
    pub(super) fn owner(&self, physical: u64, address: u64) -> String {
        if address >> 63 == 0 {
            return "user".to_owned();
        }
        for offset in &self.percpu_offsets {
            let place = address.wrapping_sub(*offset);
            if (self.percpu.0..self.percpu.1).contains(&place) {
                return self.symbol(place);
            }
        }
        if (self.image.0..self.image.1).contains(&address) {
            return self.symbol(address);
        }
        if self.stacks.iter().any(|(begin, end)| (begin..end).contains(&&address)) {
            return "stack".to_owned();
        }
        let is_percpu = |offset: &u64| address.wrapping_sub(*offset).wrapping_sub(self.percpu.1) < MAX_PERCPU_BYTES;
        match self.slabs.get(&(physical / PAGE * PAGE)) {
            Some(name) => name.clone(),
            None if self.percpu_offsets.iter().any(is_percpu) => "percpu".to_owned(),
            None => "page".to_owned(),
        }
    }

    /// Returns the name of the last symbol up to an address.
    fn symbol(&self, address: u64) -> String {
        let place = self.symbols.list.partition_point(|symbol| symbol.address <= address);
        place.checked_sub(1).map_or_else(String::new, |place| self.symbols.list[place].name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Symbol;
    use super::*;

    #[test]
    fn owners_are_found_by_address() {
        let symbol = |address, name: &str| Symbol { address, kind: 'd', name: name.to_owned() };
        let list = vec![
            symbol(0, "__per_cpu_start"),
            symbol(0x100, "runqueues"),
            symbol(0x200, "__per_cpu_end"),
            symbol(0xffff_8000_0000_0000, "_text"),
            symbol(0xffff_8000_0000_1000, "jiffies"),
            symbol(0xffff_8000_0000_2000, "_end"),
        ];
        let symbols = Symbols { release: String::new(), list };
        let mut owners = Owners::new(&symbols);
        for line in [
            "PERCPU 0 ffff000000000000",
            "PERCPU 1 ffff000000400000",
            "SLAB 5000 dentry",
            "STACK ffffc90000000000 ffffc90000004000",
        ] {
            assert!(owners.read(line));
        }
        assert!(!owners.read("RUN pass-pipe"));
        let owner = |physical, address| owners.owner(physical, address);
        assert_eq!(owner(0x1140, 0xffff_0000_0000_0140), "runqueues");
        assert_eq!(owner(0x1140, 0xffff_0000_0040_0140), "runqueues");
        assert_eq!(owner(0x1140, 0xffff_0000_0040_0940), "percpu");
        assert_eq!(owner(0x2140, 0xffff_8000_0000_1040), "jiffies");
        assert_eq!(owner(0x5040, 0xffff_1000_0000_5040), "dentry");
        assert_eq!(owner(0x6040, 0xffff_c900_0000_3f40), "stack");
        assert_eq!(owner(0x7040, 0xffff_1000_0000_7040), "page");
        assert_eq!(owner(0x7040, 0x7fff_1000_0000), "user");
    }
}
