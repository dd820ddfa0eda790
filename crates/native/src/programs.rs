// SPDX-License-Identifier: GPL-2.0-or-later
//! Installed programs with models. A benchmark's model prints the same output, so one reader serves both; rt-app's model
//! runs the same file.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Time after which a program is killed.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A benchmark program with fixed options.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Command, as a shell takes it.
    pub command: &'static str,
    /// Model that a simulated machine runs.
    pub model: ProgramModel,
    /// Operation that the result belongs to.
    pub unit: &'static str,
    place: ResultPlace,
}

/// Model of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramModel {
    /// Benchmark, as after `fairlab bench`.
    Bench(&'static str),
    /// Content of the rt-app file that the program runs as well.
    RtApp(&'static str),
}

/// File of rt-app: a task that waits for a timer every 2 ms. rt-app writes its log into the current directory.
const RT_APP_FILE: &str = r#"{
  "global": { "duration": 1, "calibration": 100, "default_policy": "SCHED_OTHER", "lock_pages": false, "ftrace": false,
    "gnuplot": false, "logdir": "./", "log_basename": "fairlab" },
  "tasks": { "work": { "loop": -1, "run": 100, "timer": { "ref": "tick", "period": 2000, "mode": "absolute" } } }
}
"#;

/// Name of the file, and of the log of its task.
const RT_APP_NAME: &str = "fairlab.json";
const RT_APP_LOG: &str = "fairlab-work-0.log";

/// Place of a result in the output. Times have the nanoseconds of their unit.
#[derive(Clone, Copy, Debug)]
enum ResultPlace {
    /// Time before the first occurrence of a text.
    Before(&'static str, f64),
    /// Time after the first occurrence of a text.
    After(&'static str, f64),
    /// Number of operations and seconds after the last occurrence of a text.
    Operations(&'static str),
    /// Median of the last column of rt-app's log, in microseconds, without the first row.
    LastColumn,
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program {
        command: "perf bench sched pipe -l 20000",
        model: ProgramModel::Bench("perf sched pipe -l 20000"),
        unit: "round trip",
        place: ResultPlace::Before("usecs/op", 1e3),
    },
    Program {
        command: "perf bench sched messaging -t -g 1 -l 500",
        model: ProgramModel::Bench("perf sched messaging -t -g 1 -l 500"),
        unit: "run",
        place: ResultPlace::After("Total time:", 1e9),
    },
    Program {
        command: "hackbench -T -p -g 1 -f 10 -l 2000",
        model: ProgramModel::Bench("hackbench -T -p -g 1 -f 10 -l 2000"),
        unit: "run",
        place: ResultPlace::After("Time:", 1e9),
    },
    Program {
        command: "cyclictest -q -t 1 -i 1000 -l 1000 --laptop",
        model: ProgramModel::Bench("cyclictest -t 1 -i 1000 -l 1000 --laptop"),
        unit: "latency, mean",
        place: ResultPlace::After("Avg:", 1e3),
    },
    Program {
        command: "stress-ng --sock 1 -t 1 --metrics-brief",
        model: ProgramModel::Bench("stress-ng --sock 1 -t 1"),
        unit: "bogo operation",
        place: ResultPlace::Operations(" sock "),
    },
    Program {
        command: "schbench -m 1 -t 1 -r 2 -n 1 -F 64",
        model: ProgramModel::Bench("schbench -m 1 -t 1 -r 2 -n 1 -F 64"),
        unit: "wake-up, median",
        place: ResultPlace::After("50.0th:", 1e3),
    },
    Program {
        command: "rt-app fairlab.json",
        model: ProgramModel::RtApp(RT_APP_FILE),
        unit: "wake-up by a timer, median",
        place: ResultPlace::LastColumn,
    },
];

impl Program {
    /// Returns the result in an output, in nanoseconds; `None` if the output has none.
    pub fn result_ns(&self, output: &str) -> Option<f64> {
        let after = |place: Option<usize>, text: &str| Some(output[place? + text.len()..].split_whitespace());
        let ns = match self.place {
            ResultPlace::Before(text, unit) => {
                output[..output.find(text)?].split_whitespace().next_back()?.parse::<f64>().ok()? * unit
            }
            ResultPlace::After(text, unit) => after(output.find(text), text)?.next()?.parse::<f64>().ok()? * unit,
            ResultPlace::Operations(text) => {
                let mut numbers = after(output.rfind(text), text)?.map_while(|word| word.parse::<f64>().ok());
                let (operations, seconds) = (numbers.next()?, numbers.next()?);
                seconds * 1e9 / operations
            }
            ResultPlace::LastColumn => {
                let rows = output.lines().filter(|line| !line.starts_with('#')).skip(1);
                let mut column: Vec<f64> =
                    rows.filter_map(|row| row.split_whitespace().next_back()?.parse().ok()).collect();
                column.sort_by(f64::total_cmp);
                1e3 * column.get(column.len() / 2)?
            }
        };
        Some(ns).filter(|ns| ns.is_finite() && *ns > 0.0)
    }

    /// Runs the program. `Ok(None)` means that it is not installed, ends with an error or has no result.
    pub(crate) fn run(&self) -> io::Result<Option<f64>> {
        let place = tempfile::tempdir()?;
        if let ProgramModel::RtApp(text) = self.model {
            fs::write(place.path().join(RT_APP_NAME), text)?;
        }
        let Some(output) = self.output(place.path())? else { return Ok(None) };
        // Without a log there is no result.
        let log = || fs::read_to_string(place.path().join(RT_APP_LOG)).unwrap_or_default();
        Ok(self.result_ns(&if matches!(self.model, ProgramModel::RtApp(_)) { log() } else { output }))
    }

    /// Runs the program in a directory, and returns what it prints.
    fn output(&self, place: &Path) -> io::Result<Option<String>> {
        let mut words = self.command.split(' ');
        let name = words.next().expect("a command has a name");
        let spawned = Command::new(name)
            .args(words)
            .current_dir(place)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match spawned {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut text = Vec::new();
                // A program that closes its output early has printed what it has.
                let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
                text
            })
        };
        let outputs = [
            read(child.stdout.take().map(|pipe| Box::new(pipe) as _)),
            read(child.stderr.take().map(|pipe| Box::new(pipe) as _)),
        ];
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() > TIME_LIMIT {
                child.kill()?;
                break child.wait()?;
            }
            thread::sleep(Duration::from_millis(10));
        };
        let bytes: Vec<u8> = outputs.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect();
        Ok(status.success().then(|| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_the_output_of_real_programs() {
        let outputs = [
            "# Executed 2000 pipe operations between two processes\n\n     Total time: 0.019 [sec]\n\n       9.946500 usecs/op\n         100537 ops/sec\n",
            "# 1 groups == 40 threads run\n\n     Total time: 0.052 [sec]\n",
            "Running in threaded mode with 1 groups using 20 file descriptors each (== 20 tasks)\nEach sender will pass 50 messages of 100 bytes\nTime: 0.006\n",
            "WARN: not setting cpu_dma_latency to save battery power\nT: 0 ( 5019) P: 0 I:1000 C:     50 Min:     59 Act:   61 Avg:   63 Max:      78\n",
            "stress-ng: info:  [5022] dispatching hogs: 1 sock\nstress-ng: metrc: [5022] sock                398      1.00      0.04      0.94       397.08         406.11\nstress-ng: info:  [5022] successful run completed in 1.00s\n",
            "Wakeup Latencies percentiles (usec) runtime 2 (s) (1000 total samples)\n\t  50.0th: 5          (330 samples)\n\t  90.0th: 9          (41 samples)\n",
            "# Policy : SCHED_OTHER priority : 0\n#idx     perf      run   period   wu_lat\n   0     1000       48     3858       1893\n   0     1000       34      144         67\n   0     1000       34      144         65\n   0     1000       34      144         90\n",
        ];
        let expected = [9946.5, 0.052e9, 0.006e9, 63e3, 1e9 / 398.0, 5e3, 67e3];
        for ((program, output), expected) in PROGRAMS.iter().zip(outputs).zip(expected) {
            let result = program.result_ns(output).unwrap_or_else(|| panic!("{}: no result", program.command));
            assert!((result / expected - 1.0).abs() < 1e-9, "{}: {result}", program.command);
            assert_eq!(program.result_ns("no result"), None);
        }
    }

    #[test]
    fn a_program_that_is_missing_or_fails_has_no_result() {
        let program = Program { command: "no-such-program-here -x", ..PROGRAMS[0] };
        assert_eq!(program.run().expect("that is no error"), None);
        let program = Program { command: "false", ..PROGRAMS[0] };
        assert_eq!(program.run().expect("that is no error"), None);
    }
}
