// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles the scheduler of a kernel tree with the tree's own Makefiles in an overlay, and links an engine
//! from the objects.
//!
//! A build has four steps: make the overlay, configure, compile `prepare` and the objects of `objects.txt`,
//! link. Left out: finding the tree ([`crate::tree`]), the overlay itself ([`crate::overlay`]) and caching
//! ([`crate::store`]).

use crate::error::{KernelError, io_error_at};
use crate::regressions::edit::EditScript;
use crate::{coverage, meanings, operations, overlay, symbols, tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that a build needs, each with the Debian package that contains it.
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

/// Inputs of a build, apart from the compiler.
#[derive(Clone, Debug)]
pub struct BuildRecipe {
    /// Folder of the kernel tree.
    pub tree: PathBuf,
    /// Patches, in the order in which they are applied.
    pub patches: Vec<PathBuf>,
    /// Edits, which are applied after the patches.
    pub scripts: Vec<EditScript>,
    /// Lines that are added to the configuration.
    pub config: Vec<String>,
    /// Whether the objects count how often each line runs: see [`crate::coverage`].
    pub is_covered: bool,
}

/// Checks that all programs for a build are installed.
///
/// # Errors
/// If a program is missing; the error names all missing programs and their packages.
pub fn check_programs() -> Result<(), KernelError> {
    let paths: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    check_missing(|program| paths.iter().any(|path| path.join(program).is_file()))
}

/// Checks that `gcov`, which reports the lines that ran, is installed. It comes with the compiler.
pub(crate) fn check_coverage() -> Result<(), KernelError> {
    let run = Command::new("gcov").arg("--version").output();
    run.map(drop).map_err(|_| KernelError::Missing { what: "gcov".to_owned(), packages: "gcc".to_owned() })
}

pub(crate) fn check_missing(is_there: impl Fn(&str) -> bool) -> Result<(), KernelError> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|(_, package)| *package).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
    Err(KernelError::Missing { what: programs.join(", "), packages })
}

/// Returns the version line of the compiler, which is a part of an engine's key.
pub fn compiler() -> String {
    let run = Command::new("gcc").arg("--version").output();
    run.map(|run| String::from_utf8_lossy(&run.stdout).lines().next().unwrap_or_default().to_owned())
        .unwrap_or_default()
}

/// Checks lines for the configuration.
///
/// # Errors
/// If a line does not have the form `CONFIG_NAME=VALUE`.
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

/// Folder in which an engine is built. A later build reuses the products that are still up to date.
pub struct BuildDir {
    overlay: PathBuf,
    build: PathBuf,
}

impl BuildDir {
    /// Returns the build directory in a folder.
    pub fn new(folder: &Path) -> Self {
        Self { overlay: folder.join("overlay"), build: folder.join("build") }
    }

    /// Returns the overlay, and the folder of the objects.
    pub(crate) fn folders(&self) -> (&Path, &Path) {
        (&self.overlay, &self.build)
    }

    /// Builds the engine `object`, and reports each step to `say`.
    ///
    /// # Errors
    /// If a patch does not apply, the compiler reports errors, or the tree needs symbols that fairlab does
    /// not know.
    pub fn build(&self, recipe: &BuildRecipe, object: &Path, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        self.try_build(recipe, object, say).map_err(|error| match (error, tree::untested_hint(&recipe.tree)) {
            (KernelError::Build { step, message }, Some(help)) if !step.starts_with("applying") => {
                KernelError::Build { step, message: format!("{message}\n{help}") }
            }
            (KernelError::Drift(message), Some(help)) => KernelError::Drift(format!("{message}\n{help}")),
            (error, _) => error,
        })
    }

    fn try_build(&self, recipe: &BuildRecipe, object: &Path, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        check_programs()?;
        check_config(&recipe.config)?;
        fs::create_dir_all(&self.build).map_err(io_error_at(&self.build))?;
        say("linking the tree");
        overlay::make(&recipe.tree, &self.overlay, &recipe.patches, &recipe.scripts)?;
        self.configure(recipe, say)?;
        say("compiling: about 45 s of CPU time, less if little has changed");
        self.make(recipe, &["prepare"])?;
        let wanted: Vec<&str> = crate::table_lines(crate::embedded_text("objects.txt"))
            .filter(|name| name.ends_with('/') || self.overlay.join(name).with_extension("c").exists())
            .collect();
        self.make(recipe, &wanted)?;
        say("linking the engine");
        self.link(recipe, &wanted, object)
    }

    /// Makes the configuration again if the requested settings have changed.
    fn configure(&self, recipe: &BuildRecipe, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        let asked = [
            crate::embedded_text("arch/configs/fairlab_defconfig"),
            crate::embedded_text("arch/Kconfig"),
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
            let mut text = fs::read_to_string(&config).map_err(io_error_at(&config))?;
            text.push_str(&recipe.config.join("\n"));
            text.push('\n');
            fs::write(&config, text).map_err(io_error_at(&config))?;
            self.make(recipe, &["olddefconfig"])?;
            let text = fs::read_to_string(&config).map_err(io_error_at(&config))?;
            if let Some(line) = recipe.config.iter().find(|line| !has_config_line(&text, line)) {
                let message = format!(
                    "--config {line}: this tree's configuration does not accept it\nhelp: the option is unknown, or an option that it depends on is off"
                );
                return Err(KernelError::Input(message));
            }
        }
        fs::write(&stamp, asked).map_err(io_error_at(&stamp))
    }

    fn make(&self, recipe: &BuildRecipe, targets: &[&str]) -> Result<(), KernelError> {
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
            .map_err(io_error_at(Path::new("make")))?;
        self.check_status(recipe, &format!("make {}", targets.join(" ")), &run)
    }

    /// Returns an error with the program's own messages if it failed, with the paths of the tree instead of
    /// the overlay.
    fn check_status(&self, recipe: &BuildRecipe, step: &str, run: &std::process::Output) -> Result<(), KernelError> {
        if run.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&run.stderr);
        let (said, patched) = self.with_tree_paths(recipe, &said);
        let is_makes = |line: &&str| line.starts_with("make") || line.contains("#warning syscall");
        let message: Vec<&str> = said.lines().filter(|line| !is_makes(line)).collect();
        let message = if message.is_empty() { said.trim_end().to_owned() } else { message.join("\n") };
        let message = message + &patched;
        Err(KernelError::Build { step: step.split_whitespace().take(3).collect::<Vec<_>>().join(" "), message })
    }

    /// Returns text with paths of the tree instead of the overlay, and a note about patched files.
    ///
    /// The lines of a patched file differ from the tree's, so its name stays without a folder, and the note
    /// names the patches.
    fn with_tree_paths(&self, recipe: &BuildRecipe, said: &str) -> (String, String) {
        let overlay = format!("{}/", self.overlay.display());
        let changed = overlay::changed_files(&recipe.patches, &recipe.scripts).unwrap_or_default();
        let (mut said, mut named) = (said.to_owned(), Vec::new());
        for name in changed {
            let path = overlay::overlay_path(&self.overlay, &name).display().to_string();
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
        (said, format!("\nline numbers of {} are those of the file as patched by {}", named.join(", "), by.join(", ")))
    }

    fn link(&self, recipe: &BuildRecipe, targets: &[&str], object: &Path) -> Result<(), KernelError> {
        let mut objects = Vec::new();
        for target in targets {
            match target.strip_suffix('/') {
                Some(folder) => objects.extend(self.objects_of(folder)?),
                None => objects.push((*target).to_owned()),
            }
        }
        let (mut hosts, mut host_objects) = (Vec::new(), Vec::new());
        for name in ["host", "paths"] {
            let text =
                crate::embedded_text(&format!("host/{name}.c")).replace("../arch/include/asm/fairlab.h", "fairlab.h");
            self.write(&format!("fl-{name}.c"), &text)?;
            hosts.push(format!("fl-{name}.c"));
            host_objects.push(format!("fl-{name}.o"));
        }
        self.write("host.h", crate::embedded_text("host/host.h"))?;
        self.write("fairlab.h", crate::embedded_text("arch/include/asm/fairlab.h"))?;
        self.write("engine.lds.in", crate::embedded_text("host/engine.lds"))?;
        let facts = self.overlay.join(overlay::FACTS).display().to_string();
        let flags = ["-E", "-P", "-x", "c", "-imacros", &facts, "-o", "engine.lds", "engine.lds.in"];
        self.run(recipe, "gcc", &flags)?;
        // `longjmp()` between stacks is intended, so the checks of the C library are off.
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let flags = ["-O2", "-g1", "-fPIC", "-Wall", "-U_FORTIFY_SOURCE", "-c"];
        self.run(recipe, "gcc", &[&flags, &hosts[..]].concat())?;
        objects.extend(host_objects);
        let names: Vec<&str> = objects.iter().map(String::as_str).collect();
        let nm = self.run(recipe, "nm", &[&["-A", "-P"], &names[..]].concat())?;
        self.write("standins.c", &symbols::stub_source(&symbols::undefined(&nm), &recipe.tree)?)?;
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
        let functions = operations::function_list(&self.run(recipe, "nm", &["-P", "engine.so"])?);
        let beside = operations::symbol_file(object);
        fs::write(&beside, functions).map_err(io_error_at(&beside))?;
        meanings::write(&self.overlay, object)?;
        fs::copy(&made, object).map(|_| ()).map_err(io_error_at(object))
    }

    /// Returns the objects of a folder by the list in its archive. Others may be left from earlier builds.
    fn objects_of(&self, folder: &str) -> Result<Vec<String>, KernelError> {
        let archive = self.build.join(folder).join("built-in.a");
        let run = Command::new("ar").arg("t").arg(&archive).output().map_err(io_error_at(Path::new("ar")))?;
        let names = String::from_utf8_lossy(&run.stdout).into_owned();
        let place = |name: &str| {
            let name = name.rsplit('/').next().unwrap_or_default();
            format!("{folder}/{name}")
        };
        Ok(names.lines().filter(|name| name.ends_with(".o")).map(place).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KernelError> {
        let path = self.build.join(name);
        fs::write(&path, text).map_err(io_error_at(&path))
    }

    fn run(&self, recipe: &BuildRecipe, program: &str, words: &[&str]) -> Result<String, KernelError> {
        let run = Command::new(program)
            .args(words)
            .current_dir(&self.build)
            .output()
            .map_err(io_error_at(Path::new(program)))?;
        self.check_status(recipe, &format!("{program} {}", words.last().unwrap_or(&"")), &run)?;
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    }
}

/// Whether a configuration contains a line. A configuration writes `=n` as a comment.
pub(crate) fn has_config_line(config: &str, line: &str) -> bool {
    let off = line.strip_suffix("=n").map(|name| format!("# {name} is not set"));
    match off {
        Some(off) => {
            config.lines().any(|other| other == off) || !config.contains(&format!("{}=", line.trim_end_matches("=n")))
        }
        None => config.lines().any(|other| other == line),
    }
}
