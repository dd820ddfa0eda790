// SPDX-License-Identifier: GPL-2.0-or-later
//! Choice of the calls of compiled kernels that are counted as operations, and so cost time.
//!
//! A kernel alone counts the functions of `engine/operations.txt` that it has. Kernels that are compared count alike,
//! since a function that only one of them has would be a difference in costs without one in behaviour:
//!
//! 1. A function that one kernel has under a name of its own is the same function if its body is: it was renamed, or
//!    its body was split off.
//! 2. An entry whose functions all kernels have counts in all.
//! 3. The cost of a function that only some kernels have goes to the closest caller that all count: the function
//!    within which the entry counts, or the nearest one in the call graph of the sources. It is charged once per call
//!    of that caller, in all kernels.
//! 4. If there is no such caller, the function costs nothing. Its calls are counted separately, and reported.

use crate::error::KernelError;
use crate::functions::{FunctionSource, ObjectFunctions, uncounted};
use crate::object::CountedOps;
use crate::operations::{FunctionNames, OpEntry, table};
use fairlab_sched::work::{KernelOp, NR_OPS};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Largest number of functions whose calls are counted without a cost.
const MAX_UNCHARGED: usize = crate::object::MAX_OPERATIONS - NR_OPS;

/// Counted function that not all kernels of a comparison have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommonFunction {
    /// Name of the function.
    pub function: String,
    /// Operation as which it is counted.
    pub operation: KernelOp,
    /// Whether each kernel of the comparison has it, in their order.
    pub is_in: Vec<bool>,
    /// Caller whose calls are charged in all kernels instead; `None` if nothing is charged.
    pub charged_to: Option<String>,
}

/// Functions that a kernel counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostPlan {
    /// Functions to count. Operations from [`NR_OPS`] on are calls without a cost, by position in `uncommon`.
    pub counted: Vec<CountedOps>,
    /// Functions that not all kernels of the comparison have.
    pub uncommon: Vec<UncommonFunction>,
    /// Names that this kernel has for functions of the others.
    renamed: BTreeMap<String, String>,
    addresses: BTreeMap<String, u64>,
}

impl CostPlan {
    /// Returns the plan of one of several kernels that are compared; of a single one, that of its own functions.
    ///
    /// # Errors
    /// If a file beside an object cannot be read.
    pub fn of_objects(objects: &[&Path], own: usize) -> Result<Self, KernelError> {
        let mut kernels =
            objects.iter().map(|object| ObjectFunctions::of_object(object)).collect::<Result<Vec<_>, _>>()?;
        // Every run needs its plan, and most kernels that are compared have the same functions.
        if !(Comparison { kernels: &kernels }).has_equal_names() {
            kernels.iter_mut().zip(objects).try_for_each(|(kernel, object)| kernel.read_sources(object))?;
        }
        Ok(Self::new(&kernels, own))
    }

    /// Returns the plan of kernel `own` among kernels that are compared.
    pub fn new(kernels: &[ObjectFunctions], own: usize) -> Self {
        let comparison = Comparison { kernels };
        let addresses = kernels[own].addresses.clone();
        let mut plan = Self { addresses, ..Self::default() };
        for name in comparison.table_names() {
            if let Some(renamed) = comparison.renamed(name, own) {
                plan.renamed.insert(name.to_owned(), renamed.to_owned());
            }
        }
        let mut moved = BTreeSet::new();
        for entry in &table() {
            let is_in: Vec<bool> = (0..kernels.len()).map(|kernel| comparison.has(entry, kernel)).collect();
            if is_in.iter().all(|is_in| *is_in) {
                plan.counted.extend(plan.resolve(entry));
            } else if is_in.contains(&true) && entry.times > 0 {
                let caller = comparison.caller_of_all(entry, &is_in);
                let own_entry = plan.resolve(entry).filter(|_| is_in[own] && plan.uncommon.len() < MAX_UNCHARGED);
                plan.counted.extend(own_entry.map(|counted| CountedOps {
                    operation: NR_OPS + plan.uncommon.len(),
                    is_hidden: true,
                    ..counted
                }));
                // A function of several entries with one caller is charged once.
                let charged = caller.clone().filter(|caller| moved.insert((entry.op, caller.0[0])));
                let charged = charged.and_then(|caller| {
                    plan.resolve(&OpEntry { function: caller, within: None, is_direct: false, ..entry.clone() })
                });
                plan.counted.extend(charged);
                let holder = is_in.iter().position(|is_in| *is_in).expect("one has it");
                plan.uncommon.push(UncommonFunction {
                    function: comparison.find(&entry.function, holder).unwrap_or_default().to_owned(),
                    operation: entry.op,
                    is_in,
                    charged_to: caller.and_then(|caller| comparison.find(&caller, holder)).map(str::to_owned),
                });
            }
        }
        plan
    }

    /// Returns the address of a function in this kernel, by its name there or in a kernel that it is compared with.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(self.renamed.get(name).map_or(name, String::as_str)).copied()
    }

    fn resolve(&self, entry: &OpEntry) -> Option<CountedOps> {
        let address = |names: &FunctionNames| names.0.iter().find_map(|name| self.address(name));
        let within = match &entry.within {
            None => None,
            Some(names) => Some(address(names)?),
        };
        Some(CountedOps {
            function: address(&entry.function)?,
            operation: entry.op as usize,
            times: entry.times,
            within,
            is_direct: entry.is_direct,
            is_hidden: false,
        })
    }
}

/// Kernels that are compared.
struct Comparison<'a> {
    kernels: &'a [ObjectFunctions],
}

impl<'a> Comparison<'a> {
    fn table_names(&self) -> BTreeSet<&'static str> {
        let names = |entry: OpEntry| entry.function.0.into_iter().chain(entry.within.into_iter().flat_map(|it| it.0));
        table().into_iter().flat_map(names).collect()
    }

    /// Whether all kernels have the same of the table's functions, under the same names.
    fn has_equal_names(&self) -> bool {
        let is_equal = |name: &str| self.kernels.iter().all(|kernel| kernel.has(name) == self.kernels[0].has(name));
        self.table_names().into_iter().all(is_equal)
    }

    /// Returns the name that a kernel has for a function of the table.
    fn find(&self, names: &FunctionNames, kernel: usize) -> Option<&'a str> {
        let own = names.in_object(&self.kernels[kernel]);
        own.or_else(|| names.0.iter().find_map(|name| self.renamed(name, kernel)))
    }

    /// Whether a kernel can count an entry.
    fn has(&self, entry: &OpEntry, kernel: usize) -> bool {
        let mut names = [Some(&entry.function), entry.within.as_ref()].into_iter().flatten();
        names.all(|names| self.find(names, kernel).is_some())
    }

    /// Returns the name under which a kernel has a function that the first kernel with this name calls so: the only
    /// function with the same body that the other kernel does not have.
    fn renamed(&self, name: &str, kernel: usize) -> Option<&'a str> {
        let own = &self.kernels[kernel];
        let other = self.kernels.iter().find(|other| other.has(name)).filter(|_| !own.has(name))?;
        let source = other.sources.get(name)?;
        // A function without hooks cannot be counted under its new name.
        let has_hooks = |name: &str| !uncounted().any(|text| name.contains(text));
        let is_new = |name: &str, of: &ObjectFunctions, in_other: &ObjectFunctions| of.has(name) && !in_other.has(name);
        let is_same_call =
            |(one, two): (&String, &String)| one == two || (is_new(one, other, own) && is_new(two, own, other));
        let is_same = |beside: &FunctionSource| {
            beside.body == source.body
                && beside.calls.len() == source.calls.len()
                && source.calls.iter().zip(&beside.calls).all(is_same_call)
        };
        let mut found =
            own.sources.iter().filter(|(name, beside)| is_new(name, own, other) && has_hooks(name) && is_same(beside));
        let (renamed, _) = found.next()?;
        found.next().is_none().then_some(renamed.as_str())
    }

    /// Returns the closest caller of an entry's function that all kernels have and the table names.
    fn caller_of_all(&self, entry: &OpEntry, is_in: &[bool]) -> Option<FunctionNames> {
        let is_in_all =
            |names: &FunctionNames| (0..self.kernels.len()).all(|kernel| self.find(names, kernel).is_some());
        if let Some(within) = entry.within.as_ref().filter(|within| is_in_all(within)) {
            return Some(within.clone());
        }
        let holder = is_in.iter().position(|is_in| *is_in)?;
        let known: Vec<FunctionNames> = table().into_iter().map(|entry| entry.function).collect();
        let (mut seen, mut level) = (BTreeSet::new(), BTreeSet::from([self.find(&entry.function, holder)?]));
        while !level.is_empty() {
            level = level
                .iter()
                .flat_map(|name| self.kernels[holder].callers(name))
                .filter(|name| seen.insert(*name))
                .collect();
            let is_counted = |names: &&FunctionNames| {
                self.find(names, holder).is_some_and(|name| level.contains(name))
                    && **names != entry.function
                    && is_in_all(names)
            };
            if let Some(caller) = known.iter().find(is_counted) {
                return Some(caller.clone());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a kernel from functions: name, body, calls. All of them can be counted.
    fn kernel(functions: &[(&str, &str, &[&str])]) -> ObjectFunctions {
        let mut made = ObjectFunctions::default();
        for (nr, (name, body, calls)) in functions.iter().enumerate() {
            made.addresses.insert((*name).to_owned(), 0x100 + nr as u64);
            let calls = calls.iter().map(|call| (*call).to_owned()).collect();
            made.sources.insert((*name).to_owned(), FunctionSource { body: (*body).to_owned(), calls });
        }
        made
    }

    /// Returns what a plan counts: operation, address, caller.
    fn counted(plan: &CostPlan) -> Vec<(usize, u64, Option<u64>)> {
        plan.counted.iter().map(|counted| (counted.operation, counted.function, counted.within)).collect()
    }

    const SCAN: usize = KernelOp::ScanCpu as usize;
    const WAKEUP: usize = KernelOp::Wakeup as usize;

    #[test]
    fn a_kernel_alone_counts_the_functions_that_it_has() {
        let plan = CostPlan::new(&[kernel(&[("try_to_wake_up", "a", &[]), ("other", "b", &[])])], 0);
        assert_eq!((counted(&plan), plan.uncommon.len()), (vec![(WAKEUP, 0x100, None)], 0));
        assert_eq!((plan.address("other"), plan.address("third")), (Some(0x101), None));
    }

    #[test]
    fn a_renamed_function_counts_under_its_new_name() {
        let base =
            kernel(&[("select_idle_cpu", "a", &["available_idle_cpu"]), ("available_idle_cpu", "b", &["idle_cpu"])]);
        let patched = kernel(&[("select_idle_cpu", "a", &["is_idle"]), ("is_idle", "b", &["idle_cpu"])]);
        let kernels = [base, patched];
        for own in 0..2 {
            let plan = CostPlan::new(&kernels, own);
            assert_eq!((counted(&plan), plan.uncommon.len()), (vec![(SCAN, 0x101, Some(0x100))], 0));
        }
        assert_eq!(CostPlan::new(&kernels, 1).address("available_idle_cpu"), Some(0x101));
        // Without an equal body, or with two of them, it is a different function.
        let other = kernel(&[("select_idle_cpu", "a", &[]), ("is_idle", "c", &["idle_cpu"])]);
        assert_eq!(CostPlan::new(&[kernels[0].clone(), other], 0).uncommon.len(), 1);
        let two =
            kernel(&[("select_idle_cpu", "a", &[]), ("is_idle", "b", &["idle_cpu"]), ("is_free", "b", &["idle_cpu"])]);
        assert_eq!(CostPlan::new(&[kernels[0].clone(), two], 0).uncommon.len(), 1);
    }

    #[test]
    fn the_cost_of_a_function_of_one_kernel_goes_to_its_caller_in_both() {
        let base = kernel(&[("find_idlest_group_cpu", "a", &["sched_idle_cpu"]), ("sched_idle_cpu", "b", &[])]);
        let patched = kernel(&[("find_idlest_group_cpu", "c", &["choose"]), ("choose", "d", &[])]);
        let kernels = [base, patched];
        let [base, patched] = [0, 1].map(|own| CostPlan::new(&kernels, own));
        assert_eq!(counted(&base), [(NR_OPS, 0x101, Some(0x100)), (SCAN, 0x100, None)]);
        assert_eq!(counted(&patched), [(SCAN, 0x100, None)]);
        let uncommon = UncommonFunction {
            function: "sched_idle_cpu".to_owned(),
            operation: KernelOp::ScanCpu,
            is_in: vec![true, false],
            charged_to: Some("find_idlest_group_cpu".to_owned()),
        };
        assert_eq!((&base.uncommon, &patched.uncommon), (&vec![uncommon.clone()], &vec![uncommon]));
        assert!(base.counted[0].is_hidden);
    }

    #[test]
    fn the_call_graph_leads_to_the_closest_caller_and_without_one_nothing_is_charged() {
        let base = kernel(&[
            ("detach_task", "a", &[]),
            ("detach_tasks", "b", &["detach_task"]),
            ("load_balance", "c", &["detach_tasks"]),
            ("newidle_balance", "d", &["load_balance"]),
            ("hrtick", "e", &[]),
        ]);
        let patched = kernel(&[("load_balance", "x", &[]), ("newidle_balance", "d", &["load_balance"])]);
        let plan = CostPlan::new(&[base, patched], 1);
        let of = |name: &str| plan.uncommon.iter().find(|uncommon| uncommon.function == name).expect("it is uncommon");
        assert_eq!(of("detach_task").charged_to.as_deref(), Some("load_balance"));
        assert_eq!(of("hrtick").charged_to, None);
        let detach = KernelOp::DetachTask as usize;
        assert!(counted(&plan).contains(&(detach, 0x100, None)));
        assert!(!counted(&plan).iter().any(|(operation, ..)| *operation == KernelOp::HrtimerFire as usize));
    }
}
