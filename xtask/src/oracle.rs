// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison with the reference program: Linux 6.1's own scheduler code, built from Debian's package `linux-source-6.1`.
//!
//! The program and its fuzzer lie beside the project, in `../shared/oracle`, or where FAIRLAB_ORACLE points. Without them, or
//! without the kernel's sources, nothing is compared, and that is said.

use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

/// The fuzzer's profiles, in the order in which an implementation grows through them.
const PROFILES: [&str; 19] = [
    "one-cpu",
    "one-cpu-groups",
    "one-cpu-freq",
    "two-cpu-pinned",
    "wake",
    "balance",
    "newidle",
    "misfit",
    "nohz",
    "bandwidth",
    "rt",
    "fork",
    "freq",
    "eas",
    "deadline",
    "irq",
    "changes",
    "features",
    "mixed",
];
/// Seeds of each profile that CI compares.
const CI_SEEDS: &str = "1..8";
/// How many comparisons run at once.
const JOBS: usize = 2;

#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Seeds, such as 1..200 (both ends are compared).
    #[arg(long, default_value = "1..20")]
    seeds: String,
    /// Only this profile; may be given several times. All by default.
    #[arg(long)]
    profile: Vec<String>,
    /// A statement added to every scenario, such as "arm pelt_contribution 1".
    #[arg(long)]
    add: Option<String>,
    /// The reference program: 6.1, or 6.1-arms with switches for published changes.
    #[arg(long, default_value = "6.1")]
    version: String,
    /// What CI compares: a few seeds of every profile. Says so and succeeds where the reference cannot be built.
    #[arg(long)]
    ci: bool,
}

#[derive(ClapArgs)]
pub(crate) struct BenchArgs {
    /// Runs of each; the fastest counts.
    #[arg(long, default_value_t = 5)]
    runs: u32,
}

/// One call of the fuzzer.
struct Job {
    profile: String,
    version: String,
    add: Option<String>,
    first: String,
    last: String,
}

pub(crate) fn compare(root: &Path, args: &Args) -> Result<()> {
    let Some(oracle) = find_oracle(root) else {
        return absent(args.ci, "there is no reference program beside the project (FAIRLAB_ORACLE can point to it)");
    };
    if let Err(error) = build(&oracle, &args.version, args.ci) {
        return absent(args.ci, &format!("the reference program cannot be built here: {error:#}"));
    }
    let binary = build_release(root)?;
    let jobs = jobs(args)?;
    let (failed, started) = (Mutex::new(Vec::new()), Instant::now());
    let queue = Mutex::new(jobs.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let Some(job) = queue.lock().expect("no thread panics").next() else { return };
                    if let Err(error) = run_job(&oracle, &binary, &job) {
                        failed.lock().expect("no thread panics").push(format!("{}: {error:#}", job.profile));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics");
    println!("compared in {:.0} s", started.elapsed().as_secs_f64());
    if !failed.is_empty() {
        bail!("not identical to the reference:\n{}", failed.join("\n"));
    }
    Ok(())
}

fn absent(is_ci: bool, message: &str) -> Result<()> {
    if !is_ci {
        bail!("{message}");
    }
    println!("SKIPPED: {message}");
    Ok(())
}

fn jobs(args: &Args) -> Result<Vec<Job>> {
    let seeds = if args.ci { CI_SEEDS } else { &args.seeds };
    let (first, last) = seeds.split_once("..").with_context(|| format!("--seeds {seeds}: write FIRST..LAST"))?;
    for seed in [first, last] {
        seed.parse::<u32>().with_context(|| format!("--seeds {seeds}: `{seed}` is no number"))?;
    }
    let known = |name: &String| PROFILES.contains(&name.as_str()) || name == "arms";
    if let Some(unknown) = args.profile.iter().find(|name| !known(name)) {
        bail!("there is no profile {unknown}; there are {}, and arms", PROFILES.join(", "));
    }
    let profiles = match args.profile.as_slice() {
        [] => PROFILES.map(str::to_owned).to_vec(),
        some => some.to_vec(),
    };
    let job = |profile: String, version: &str, add: Option<String>| Job {
        profile,
        version: version.to_owned(),
        add,
        first: first.to_owned(),
        last: last.to_owned(),
    };
    let mut jobs: Vec<Job> =
        profiles.into_iter().map(|profile| job(profile, &args.version, args.add.clone())).collect();
    if args.ci {
        jobs.push(job("arms".to_owned(), "6.1-arms", None));
        jobs.push(job("one-cpu-freq".to_owned(), "6.1-arms", Some("arm pelt_contribution 1".to_owned())));
    }
    Ok(jobs)
}

fn run_job(oracle: &Path, binary: &Path, job: &Job) -> Result<()> {
    let mut command = Command::new(oracle.join("fuzz.sh"));
    command.args(["--profile", &job.profile]);
    if let Some(add) = &job.add {
        command.args(["--add", add]);
    }
    command.args([&job.version, &job.first, &job.last, "--"]).arg(binary).args(["run", "--trace-jsonl", "-"]);
    let output = command.stderr(Stdio::piped()).output().context("fuzz.sh")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let total: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("total")).collect();
    println!("{}{}", total.join("\n"), job.add.as_deref().map(|add| format!("\n  (with {add})")).unwrap_or_default());
    if !output.status.success() {
        let differing = text.lines().filter(|line| line.starts_with("seed") && line.contains('%'));
        bail!("{}", differing.take(5).collect::<Vec<_>>().join("; "));
    }
    Ok(())
}

fn find_oracle(root: &Path) -> Option<PathBuf> {
    let place = std::env::var_os("FAIRLAB_ORACLE").map_or_else(|| root.join("../shared/oracle"), PathBuf::from);
    place.join("fuzz.sh").is_file().then_some(place)
}

/// Builds the reference program, and in CI also the switched one; returns the path of the one asked for.
fn build(oracle: &Path, version: &str, is_ci: bool) -> Result<PathBuf> {
    let mut program = PathBuf::new();
    let versions = if is_ci { vec!["6.1-arms", version] } else { vec![version] };
    for version in versions {
        let mut command = Command::new(oracle.join("build.sh"));
        if is_ci {
            command.arg("--install-deps");
        }
        let output = command.arg(version).output().context("build.sh")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("{}", why.lines().last().unwrap_or("build.sh failed").to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        program = PathBuf::from(text.lines().last().unwrap_or_default());
    }
    Ok(program)
}

pub(crate) fn build_release(root: &Path) -> Result<PathBuf> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--package", "fairlab"])
        .current_dir(root)
        .status()
        .context("cargo build")?;
    if !status.success() {
        bail!("the release build fails");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/fairlab"))
}

/// Scenarios whose whole runs are timed: a name, and where they come from.
fn bench_scenarios(oracle: &Path) -> Result<Vec<(String, String)>> {
    let mut scenarios = Vec::new();
    let one_cpu = Command::new(oracle.join("gen_scen.py")).args(["3", "--profile", "one-cpu-groups"]).output()?;
    scenarios.push(("one-cpu-groups, 120 s".to_owned(), lengthened(&String::from_utf8(one_cpu.stdout)?, "120s")));
    for (name, length) in [("pinned16", "30s"), ("mix16", "20s")] {
        let text = fs::read_to_string(oracle.join("scen").join(format!("{name}.txt")))?;
        scenarios.push((format!("{name}, {length}"), lengthened(&text, length)));
    }
    for (nr_cpus, length) in [(64, "10s"), (256, "2s")] {
        let text = format!(
            "cpus {nr_cpus}\ntopo smt=2 llc=16 pkg=64\nlevels SMPA\nend {length}\ntrace 0\n\
             task per n={nr_cpus} runr 500us 4ms sleepr 1ms 12ms\ntask pa n={half} loop run 50us wakesync pb wait\n\
             task pb n={half} loop wait run 60us wake pa\n",
            half = nr_cpus / 2
        );
        scenarios.push((format!("{nr_cpus} CPUs, {} tasks, {length}", 2 * nr_cpus), text));
    }
    Ok(scenarios)
}

/// A scenario of another length, without snapshots and trace.
fn lengthened(text: &str, length: &str) -> String {
    let kept = text.lines().filter(|line| !["end ", "stats ", "trace "].iter().any(|word| line.starts_with(word)));
    format!("{}\nend {length}\ntrace 0\n", kept.collect::<Vec<_>>().join("\n"))
}

pub(crate) fn bench(root: &Path, args: &BenchArgs) -> Result<()> {
    let oracle = find_oracle(root).context("there is no reference program beside the project")?;
    let reference = build(&oracle, "6.1", false)?;
    let binary = build_release(root)?;
    let folder = root.join("target/bench-oracle");
    fs::create_dir_all(&folder)?;
    println!("{:28} {:>12} {:>12} {:>8}", "scenario", "reference", "fairlab", "ratio");
    for (index, (name, text)) in bench_scenarios(&oracle)?.into_iter().enumerate() {
        let path = folder.join(format!("{index}.scn"));
        fs::write(&path, text)?;
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        // Alternating, so that both see the same machine.
        for _ in 0..args.runs {
            theirs = theirs.min(seconds(Command::new(&reference).arg(&path))?);
            ours = ours.min(seconds(Command::new(&binary).args(["run", "--trace-jsonl", "-"]).arg(&path))?);
        }
        println!("{name:28} {:>10.3} s {:>10.3} s {:>8.2}", theirs, ours, ours / theirs);
    }
    println!("ratio: fairlab's time over the reference's, whole processes, the fastest of {} runs each", args.runs);
    Ok(())
}

fn seconds(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !status.success() {
        bail!("{command:?} fails");
    }
    Ok(start.elapsed().as_secs_f64())
}
