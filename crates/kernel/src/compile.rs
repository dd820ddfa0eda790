// SPDX-License-Identifier: GPL-2.0-or-later
//! Has a tree's own Makefiles compile its scheduler in an overlay, and links an engine of it.

use crate::error::{KernelError, at};
use crate::regressions::edit::Script;
use crate::{coverage, operations, overlay, symbols, tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is needed to build, with the Debian package that has it.
const PROGRAMS: [(&str, &str); 10] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("ld", "binutils"),
    ("nm", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// What an engine is made of.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The tree.
    pub tree: PathBuf,
    /// Patches, in their order.
    pub patches: Vec<PathBuf>,
    /// Edits, after them.
    pub scripts: Vec<Script>,
    /// Lines for the configuration.
    pub config: Vec<String>,
    /// Its objects count how often each line runs: see [`crate::coverage`].
    pub is_covered: bool,
}

/// Says what is missing to build an engine, all at once.
///
/// # Errors
/// If anything is.
pub fn check_programs() -> Result<(), KernelError> {
    let paths: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    missing(|program| paths.iter().any(|path| path.join(program).is_file()))
}

/// What asks which lines ran comes with the compiler.
pub(crate) fn check_coverage() -> Result<(), KernelError> {
    let run = Command::new("gcov").arg("--version").output();
    run.map(drop).map_err(|_| KernelError::Missing { what: "gcov".to_owned(), packages: "gcc".to_owned() })
}

pub(crate) fn missing(is_there: impl Fn(&str) -> bool) -> Result<(), KernelError> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|(_, package)| *package).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
    Err(KernelError::Missing { what: programs.join(", "), packages })
}

/// The version of the compiler, which is a part of what an engine is.
pub fn compiler() -> String {
    let run = Command::new("gcc").arg("--version").output();
    run.map(|run| String::from_utf8_lossy(&run.stdout).lines().next().unwrap_or_default().to_owned())
        .unwrap_or_default()
}

/// Checks lines for the configuration.
///
/// # Errors
/// If one is none.
pub fn check_config(lines: &[String]) -> Result<(), KernelError> {
    let is_name = |name: &str| {
        let rest = name.strip_prefix("CONFIG_").unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    for line in lines {
        let is_line = line.split_once('=').is_some_and(|(name, value)| is_name(name) && !value.is_empty());
        if !is_line {
            let message =
                format!("--config {line}: not a line of a configuration\nhelp: for example --config CONFIG_HZ_1000=y");
            return Err(KernelError::Input(message));
        }
    }
    Ok(())
}

/// A folder in which an engine is built. What was built there before is used again.
pub struct BuildDir {
    overlay: PathBuf,
    build: PathBuf,
}

impl BuildDir {
    /// In this folder.
    pub fn new(folder: &Path) -> Self {
        Self { overlay: folder.join("overlay"), build: folder.join("build") }
    }

    /// Its overlay, and the folder of its objects.
    pub(crate) fn folders(&self) -> (&Path, &Path) {
        (&self.overlay, &self.build)
    }

    /// Builds the engine `object`, and says which steps it takes.
    ///
    /// # Errors
    /// If a patch does not apply, the compiler complains, or the tree needs what is not known.
    pub fn build(&self, recipe: &Recipe, object: &Path, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        self.attempt(recipe, object, say).map_err(|error| match (error, tree::untried(&recipe.tree)) {
            (KernelError::Build { step, message }, Some(help)) if !step.starts_with("applying") => {
                KernelError::Build { step, message: format!("{message}\n{help}") }
            }
            (KernelError::Drift(message), Some(help)) => KernelError::Drift(format!("{message}\n{help}")),
            (error, _) => error,
        })
    }

    fn attempt(&self, recipe: &Recipe, object: &Path, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        check_programs()?;
        check_config(&recipe.config)?;
        fs::create_dir_all(&self.build).map_err(at(&self.build))?;
        say("linking the tree");
        overlay::make(&recipe.tree, &self.overlay, &recipe.patches, &recipe.scripts)?;
        self.configure(recipe, say)?;
        say("compiling: about 45 s of CPU time, less if little has changed");
        self.make(recipe, &["prepare"])?;
        let wanted: Vec<&str> = crate::entries(crate::embedded("objects.txt"))
            .filter(|name| name.ends_with('/') || self.overlay.join(name).with_extension("c").exists())
            .collect();
        self.make(recipe, &wanted)?;
        say("linking the engine");
        self.link(recipe, &wanted, object)
    }

    /// The configuration is made anew if what is asked of it has changed.
    fn configure(&self, recipe: &Recipe, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        let asked = [
            crate::embedded("arch/configs/fairlab_defconfig"),
            crate::embedded("arch/Kconfig"),
            &recipe.config.join("\n"),
        ]
        .concat();
        let (stamp, config) = (self.build.join("asked"), self.build.join(".config"));
        if config.exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == asked) {
            return Ok(());
        }
        say("configuring");
        self.make(recipe, &["fairlab_defconfig"])?;
        if !recipe.config.is_empty() {
            let mut text = fs::read_to_string(&config).map_err(at(&config))?;
            text.push_str(&recipe.config.join("\n"));
            text.push('\n');
            fs::write(&config, text).map_err(at(&config))?;
            self.make(recipe, &["olddefconfig"])?;
            let text = fs::read_to_string(&config).map_err(at(&config))?;
            if let Some(line) = recipe.config.iter().find(|line| !print_step(&text, line)) {
                let message = format!(
                    "--config {line}: this tree's configuration does not take it\nhelp: what it depends on is off, or it is unknown"
                );
                return Err(KernelError::Input(message));
            }
        }
        fs::write(&stamp, asked).map_err(at(&stamp))
    }

    fn make(&self, recipe: &Recipe, targets: &[&str]) -> Result<(), KernelError> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let counters = if recipe.is_covered { coverage::FLAGS } else { "" };
        let run = Command::new("make")
            .args(["-s", "--no-print-directory", "ARCH=fairlab", "-C"])
            .arg(&self.overlay)
            .arg(format!("O={}", self.build.display()))
            .arg(format!("-j{jobs}"))
            .arg(format!("KCFLAGS={counters}"))
            .args(targets)
            .env_remove("MAKEFLAGS")
            .output()
            .map_err(at(Path::new("make")))?;
        self.expect(recipe, &format!("make {}", targets.join(" ")), &run)
    }

    /// What a program says is shown as it says it, with the tree's own paths.
    fn expect(&self, recipe: &Recipe, step: &str, run: &std::process::Output) -> Result<(), KernelError> {
        if run.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&run.stderr);
        let (said, patched) = self.as_in_tree(recipe, &said);
        let is_makes = |line: &&str| line.starts_with("make") || line.contains("#warning syscall");
        let message: Vec<&str> = said.lines().filter(|line| !is_makes(line)).collect();
        let message = if message.is_empty() { said.trim_end().to_owned() } else { message.join("\n") };
        let message = message + &patched;
        Err(KernelError::Build { step: step.split_whitespace().take(3).collect::<Vec<_>>().join(" "), message })
    }

    /// Text with the tree's own paths. Files that a patch changes are not the tree's: they have no folder, and a line says of what they are.
    fn as_in_tree(&self, recipe: &Recipe, said: &str) -> (String, String) {
        let overlay = format!("{}/", self.overlay.display());
        let changed = overlay::changed(&recipe.patches, &recipe.scripts).unwrap_or_default();
        let (mut said, mut named) = (said.to_owned(), Vec::new());
        for name in changed {
            let path = overlay::place(&self.overlay, &name).display().to_string();
            if said.contains(&path) {
                said = said.replace(&path, &name);
                named.push(name);
            }
        }
        let said = said.replace(&overlay, &format!("{}/", recipe.tree.display()));
        if named.is_empty() {
            return (said, String::new());
        }
        let patches = recipe.patches.iter().map(|patch| patch.display().to_string());
        let bugs = recipe.scripts.iter().map(|script| script.bug.clone());
        let by: Vec<String> = patches.chain(bugs).collect();
        (said, format!("\nlines of {} are those of the file as patched by {}", named.join(", "), by.join(", ")))
    }

    fn link(&self, recipe: &Recipe, targets: &[&str], object: &Path) -> Result<(), KernelError> {
        let mut objects = Vec::new();
        for target in targets {
            match target.strip_suffix('/') {
                Some(folder) => objects.extend(self.objects_of(folder)?),
                None => objects.push((*target).to_owned()),
            }
        }
        let (mut hosts, mut host_objects) = (Vec::new(), Vec::new());
        for name in ["host", "paths"] {
            let text = crate::embedded(&format!("host/{name}.c")).replace("../arch/include/asm/fairlab.h", "fairlab.h");
            self.write(&format!("fl-{name}.c"), &text)?;
            hosts.push(format!("fl-{name}.c"));
            host_objects.push(format!("fl-{name}.o"));
        }
        self.write("host.h", crate::embedded("host/host.h"))?;
        self.write("fairlab.h", crate::embedded("arch/include/asm/fairlab.h"))?;
        self.write("engine.lds.in", crate::embedded("host/engine.lds"))?;
        let facts = self.overlay.join(overlay::FACTS).display().to_string();
        let flags = ["-E", "-P", "-x", "c", "-imacros", &facts, "-o", "engine.lds", "engine.lds.in"];
        self.run(recipe, "gcc", &flags)?;
        // Jumps between stacks are no errors of the C library's.
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let flags = ["-O2", "-g1", "-fPIC", "-Wall", "-U_FORTIFY_SOURCE", "-c"];
        self.run(recipe, "gcc", &[&flags, &hosts[..]].concat())?;
        objects.extend(host_objects);
        let names: Vec<&str> = objects.iter().map(String::as_str).collect();
        let nm = self.run(recipe, "nm", &[&["-A", "-P"], &names[..]].concat())?;
        self.write("standins.c", &symbols::standins(&symbols::undefined(&nm), &recipe.tree)?)?;
        self.run(recipe, "gcc", &["-w", "-O1", "-fPIC", "-fno-builtin", "-c", "standins.c", "-o", "standins.o"])?;
        let flags = [
            "-shared",
            "-Wl,-Bsymbolic",
            "-Wl,-T,engine.lds",
            "-Wl,--defsym=jiffies=jiffies_64",
            "-Wl,--wrap=irq_work_queue",
            "-Wl,-z,noexecstack",
            "-Wl,-z,defs",
            "-o",
            "engine.so",
            "standins.o",
        ];
        let counters: &[&str] = if recipe.is_covered { &["-lgcov"] } else { &[] };
        self.run(recipe, "gcc", &[&flags, &names[..], counters].concat())?;
        let made = self.build.join("engine.so");
        let functions = operations::functions(&self.run(recipe, "nm", &["-P", "engine.so"])?);
        let beside = operations::beside(object);
        fs::write(&beside, functions).map_err(at(&beside))?;
        fs::copy(&made, object).map(|_| ()).map_err(at(object))
    }

    /// The objects that a folder's Makefile has made, by the list of its archive: others may be left from earlier builds.
    fn objects_of(&self, folder: &str) -> Result<Vec<String>, KernelError> {
        let archive = self.build.join(folder).join("built-in.a");
        let run = Command::new("ar").arg("t").arg(&archive).output().map_err(at(Path::new("ar")))?;
        let names = String::from_utf8_lossy(&run.stdout).into_owned();
        let place = |name: &str| {
            let name = name.rsplit('/').next().unwrap_or_default();
            format!("{folder}/{name}")
        };
        Ok(names.lines().filter(|name| name.ends_with(".o")).map(place).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KernelError> {
        let path = self.build.join(name);
        fs::write(&path, text).map_err(at(&path))
    }

    fn run(&self, recipe: &Recipe, program: &str, words: &[&str]) -> Result<String, KernelError> {
        let run =
            Command::new(program).args(words).current_dir(&self.build).output().map_err(at(Path::new(program)))?;
        self.expect(recipe, &format!("{program} {}", words.last().unwrap_or(&"")), &run)?;
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    }
}

/// Whether a configuration has a line. `=n` is written as a comment.
pub(crate) fn print_step(config: &str, line: &str) -> bool {
    let off = line.strip_suffix("=n").map(|name| format!("# {name} is not set"));
    match off {
        Some(off) => {
            config.lines().any(|other| other == off) || !config.contains(&format!("{}=", line.trim_end_matches("=n")))
        }
        None => config.lines().any(|other| other == line),
    }
}
