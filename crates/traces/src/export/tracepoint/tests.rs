// SPDX-License-Identifier: GPL-2.0-or-later
use super::encode::{COMMON_BYTES, CommonFields, put_event};
use super::format::format_of;
use super::values::FieldValue;
use super::*;
use crate::export::thread::Comm;
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::CpuId;

fn some(kind: FieldKind) -> FieldValue<'static> {
    match kind {
        FieldKind::Comm => FieldValue::Comm(Comm::new("a-name")),
        FieldKind::Pid | FieldKind::Int => FieldValue::Int(-2),
        FieldKind::Short => FieldValue::Short(-3),
        FieldKind::U32 => FieldValue::U32(4),
        FieldKind::U64 => FieldValue::U64(5),
        FieldKind::State => FieldValue::State(PrevState::Blocked),
        FieldKind::Mask => FieldValue::Mask(CpuId(70)),
        FieldKind::Reason => FieldValue::Reason(IpiKind::Reschedule),
        FieldKind::Address => FieldValue::Address(6),
        FieldKind::Text => FieldValue::Text("text"),
    }
}

#[test]
fn the_bytes_of_an_event_are_where_its_format_says() {
    for (place, definition) in TRACEPOINTS.iter().enumerate() {
        assert_eq!(definition.tracepoint as usize, place);
        let values: Vec<FieldValue<'_>> = definition.fields.iter().map(|&(kind, _)| some(kind)).collect();
        let mut bytes = vec![0xff; 3];
        put_event(&mut bytes, definition.tracepoint, CommonFields { pid: 77, flags: 0 }, &values, 96);
        let bytes = &bytes[3..];
        let text = format_of(definition);
        let fields = text.lines().filter_map(|line| line.strip_prefix("\tfield:")).skip(4);
        for (line, &(kind, name)) in fields.zip(definition.fields) {
            let number = |key: &str| -> usize {
                let rest = line.split(key).nth(1).expect("the key is there");
                rest.split(';').next().and_then(|digits| digits.parse().ok()).expect("it has a number")
            };
            let (offset, size) = (number("offset:"), number("size:"));
            assert!(line.contains(name), "{line}");
            let at = &bytes[offset..];
            match kind {
                FieldKind::Comm => assert!(size == 16 && at.starts_with(b"a-name\0"), "{line}"),
                FieldKind::Pid | FieldKind::Int => assert_eq!(at[..size], (-2_i32).to_le_bytes()),
                FieldKind::Short => assert_eq!(at[..size], (-3_i16).to_le_bytes()),
                FieldKind::U32 => assert_eq!(at[..size], 4_u32.to_le_bytes()),
                FieldKind::U64 => assert_eq!(at[..size], 5_u64.to_le_bytes()),
                FieldKind::State => assert_eq!(at[..size], 1_u64.to_le_bytes()),
                FieldKind::Address => assert_eq!(at[..size], 6_u64.to_le_bytes()),
                FieldKind::Reason => assert_eq!(size, 8),
                FieldKind::Text => assert!(size == 0 && at.starts_with(b"text\n\0")),
                FieldKind::Mask => {
                    let at = u32::from_le_bytes(at[..4].try_into().expect("four bytes"));
                    let mask = &bytes[(at & 0xffff) as usize..][..(at >> 16) as usize];
                    assert_eq!((mask.len(), mask[8]), (16, 1 << 6), "CPU 70 of 96");
                }
            }
        }
        assert_eq!(bytes[..2], definition.tracepoint.id().to_le_bytes());
        assert_eq!(bytes[4..COMMON_BYTES], 77_i32.to_le_bytes());
    }
}

#[test]
fn a_format_has_one_argument_for_each_conversion() {
    for definition in TRACEPOINTS {
        assert_eq!(definition.template.matches('%').count(), definition.fields.len(), "{}", definition.name);
    }
    let format = format_of(Tracepoint::Waking.definition());
    let print =
        "print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu\n";
    assert!(format.ends_with(print), "{format}");
    assert!(format.contains("\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"), "{format}");
}

#[test]
fn text_is_that_of_the_kernel() {
    let text = |tracepoint, values: &[FieldValue<'_>], nr_cpus| {
        let mut bytes = Vec::new();
        text::put_event(&mut bytes, tracepoint, values, nr_cpus);
        String::from_utf8(bytes).expect("names are text")
    };
    let task = |name, pid| [FieldValue::Comm(Comm::new(name)), FieldValue::Int(pid), FieldValue::Int(120)];
    let [[a, b, c], [d, e, f]] = [task("swapper/3", 0), task("ping-7", 1007)];
    assert_eq!(
        text(Tracepoint::Switch, &[d, e, f, FieldValue::State(PrevState::Blocked), a, b, c], 8),
        "sched_switch: prev_comm=ping-7 prev_pid=1007 prev_prio=120 prev_state=S ==> next_comm=swapper/3 next_pid=0 \
         next_prio=120"
    );
    assert_eq!(
        text(Tracepoint::Wakeup, &[d, e, f, FieldValue::Int(3)], 8),
        "sched_wakeup: comm=ping-7 pid=1007 prio=120 target_cpu=003"
    );
    let ipi = |cpu, nr_cpus| {
        text(Tracepoint::Ipi, &[FieldValue::Mask(CpuId(cpu)), FieldValue::Reason(IpiKind::CallFunction)], nr_cpus)
    };
    assert_eq!(ipi(5, 8), "ipi_raise: target_mask=20 (Function call interrupts)");
    assert_eq!(ipi(33, 36), "ipi_raise: target_mask=2,00000000 (Function call interrupts)");
    let marker = [FieldValue::Address(1), FieldValue::Text("rtapp_main: event=start")];
    assert_eq!(text(Tracepoint::Print, &marker, 8), "tracing_mark_write: rtapp_main: event=start");
}

#[test]
fn a_name_is_cut_where_a_character_ends_and_stays_on_its_line() {
    assert_eq!(Comm::new("fourteen-chars-and-more").as_str(), "fourteen-chars-");
    assert_eq!(Comm::new("thirteen-13--é-x").as_str(), "thirteen-13--é");
    assert_eq!(Comm::new("fourteen-14---é").as_str(), "fourteen-14---");
    assert_eq!(Comm::new("two\nlines\0").as_str(), "two_lines_");
}
