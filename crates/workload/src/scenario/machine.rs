// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about the machine: CPUs, their topology and capacities, domains, frequencies and interrupts.

use super::tokens::Tokens;
use super::{FreqDomainSpec, IrqLoad, ScenarioMachine};
use crate::message::Message;
use crate::source_text::SourceText;
use crate::suggest;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};

/// Limits of the grammar.
const MAX_CPUS: u32 = 4096;
const MAX_NODES: u32 = 32;
const MAX_LEVELS: usize = 7;
const MAX_FREQ_DOMAINS: usize = 16;
const MAX_FREQUENCIES: usize = 16;
const MAX_FREQ_STEPS: usize = 10_000;
const MAX_IRQS: usize = 256;

/// Distances of the ACPI's SLIT.
const LOCAL_DISTANCE: u32 = 10;
const REMOTE_DISTANCE: u32 = 20;

/// Returns an error if `used` has reached the limit `most`.
pub(super) fn check_limit(words: &Tokens<'_>, at: usize, used: usize, most: usize) -> Result<(), Message> {
    if used < most {
        return Ok(());
    }
    Err(words.source.error(at, format!("too many of these, at most {most}")))
}

/// Machine as far as the file has described it.
#[derive(Debug)]
pub(super) struct MachineDraft {
    pub(super) machine: ScenarioMachine,
    /// Byte offset of the distances, and the number of nodes that they describe.
    distances: Option<(usize, u32)>,
    /// Byte offset of each frequency domain.
    domains_at: Vec<usize>,
    /// Byte offset of the first frequency step.
    freq_step_at: Option<usize>,
}

impl MachineDraft {
    /// Reads the number of CPUs, which follows `cpus`.
    pub(super) fn new(words: &mut Tokens<'_>) -> Result<Self, Message> {
        Ok(Self::symmetric(words.next_small("the number of CPUs", 1..=MAX_CPUS)?))
    }

    /// Returns a machine of CPUs of equal capacity, each its own core, with one cache.
    pub(super) fn symmetric(nr_cpus: u32) -> Self {
        let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
        Self {
            machine: ScenarioMachine {
                nr_cpus,
                topology: MachineTopology {
                    cpus: (0..nr_cpus).map(place).collect(),
                    capacity: vec![SCHED_CAPACITY_SCALE; nr_cpus as usize],
                    levels: vec![TopologyLevel::Mc, TopologyLevel::All],
                    distances: Vec::new(),
                },
                ipi_latency: Nanos::ZERO,
                tick_skew: Nanos::ZERO,
                newidle_cost: Nanos::ZERO,
                scale_work: false,
                freq_domains: Vec::new(),
                freq_steps: Vec::new(),
                irqs: Vec::new(),
            },
            distances: None,
            domains_at: Vec::new(),
            freq_step_at: None,
        }
    }

    /// Makes the checks that need the whole file, and fills in the distances.
    pub(super) fn finish(mut self, source: SourceText<'_>) -> Result<ScenarioMachine, Message> {
        for (domain, at) in self.machine.freq_domains.iter().zip(&self.domains_at) {
            let capacity = |cpu: u32| self.machine.topology.capacity[cpu as usize];
            let mut cpus = domain.cpus.clone();
            let has_powers = domain.opps[0].1.is_some();
            if has_powers && !cpus.all(|cpu| capacity(cpu) == capacity(*domain.cpus.start())) {
                let message = "the CPUs of a frequency domain with powers have different capacities";
                return Err(source.error(*at, message).with_help("give each capacity a domain of its own"));
            }
        }
        let topology = &mut self.machine.topology;
        let nr_nodes = topology.cpus.iter().map(|place| place.node + 1).max().expect("at least one CPU");
        if nr_nodes > MAX_NODES {
            return Err(source.error(source.text.len(), format!("{nr_nodes} nodes, at most {MAX_NODES}")));
        }
        match self.distances {
            Some((at, given)) if given != nr_nodes => {
                let message = format!("distances of {given} nodes, but there are {nr_nodes}");
                return Err(source.error(at, message).with_help("`topo node=E` puts CPU i into node i / E"));
            }
            Some(_) => {}
            None => {
                let distance = |from, to| if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
                topology.distances =
                    (0..nr_nodes).map(|from| (0..nr_nodes).map(|to| distance(from, to)).collect()).collect();
            }
        }
        match self.freq_step_at {
            Some(at) if !self.machine.freq_domains.is_empty() => {
                Err(source.error(at, "`freq` and `fdom` exclude each other"))
            }
            _ => Ok(self.machine),
        }
    }

    pub(super) fn topo(&mut self, words: &mut Tokens<'_>) -> Result<(), Message> {
        let mut next = Some(words.word("a unit and its number of CPUs, such as llc=8")?);
        while let Some(word) = next {
            let (unit, size) = match word.split_once('=') {
                Some((unit, size)) => (unit.text, Some(size)),
                None => (word.text, None),
            };
            let field: fn(&mut CpuPlace) -> &mut u32 = match unit {
                "smt" if size.is_some() => |place| &mut place.core,
                "cls" if size.is_some() => |place| &mut place.cluster,
                "llc" if size.is_some() => |place| &mut place.llc,
                "pkg" if size.is_some() => |place| &mut place.package,
                "node" if size.is_some() => |place| &mut place.node,
                _ => {
                    let help = suggest::help(unit, "units", &["smt=", "cls=", "llc=", "pkg=", "node="]);
                    return Err(words.error(word, format!("unknown unit `{}`", word.text)).with_help(help));
                }
            };
            let size = words.parse_small(size.expect("checked above"), 1..=MAX_CPUS)?;
            for (cpu, place) in (0..).zip(&mut self.machine.topology.cpus) {
                *field(place) = cpu / size;
            }
            next = words.next_optional();
        }
        Ok(())
    }

    pub(super) fn smtmap(&mut self, words: &mut Tokens<'_>) -> Result<(), Message> {
        for place in &mut self.machine.topology.cpus {
            place.core = words.next_small("a core for each CPU", 0..=MAX_CPUS - 1)?;
        }
        Ok(())
    }

    pub(super) fn caps(&mut self, words: &mut Tokens<'_>) -> Result<(), Message> {
        for capacity in &mut self.machine.topology.capacity {
            *capacity = u64::from(words.next_small("a capacity for each CPU", 1..=1024)?);
        }
        Ok(())
    }

    pub(super) fn levels(&mut self, words: &mut Tokens<'_>) -> Result<(), Message> {
        let word = words.name("letters of SCMPA", MAX_LEVELS)?;
        let level = |letter| match letter {
            'S' => Some(TopologyLevel::Smt),
            'C' => Some(TopologyLevel::Cluster),
            'M' => Some(TopologyLevel::Mc),
            'P' => Some(TopologyLevel::Package),
            'A' => Some(TopologyLevel::All),
            _ => None,
        };
        let levels: Option<Vec<_>> = word.text.chars().map(level).collect();
        self.machine.topology.levels = levels.ok_or_else(|| {
            let help = "S: SMT, C: cluster, M: last-level cache, P: package, A: all CPUs; lowest first";
            words.error(word, "levels are letters of SCMPA").with_help(help)
        })?;
        Ok(())
    }

    pub(super) fn dist(&mut self, at: usize, words: &mut Tokens<'_>) -> Result<(), Message> {
        let nr_nodes = words.next_small("the number of nodes", 1..=MAX_NODES)?;
        let mut rows = Vec::new();
        for _ in 0..nr_nodes {
            let row: Result<Vec<_>, _> = (0..nr_nodes).map(|_| words.next_small("a distance", 10..=255)).collect();
            rows.push(row?);
        }
        self.machine.topology.distances = rows;
        self.distances = Some((at, nr_nodes));
        Ok(())
    }

    pub(super) fn freq(&mut self, at: usize, words: &mut Tokens<'_>) -> Result<(), Message> {
        check_limit(words, at, self.machine.freq_steps.len(), MAX_FREQ_STEPS)?;
        let when = words.duration("the time of the change")?;
        let cpu = words.word("the CPU")?;
        let cpu = words.parse_cpu(cpu, self.machine.nr_cpus)?;
        let capacity = words.next_small("the share of the highest frequency, of 1024", 1..=1024)?;
        self.machine.freq_steps.push((when, cpu, u64::from(capacity)));
        self.freq_step_at.get_or_insert(at);
        Ok(())
    }

    pub(super) fn fdom(&mut self, at: usize, words: &mut Tokens<'_>) -> Result<(), Message> {
        let domains = &self.machine.freq_domains;
        check_limit(words, at, domains.len(), MAX_FREQ_DOMAINS)?;
        let cpus = words.cpus(self.machine.nr_cpus)?;
        if let Some(cpu) = cpus.clone().find(|cpu| domains.iter().any(|domain| domain.cpus.contains(cpu))) {
            return Err(words.source.error(at, format!("CPU {cpu} is in two frequency domains")));
        }
        let mut opps: Vec<(u64, Option<u64>)> = Vec::new();
        while let Some(word) = words.next_optional() {
            check_limit(words, word.offset, opps.len(), MAX_FREQUENCIES)?;
            let (khz, power) = word.split_once(':').map_or((word, None), |(khz, power)| (khz, Some(power)));
            let khz = u64::from(words.parse_small(khz, 1..=100_000_000)?);
            let power = power.map(|power| words.parse_small(power, 1..=1_000_000_000)).transpose()?.map(u64::from);
            if let Some((last_khz, last_power)) = opps.last() {
                if khz <= *last_khz {
                    return Err(words.error(word, "frequencies must ascend"));
                }
                if power.is_some() != last_power.is_some() {
                    return Err(words.error(word, "powers for all frequencies, or for none"));
                }
            }
            opps.push((khz, power));
        }
        if opps.is_empty() {
            return Err(words.source.error(at, "no frequencies").with_help("fdom LO-HI KHZ[:UW] KHZ[:UW] ..."));
        }
        let (lowest, highest) = (opps[0].0, opps[opps.len() - 1].0);
        if lowest * SCHED_CAPACITY_SCALE < highest {
            let message = format!("{lowest} kHz is less than 1/1024 of {highest} kHz, so a CPU would make no progress");
            let help = format!("leave out frequencies below {} kHz", highest.div_ceil(SCHED_CAPACITY_SCALE));
            return Err(words.source.error(at, message).with_help(help));
        }
        self.domains_at.push(at);
        self.machine.freq_domains.push(FreqDomainSpec { cpus, opps });
        Ok(())
    }

    pub(super) fn irq(&mut self, at: usize, words: &mut Tokens<'_>, is_stolen: bool) -> Result<(), Message> {
        let cpus = words.cpus(self.machine.nr_cpus)?;
        let every = words.duration("the time between two interrupts")?;
        let duration = words.duration("the length of an interrupt")?;
        if duration >= every {
            return Err(words.source.error(at, "an interrupt must be shorter than its period"));
        }
        for cpu in cpus {
            check_limit(words, at, self.machine.irqs.len(), MAX_IRQS)?;
            self.machine.irqs.push(IrqLoad { cpu, every, duration, is_stolen });
        }
        Ok(())
    }
}
