// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of Perfetto traces: bundles of ftrace events, and columns of switches and wakings.
//!
//! Messages declare only the fields that the import uses, with the numbers of Perfetto's public protocol; all
//! others are skipped.

use super::bytes::CUT;
use super::error::{ReadError, ReadResult};
use super::event::{
    Context, InternedName, Recording, ThreadRef, TraceEvent, TraceEventKind, UNKNOWN_PID, state_from_bits,
};
use super::file_order::{Anchor, TimeStamp};
use prost::Message;
use std::io::Read as _;

/// Tag byte of a packet in a trace: field 1, length-delimited.
const PACKET: u8 = 0x0a;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(message, optional, tag = "1")]
    ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")]
    process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "58")]
    timestamp_clock_id: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "50")]
    compressed_packets: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    threads: Vec<ThreadName>,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, repeated, tag = "3")]
    cmdline: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadName {
    #[prost(int32, tag = "1")]
    tid: i32,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Bundle {
    #[prost(uint32, tag = "1")]
    cpu: u32,
    #[prost(message, repeated, tag = "2")]
    event: Vec<FtraceEvent>,
    #[prost(bool, tag = "3")]
    lost_events: bool,
    #[prost(message, optional, tag = "4")]
    compact_sched: Option<CompactSched>,
    #[prost(int32, optional, tag = "5")]
    ftrace_clock: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct CompactSched {
    #[prost(uint64, repeated, tag = "1")]
    switch_timestamp: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    switch_prev_state: Vec<i64>,
    #[prost(int32, repeated, tag = "3")]
    switch_next_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "4")]
    switch_next_prio: Vec<i32>,
    #[prost(string, repeated, tag = "5")]
    intern_table: Vec<String>,
    #[prost(uint32, repeated, tag = "6")]
    switch_next_comm_index: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    waking_timestamp: Vec<u64>,
    #[prost(int32, repeated, tag = "8")]
    waking_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "10")]
    waking_prio: Vec<i32>,
    #[prost(uint32, repeated, tag = "11")]
    waking_comm_index: Vec<u32>,
    #[prost(uint32, repeated, tag = "12")]
    waking_common_flags: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct FtraceEvent {
    #[prost(uint64, tag = "1")]
    timestamp: u64,
    #[prost(uint32, tag = "2")]
    pid: u32,
    #[prost(message, optional, tag = "4")]
    sched_switch: Option<SchedSwitch>,
    #[prost(message, optional, tag = "11")]
    cpu_frequency: Option<StateOfCpu>,
    #[prost(message, optional, tag = "13")]
    cpu_idle: Option<StateOfCpu>,
    #[prost(message, optional, tag = "17")]
    sched_wakeup: Option<SchedWakeup>,
    #[prost(message, optional, tag = "20")]
    sched_waking: Option<SchedWakeup>,
    #[prost(message, optional, tag = "67")]
    cgroup_attach_task: Option<CgroupAttachTask>,
    #[prost(message, optional, tag = "114")]
    sched_wakeup_new: Option<SchedWakeup>,
    #[prost(message, optional, tag = "236")]
    task_rename: Option<TaskRename>,
    #[prost(message, optional, tag = "237")]
    sched_process_exec: Option<ThreadEvent>,
    #[prost(message, optional, tag = "238")]
    sched_process_exit: Option<ThreadEvent>,
    #[prost(message, optional, tag = "239")]
    sched_process_fork: Option<SchedProcessFork>,
    #[prost(message, optional, tag = "491")]
    sched_migrate_task: Option<SchedMigrateTask>,
}

#[derive(Clone, PartialEq, Message)]
struct SchedSwitch {
    #[prost(string, tag = "1")]
    prev_comm: String,
    #[prost(int32, tag = "2")]
    prev_pid: i32,
    #[prost(int32, optional, tag = "3")]
    prev_prio: Option<i32>,
    #[prost(int64, tag = "4")]
    prev_state: i64,
    #[prost(string, tag = "5")]
    next_comm: String,
    #[prost(int32, tag = "6")]
    next_pid: i32,
    #[prost(int32, optional, tag = "7")]
    next_prio: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct SchedWakeup {
    #[prost(string, tag = "1")]
    comm: String,
    #[prost(int32, tag = "2")]
    pid: i32,
    #[prost(int32, optional, tag = "3")]
    prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    success: Option<i32>,
    #[prost(int32, tag = "5")]
    target_cpu: i32,
}

#[derive(Clone, PartialEq, Message)]
struct StateOfCpu {
    #[prost(uint32, tag = "1")]
    state: u32,
    #[prost(uint32, tag = "2")]
    cpu_id: u32,
}

#[derive(Clone, PartialEq, Message)]
struct TaskRename {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "3")]
    newcomm: String,
}

/// `SchedProcessExec` or `SchedProcessExit`.
#[derive(Clone, PartialEq, Message)]
struct ThreadEvent {
    #[prost(int32, tag = "2")]
    pid: i32,
}

#[derive(Clone, PartialEq, Message)]
struct SchedProcessFork {
    #[prost(int32, tag = "2")]
    parent_pid: i32,
    #[prost(string, tag = "3")]
    child_comm: String,
    #[prost(int32, tag = "4")]
    child_pid: i32,
}

#[derive(Clone, PartialEq, Message)]
struct SchedMigrateTask {
    #[prost(int32, tag = "2")]
    pid: i32,
    #[prost(int32, tag = "5")]
    dest_cpu: i32,
}

#[derive(Clone, PartialEq, Message)]
struct CgroupAttachTask {
    #[prost(int32, tag = "1")]
    dst_root: i32,
    #[prost(int32, tag = "3")]
    pid: i32,
    /// Last component of the path; older kernels report it instead of `dst_path`.
    #[prost(string, tag = "5")]
    cname: String,
    #[prost(string, optional, tag = "7")]
    dst_path: Option<String>,
}

/// Whether a file may be a Perfetto trace: it begins with a packet that is not empty.
pub(super) fn is_perfetto(file: &[u8]) -> bool {
    file.first() == Some(&PACKET) && file.get(1).is_some_and(|&byte| byte != 0)
}

pub(super) fn read(file: &[u8]) -> ReadResult<Recording> {
    let mut reader = PacketReader { recording: Recording { format: "Perfetto", ..Recording::default() }, unpacked: 0 };
    reader.read(file, None)?;
    let recording = reader.recording;
    if recording.events.is_empty() {
        let help = match recording.problems.contains_key(CUT_PACKET) {
            true => CUT,
            false => {
                "record with ftrace_events sched/sched_switch and sched/sched_waking in the configuration's linux.ftrace"
            }
        };
        return Err(super::no_events(&recording, help));
    }
    Ok(recording)
}

/// Problem of a file that ends inside a packet.
const CUT_PACKET: &str = "a packet that the end of the file cuts";

struct PacketReader {
    recording: Recording,
    /// Length in bytes of all packets that were decompressed.
    unpacked: u64,
}

impl PacketReader {
    /// Reads packets. `within` is the position of the packet that contains them compressed: their own positions do
    /// not exist in the file.
    fn read(&mut self, file: &[u8], within: Option<usize>) -> ReadResult<()> {
        let mut rest = file;
        while !rest.is_empty() {
            let at = within.unwrap_or(file.len() - rest.len());
            let cut = |message: &str| {
                ReadError::at(at, message, "copy the file again, and check that it is a Perfetto trace")
            };
            if rest[0] != PACKET {
                return Err(cut("no packet begins here"));
            }
            rest = &rest[1..];
            let length = prost::encoding::decode_varint(&mut rest)
                .map_err(|_| cut("the length of a packet is not terminated"))?;
            let Some((packet, after)) = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length))
            else {
                self.recording.record_problem(CUT_PACKET, || format!("byte {at}"));
                break;
            };
            rest = after;
            match TracePacket::decode(packet) {
                Ok(mut packet) => {
                    let compressed = packet.compressed_packets.take();
                    take(&mut self.recording, packet, at);
                    match compressed {
                        // perfetto compresses packets once.
                        Some(_) if within.is_some() => {
                            self.recording.record_problem("damaged packets", || format!("byte {at}"));
                        }
                        Some(compressed) => self.read_compressed(&compressed, at)?,
                        None => {}
                    }
                }
                Err(_) => self.recording.record_problem("damaged packets", || format!("byte {at}")),
            }
        }
        Ok(())
    }

    /// Reads the packets in a zlib stream (`compression_type` of a configuration).
    fn read_compressed(&mut self, compressed: &[u8], at: usize) -> ReadResult<()> {
        let most = super::MAX_TRACE_BYTES - self.unpacked;
        let mut packets = Vec::new();
        let result = flate2::read::ZlibDecoder::new(compressed).take(most + 1).read_to_end(&mut packets);
        self.unpacked += packets.len() as u64;
        if self.unpacked > super::MAX_TRACE_BYTES {
            let message = format!("the decompressed packets are longer than {} MiB", super::MAX_TRACE_BYTES >> 20);
            return Err(ReadError::at(at, message, "record for less time"));
        }
        if result.is_err() || self.read(&packets, Some(at)).is_err() {
            self.recording.record_problem("damaged compressed packets", || format!("byte {at}"));
        }
        Ok(())
    }
}

/// Clock of ftrace events and the default of packets: `BUILTIN_CLOCK_BOOTTIME`.
const BOOTTIME: u32 = 6;

fn take(recording: &mut Recording, packet: TracePacket, at: usize) {
    if let Some(timestamp) = packet.timestamp
        && packet.timestamp_clock_id.is_none_or(|clock| clock == BOOTTIME)
    {
        recording.last_other = recording.last_other.max(timestamp);
    }
    if let Some(bundle) = packet.ftrace_events {
        take_bundle(recording, bundle, at);
    }
    for ThreadName { tid, name } in packet.process_tree.into_iter().flat_map(|tree| tree.threads) {
        recording.threads.insert(tid, recording.names.intern(&name));
    }
}

fn take_bundle(recording: &mut Recording, bundle: Bundle, place: usize) {
    let Bundle { cpu, event, lost_events, compact_sched, ftrace_clock } = bundle;
    if ftrace_clock.is_some_and(|clock| clock != 0) {
        recording.record_problem("bundles with a clock of their own, taken as it is", || format!("byte {place}"));
    }
    let compact = compact_sched.unwrap_or_default();
    if lost_events {
        let first = event.first().map(|event| event.timestamp);
        let at = [first, compact.switch_timestamp.first().copied(), compact.waking_timestamp.first().copied()];
        let at = at.into_iter().flatten().min().unwrap_or(0);
        recording.push_lost(at, cpu, None, place, TimeStamp::Borrowed);
    }
    take_compact(recording, cpu, &compact, place);
    for event in event {
        let at = event.timestamp;
        let pid = i32::try_from(event.pid).unwrap_or(UNKNOWN_PID);
        match event_kind(recording, event) {
            Some(kind) => {
                let event = TraceEvent { at, cpu, pid, context: Context::Unknown, kind };
                recording.push(event, place, TimeStamp::Absolute);
            }
            None => recording.push_other(at),
        }
    }
}

fn event_kind(recording: &mut Recording, event: FtraceEvent) -> Option<TraceEventKind> {
    let mut thread_ref = |comm: &str, pid, prio| ThreadRef { pid, comm: recording.names.intern(comm), prio };
    let cpu = |cpu: i32| u32::try_from(cpu).ok();
    if let Some(it) = event.sched_switch {
        let prev = thread_ref(&it.prev_comm, it.prev_pid, it.prev_prio);
        let next = thread_ref(&it.next_comm, it.next_pid, it.next_prio);
        return Some(TraceEventKind::Switch { prev, state: state_from_bits(it.prev_state), next });
    }
    if let Some(it) = event.sched_waking.filter(|it| it.success != Some(0)) {
        return Some(TraceEventKind::Waking { thread_ref: thread_ref(&it.comm, it.pid, it.prio) });
    }
    let (is_new, woken) = match (event.sched_wakeup, event.sched_wakeup_new) {
        (Some(it), _) => (false, Some(it)),
        (None, it) => (true, it),
    };
    if let Some(it) = woken.filter(|it| it.success != Some(0)) {
        return Some(TraceEventKind::Wakeup {
            thread_ref: thread_ref(&it.comm, it.pid, it.prio),
            cpu: cpu(it.target_cpu)?,
            is_new,
        });
    }
    if let Some(it) = event.sched_migrate_task {
        return Some(TraceEventKind::Migrate { pid: it.pid, to: cpu(it.dest_cpu)? });
    }
    if let Some(it) = event.sched_process_fork {
        return Some(TraceEventKind::Fork {
            parent: it.parent_pid,
            child: thread_ref(&it.child_comm, it.child_pid, None),
        });
    }
    if let Some(it) = event.sched_process_exec {
        return Some(TraceEventKind::Exec { pid: it.pid });
    }
    if let Some(it) = event.sched_process_exit {
        return Some(TraceEventKind::Exit { pid: it.pid });
    }
    if let Some(it) = event.task_rename {
        return Some(TraceEventKind::Rename { thread_ref: thread_ref(&it.newcomm, it.pid, None) });
    }
    if let Some(it) = event.cgroup_attach_task {
        let path = it.dst_path.unwrap_or_else(|| format!("/{}", it.cname.trim_start_matches('/')));
        return Some(TraceEventKind::Attach { pid: it.pid, root: it.dst_root, path: recording.names.intern(&path) });
    }
    if let Some(it) = event.cpu_idle {
        return Some(TraceEventKind::Idle { cpu: it.cpu_id, state: Some(it.state).filter(|&state| state != u32::MAX) });
    }
    let it = event.cpu_frequency?;
    Some(TraceEventKind::Frequency { cpu: it.cpu_id, khz: it.state.into() })
}

/// Source of the times in the two columns of a bundle.
const SWITCHES: TimeStamp = TimeStamp::Delta(0);
const WAKINGS: TimeStamp = TimeStamp::Delta(1);

fn anchor(recording: &mut Recording, cpu: u32, stamp: TimeStamp, column: &[u64]) {
    if let Some(&at) = column.first() {
        recording.order.anchors.push(Anchor { cpu, stamp, at, index: recording.events.len() });
    }
}

/// Reads the columns of a bundle. Times are differences, names are indices into the bundle's table.
fn take_compact(recording: &mut Recording, cpu: u32, compact: &CompactSched, place: usize) {
    let names: Vec<InternedName> = compact.intern_table.iter().map(|name| recording.names.intern(name)).collect();
    let name = |index: Option<&u32>| index.and_then(|&index| names.get(index as usize)).copied().unwrap_or_default();
    let mut at = 0_u64;
    anchor(recording, cpu, SWITCHES, &compact.switch_timestamp);
    for (row, delta) in compact.switch_timestamp.iter().enumerate() {
        at = at.wrapping_add(*delta);
        let (Some(&bits), Some(&pid)) = (compact.switch_prev_state.get(row), compact.switch_next_pid.get(row)) else {
            return recording.record_problem("columns of different lengths", || format!("byte {place}"));
        };
        let prio = compact.switch_next_prio.get(row).copied();
        let next = ThreadRef { pid, comm: name(compact.switch_next_comm_index.get(row)), prio };
        let prev = ThreadRef { pid: UNKNOWN_PID, ..ThreadRef::default() };
        let kind = TraceEventKind::Switch { prev, state: state_from_bits(bits), next };
        let event = TraceEvent { at, cpu, pid: UNKNOWN_PID, context: Context::Unknown, kind };
        recording.push(event, place, SWITCHES);
    }
    let mut at = 0_u64;
    anchor(recording, cpu, WAKINGS, &compact.waking_timestamp);
    for (row, delta) in compact.waking_timestamp.iter().enumerate() {
        at = at.wrapping_add(*delta);
        let Some(&pid) = compact.waking_pid.get(row) else {
            return recording.record_problem("columns of different lengths", || format!("byte {place}"));
        };
        let prio = compact.waking_prio.get(row).copied();
        let flags = compact.waking_common_flags.get(row);
        let context = flags.map_or(Context::Unknown, |&flags| Context::from_flags(flags as u8));
        let thread_ref = ThreadRef { pid, comm: name(compact.waking_comm_index.get(row)), prio };
        let event = TraceEvent { at, cpu, pid: UNKNOWN_PID, context, kind: TraceEventKind::Waking { thread_ref } };
        recording.push(event, place, WAKINGS);
    }
}
