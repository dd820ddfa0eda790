// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[cpu_type]]`: types of CPUs and their capacities.

use super::cpu_list::CpuList;
use super::cpus::Shape;
use super::error::DescriptionFault;
use super::raw::RawCpuType;
use super::values::{name, number};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::{Capacity, SCHED_CAPACITY_SCALE};
use toml::Spanned;

/// A type of CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuType {
    /// Name, such as `Cortex-A53`.
    pub name: String,
    /// CPUs of this type. Each CPU of the machine has one type.
    pub cpus: CpuList,
    /// Capacity at the highest frequency: 1 to 1024, and 1024 for the biggest type of the machine.
    pub capacity: Capacity,
}

/// Table that claimed each CPU, where two tables must not claim the same CPU.
pub(super) struct CpuClaims {
    owner: Vec<Option<usize>>,
}

impl CpuClaims {
    pub(super) fn new(count: u32) -> Self {
        Self { owner: vec![None; count as usize] }
    }

    /// Claims the CPUs of table `index` (from 0).
    pub(super) fn claim(
        &mut self,
        cpus: &CpuList,
        index: usize,
        table: &str,
        at: &Spanned<String>,
    ) -> Result<(), DescriptionFault> {
        for cpu in cpus.iter() {
            if let Some(other) = self.owner[cpu.index()].replace(index) {
                let message = format!("cpu {} is already in {table} {}", cpu.0, other + 1);
                return Err(DescriptionFault::from_value(at, message, format!("name each CPU in one {table} only")));
            }
        }
        Ok(())
    }

    /// Returns the CPUs that no table has claimed.
    fn unclaimed(&self) -> Option<CpuList> {
        let free: Vec<u32> = (0..self.owner.len() as u32).filter(|&cpu| self.owner[cpu as usize].is_none()).collect();
        (!free.is_empty()).then(|| CpuList::from_sorted(free))
    }
}

/// Parses the CPU list of a table, and adds the position to an error.
pub(super) fn parse_cpu_list(text: &Spanned<String>, count: u32) -> Result<CpuList, DescriptionFault> {
    let help = "write CPUs as in \"0-3,8\", or \"all\"";
    CpuList::parse(text.get_ref(), count).map_err(|message| DescriptionFault::from_value(text, message.text, help))
}

pub(super) fn from_raw(raw: &[Spanned<RawCpuType>], shape: &Shape) -> Result<Vec<CpuType>, DescriptionFault> {
    let count = shape.nr_cpus();
    let [.., last] = raw else {
        return Ok(vec![CpuType { name: "cpu".to_owned(), cpus: CpuList::all(count), capacity: SCHED_CAPACITY_SCALE }]);
    };
    let mut claims = CpuClaims::new(count);
    let mut types: Vec<CpuType> = Vec::with_capacity(raw.len());
    for (index, raw) in raw.iter().map(Spanned::get_ref).enumerate() {
        let one = CpuType {
            name: name(&raw.name)?,
            cpus: parse_cpu_list(&raw.cpus, count)?,
            capacity: number(&raw.capacity, 1..=SCHED_CAPACITY_SCALE, "")?,
        };
        if types.iter().any(|other| other.name == one.name) {
            let message = format!("there already is a type `{}`", one.name);
            return Err(DescriptionFault::from_value(&raw.name, message, "give each type a name of its own"));
        }
        claims.claim(&one.cpus, index, "cpu_type", &raw.cpus)?;
        check_siblings(&one.cpus, shape, &raw.cpus)?;
        types.push(one);
    }
    if let Some(free) = claims.unclaimed() {
        let message = format!("CPUs {free} have no type");
        return Err(DescriptionFault::from_value(last, message, "name each CPU in one cpu_type"));
    }
    if types.iter().all(|one| one.capacity < SCHED_CAPACITY_SCALE) {
        let biggest = types.iter().map(|one| one.capacity).max().unwrap_or_default();
        let message = format!("no CPU has capacity {SCHED_CAPACITY_SCALE}; the biggest has {biggest}");
        let help = format!("scale all capacities so that the biggest CPU has {SCHED_CAPACITY_SCALE}");
        return Err(DescriptionFault::from_value(&last.get_ref().capacity, message, help));
    }
    Ok(types)
}

/// Checks that all threads of a core have one type.
fn check_siblings(cpus: &CpuList, shape: &Shape, at: &Spanned<String>) -> Result<(), DescriptionFault> {
    for cpu in cpus.iter() {
        let core = shape.places[cpu.index()].core;
        let apart = |other: &CpuId| shape.places[other.index()].core == core && !cpus.contains(*other);
        if let Some(other) = (0..shape.nr_cpus()).map(CpuId).find(apart) {
            let message = format!("cpu {} is here, but not its sibling {}", cpu.0, other.0);
            return Err(DescriptionFault::from_value(at, message, "threads of a core are of one type"));
        }
    }
    Ok(())
}
