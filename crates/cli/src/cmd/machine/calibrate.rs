// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine calibrate`: measures the machine at hand.

use crate::args::measure::{CalibrateArgs, MeasureArgs};
use crate::output::figures::counted;
use crate::output::table::Table;
use crate::output::{Output, Styles, wrap};
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_native::record::{Calibration, LineLatency};
use fairlab_native::spread::Spread;
use fairlab_validation::{kernel_speeds, short_name, time_text};
use fairlab_workload::bench::micro::MicroTest;
use fairlab_workload::message::Message;

/// Share of CPU time used by others above which a measurement is disturbed.
const MAX_DISTURBANCE: f64 = 0.02;

pub(crate) fn calibrate(output: &mut Output, args: &CalibrateArgs) -> Result<(), CliError> {
    prepare_threads();
    let record = measure(output, &args.measure)?;
    if let Some(path) = &args.output {
        let text = serde_json::to_string_pretty(&record).map_err(CliError::failed)? + "\n";
        AtomicFile::write(path, text.as_bytes())?;
    }
    output.json_or_text(&record, |styles| text(styles, &record))
}

/// Executes this program again if its threads would have alternate signal stacks, which those of other programs lack. Must
/// precede all other work of a command that measures.
pub(super) fn prepare_threads() {
    #[cfg(target_os = "linux")]
    fairlab_native::signal_stacks::reexec_without();
}

/// Measures this machine, with progress on the terminal, and warns if it was not idle.
#[cfg(target_os = "linux")]
pub(super) fn measure(output: &Output, args: &MeasureArgs) -> Result<Calibration, CliError> {
    use crate::output::progress::Progress;
    use crate::values::interrupt;
    use fairlab_native::session::{MeasureError, MeasureOptions};
    use fairlab_sched::units::Nanos;
    use std::time::Duration;

    interrupt::install_handlers();
    let mut progress = Progress::new("measuring", args.time);
    let options = MeasureOptions {
        duration: Duration::from_nanos(args.time.0),
        cpus: args.cpus,
        has_programs: !args.no_programs,
    };
    let record = fairlab_native::session::measure(options, |share| {
        progress.show(Nanos((share * args.time.0 as f64) as u64));
        interrupt::requested().is_none()
    });
    progress.clear();
    let record = record.map_err(|error| match error {
        MeasureError::Cpu(cpu) => CliError::with_help(
            format!("this process may not use CPU {cpu}"),
            "--cpus takes two CPUs of taskset -cp $$",
        ),
        MeasureError::Test { test, error } => {
            CliError::Run(Message::new(format!("{test} cannot be measured: {error}")))
        }
        MeasureError::Stopped => CliError::Stopped { signal: interrupt::requested().unwrap_or(2) },
    })?;
    for (share, cause) in [
        (record.disturbance.other_processes, "other processes used"),
        (record.disturbance.stolen, "other guests of the hypervisor got"),
    ] {
        if share > MAX_DISTURBANCE {
            output.warn(&format!("{cause} {:.0} % of the CPU time during the measurement", 100.0 * share))?;
        }
    }
    Ok(record)
}

/// Other systems have no such programs.
#[cfg(not(target_os = "linux"))]
pub(super) fn measure(_output: &Output, _args: &MeasureArgs) -> Result<Calibration, CliError> {
    Err(CliError::with_help("only Linux can be measured", "measure on Linux, and give --measured FILE"))
}

/// Returns the measurement for people: the derived facts, then all operations, then lines.
fn text(styles: Styles, record: &Calibration) -> String {
    let mut facts = Vec::new();
    let speeds = kernel_speeds(record);
    if let (Some(low), Some(high)) = (speeds.first(), speeds.last()) {
        facts.push(format!(
            "speed of kernel code: {:.2} instructions per ns ({low:.2} to {high:.2} over {}, counted in Linux 6.12)",
            speeds[speeds.len() / 2],
            counted(speeds.len(), "operation")
        ));
    }
    if let Some(call) = record.result(MicroTest::EmptyCall) {
        facts.push(format!("empty system call: {}", time_text(call.median)));
    }
    if let Some(switch) = record.switch_ns() {
        facts.push(format!("block, wake-up and switch on one CPU: {}", time_text(switch)));
    }
    if let Some(ipi) = &record.ipi_round_trip {
        facts.push(format!("interrupt to a busy CPU and its answer: {}", time_text(ipi.median)));
    }
    facts.push(format!("timer slack: {}", time_text(record.timer_slack as f64)));
    let mut operations = Table::default().left(["operation"]).right(["median", "quartiles", "least", "batches"]);
    let mut row = |name: String, ns: &Spread| {
        let quartiles = format!("{} to {}", time_text(ns.low), time_text(ns.high));
        operations.text_row([name, time_text(ns.median), quartiles, time_text(ns.least), ns.count.to_string()]);
    };
    for result in &record.tests {
        row(result.test.clone(), &result.ns);
    }
    for result in &record.programs {
        row(short_name(&result.command).to_owned(), &result.ns);
    }
    for wake_up in &record.wake_ups {
        row(format!("wake-up, CPU idle for {}", time_text(wake_up.idle as f64)), &wake_up.ns);
    }
    let mut text = format!("{}\n{}\n\n{}", wrap(&record.kernel.text(), 2), facts.join("\n"), operations.render(styles));
    if !record.lines.is_empty() {
        text += "\nlatency of a cache line, one way\n";
        text += &lines(styles, &record.lines);
    }
    text
}

/// Returns the latencies by what two CPUs share, and of each pair of a small machine.
fn lines(styles: Styles, lines: &[LineLatency]) -> String {
    const MAX_CPUS: usize = 8;
    let mut shares: Vec<&str> = lines.iter().map(|line| line.shares.as_str()).collect();
    shares.dedup();
    shares.sort_unstable();
    shares.dedup();
    let mut table = Table::default().left(["shared"]).right(["median", "range", "pairs"]);
    for shared in shares {
        let of_kind: Vec<f64> = lines.iter().filter(|line| line.shares == shared).map(|line| line.ns.median).collect();
        let Some(spread) = Spread::of(&of_kind) else { continue };
        let most = of_kind.iter().copied().fold(spread.least, f64::max);
        let range = format!("{} to {}", time_text(spread.least), time_text(most));
        table.text_row([shared.to_owned(), time_text(spread.median), range, spread.count.to_string()]);
    }
    let mut text = table.render(styles);
    let mut cpus: Vec<u32> = lines.iter().flat_map(|line| line.cpus).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if (3..=MAX_CPUS).contains(&cpus.len()) {
        let mut matrix = Table::default().left(["ns"]).right(cpus.iter().map(|cpu| format!("CPU {cpu}")));
        for &row in &cpus {
            let cell = |column: u32| {
                let pair = [row.min(column), row.max(column)];
                let line = lines.iter().find(|line| line.cpus == pair);
                line.map_or_else(|| "-".to_owned(), |line| format!("{:.0}", line.ns.median))
            };
            matrix.text_row(std::iter::once(format!("CPU {row}")).chain(cpus.iter().map(|&column| cell(column))));
        }
        text += "\n";
        text += &matrix.render(styles);
    }
    text
}
