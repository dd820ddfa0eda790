// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles the scheduler of a kernel tree with the tree's own Makefiles in an overlay, and links an engine
//! from the objects.
//!
//! A build has five steps: make the overlay, configure, compile `prepare` and the objects of `objects.txt`,
//! link, check. [`record`] decides which objects of the build before are reused. [`traced`] compiles the scheduler
//! a second time, with hooks in all functions. Left out: the contents of the tree ([`crate::snapshot`]), the overlay
//! itself ([`crate::overlay`]) and caching ([`crate::store`]).
//!
//! Equal contents give equal bytes in every folder: paths in objects do not name it, and tools run without
//! the user's variables ([`crate::process`]).

mod record;
mod traced;

use crate::error::{KernelError, io_error_at};
use crate::snapshot::Snapshot;
use crate::store::{hash, own_hash};
use crate::{coverage, functions, meanings, overlay, process, symbols, tree};
use fairlab_workload::message::Message;
use record::Reuse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// Compiler flags that replace the folder of the build in an object's debug information, and leave it out of messages.
const PATH_FLAGS: [&str; 2] = ["-fdebug-prefix-map={folder}=/fairlab", "-fmacro-prefix-map={folder}/overlay/="];
/// Compiler flags of fairlab's own files outside the kernel. `longjmp()` between stacks is intended, so the checks of
/// the C library are off.
const HOST_FLAGS: [&str; 6] = ["-O2", "-g1", "-fPIC", "-Wall", "-U_FORTIFY_SOURCE", "-c"];
const STUB_FLAGS: [&str; 5] = ["-w", "-O1", "-fPIC", "-fno-builtin", "-c"];
const LINK_FLAGS: [&str; 8] = [
    "-shared",
    "-Wl,-Bsymbolic",
    "-Wl,-T,engine.lds",
    "-Wl,--defsym=jiffies=jiffies_64",
    "-Wl,--wrap=irq_work_queue",
    "-Wl,-z,noexecstack",
    "-Wl,-z,defs",
    "-Wl,--build-id=none",
];
/// Compiler flag of functions without hooks, before their list: see `engine/uncounted.txt`.
const UNCOUNTED_FLAG: &str = "-finstrument-functions-exclude-function-list=";
/// All flags with which engines are built, besides those of the tree.
pub(crate) const FLAGS: [&[&str]; 6] =
    [&PATH_FLAGS, &HOST_FLAGS, &STUB_FLAGS, &LINK_FLAGS, &[UNCOUNTED_FLAG], &[traced::HOST_FLAG]];

/// Inputs of a build.
#[derive(Debug)]
pub struct BuildRecipe {
    /// Contents of the tree's files, as patches and edits have changed them.
    pub snapshot: Snapshot,
    /// Names of the patches and edits, for messages.
    pub changed_by: Vec<String>,
    /// Lines that are added to the configuration.
    pub config: Vec<String>,
    /// Version lines of compiler and linker.
    pub tools: Vec<String>,
    /// Whether the objects count how often each line runs: see [`crate::coverage`].
    pub is_covered: bool,
}

impl BuildRecipe {
    /// Returns the key of the engine: a hash of everything that it is built from.
    pub fn key(&self) -> String {
        self.hash(|_| true)[..32].to_owned()
    }

    /// Returns a hash of the inputs, in which a file's content counts if `has_content` holds for its name.
    fn hash(&self, has_content: impl Fn(&str) -> bool) -> String {
        let mut pieces = vec![own_hash(), self.is_covered.to_string(), self.config.join("\n"), self.tools.join("\n")];
        for (name, content) in self.snapshot.files() {
            pieces.push(name.clone());
            pieces.extend(has_content(name).then(|| content.clone()));
        }
        hash(pieces.iter().map(String::as_bytes))
    }
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
    let run = process::output(process::tool("gcov").arg("--version"));
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

/// Returns the version lines of compiler and linker, which are a part of an engine's key.
///
/// # Errors
/// If they cannot be run.
pub fn tools() -> Result<Vec<String>, KernelError> {
    let version = |program: &str| {
        let run = process::output(process::tool(program).arg("--version"))?;
        Ok(String::from_utf8_lossy(&run.stdout).lines().next().unwrap_or_default().to_owned())
    };
    ["gcc", "ld"].into_iter().map(version).collect()
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
            let message = Message::new(format!("--config {line}: not a line of a configuration"))
                .with_help("for example --config CONFIG_HZ_1000=y");
            return Err(KernelError::Input(message));
        }
    }
    Ok(())
}

/// Folder in which an engine is built. A later build reuses the products whose inputs are equal.
pub struct BuildDir {
    folder: PathBuf,
    overlay: PathBuf,
    build: PathBuf,
}

impl BuildDir {
    /// Returns the build directory in a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), overlay: folder.join("overlay"), build: folder.join("build") }
    }

    /// Returns the overlay, and the folder of the objects.
    pub(crate) fn folders(&self) -> (&Path, &Path) {
        (&self.overlay, &self.build)
    }

    /// Builds the engine `object`, and reports each step to `say`. `lock` is the lock of this folder: it stays
    /// held as long as a tool runs, even if this process is killed.
    ///
    /// # Errors
    /// If the compiler reports errors, the tree needs symbols that fairlab does not know, or the tree's files
    /// change meanwhile.
    pub fn build(
        &self,
        recipe: &BuildRecipe,
        object: &Path,
        lock: &fs::File,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), KernelError> {
        let tree = recipe.snapshot.tree();
        self.try_build(recipe, object, lock, say).map_err(|error| match (error, tree::untested_hint(tree)) {
            (KernelError::Build { step, message }, Some(help)) => {
                KernelError::Build { step, message: format!("{message}\n{help}") }
            }
            (KernelError::Drift(message), Some(help)) => KernelError::Drift(Message::new(format!("{message}\n{help}"))),
            (error, _) => error,
        })
    }

    fn try_build(
        &self,
        recipe: &BuildRecipe,
        object: &Path,
        lock: &fs::File,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), KernelError> {
        let mut reuse = Reuse::begin(&self.folder, recipe)?;
        fs::create_dir_all(&self.build).map_err(io_error_at(&self.build))?;
        say("linking the tree");
        overlay::make(&recipe.snapshot, &self.overlay)?;
        reuse.remove_stale()?;
        let build = RunningBuild { dir: self, recipe, lock };
        build.configure(say)?;
        say("compiling: about 30 s of CPU time, less if little has changed");
        build.make(&["prepare"])?;
        // Headers that are generated from the tree may have changed.
        reuse.remove_stale()?;
        let wanted: Vec<&str> = crate::table_lines(crate::embedded_text("objects.txt"))
            .filter(|name| name.ends_with('/') || self.overlay.join(name).with_extension("c").exists())
            .collect();
        build.make(&wanted)?;
        say("linking the engine");
        build.link(&wanted, object)?;
        overlay::check(&recipe.snapshot, &self.overlay)?;
        reuse.end()
    }
}

/// Build that is running.
struct RunningBuild<'a> {
    dir: &'a BuildDir,
    recipe: &'a BuildRecipe,
    lock: &'a fs::File,
}

impl RunningBuild<'_> {
    /// Makes the configuration, unless the folder has it: it is the same as long as products are reused.
    fn configure(&self, say: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        let (config, recipe) = (self.dir.build.join(".config"), self.recipe);
        if config.exists() {
            return Ok(());
        }
        say("configuring");
        self.make(&["fairlab_defconfig"])?;
        if !recipe.config.is_empty() {
            let mut text = fs::read_to_string(&config).map_err(io_error_at(&config))?;
            text.push_str(&recipe.config.join("\n"));
            text.push('\n');
            fs::write(&config, text).map_err(io_error_at(&config))?;
            self.make(&["olddefconfig"])?;
            let text = fs::read_to_string(&config).map_err(io_error_at(&config))?;
            if let Some(line) = recipe.config.iter().find(|line| !has_config_line(&text, line)) {
                let message = Message::new(format!("--config {line}: this tree's configuration does not accept it"))
                    .with_help("the option is unknown, or an option that it depends on is off");
                return Err(KernelError::Input(message));
            }
        }
        Ok(())
    }

    /// Returns [`PATH_FLAGS`] for this folder.
    fn path_flags(&self) -> [String; 2] {
        PATH_FLAGS.map(|flag| flag.replace("{folder}", &self.dir.folder.display().to_string()))
    }

    fn make(&self, targets: &[&str]) -> Result<(), KernelError> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let counters = if self.recipe.is_covered { coverage::FLAGS } else { "" };
        let mut make = process::tool("make");
        make.args(["-s", "--no-print-directory", "ARCH=fairlab", "-C"])
            .arg(&self.dir.overlay)
            .arg(format!("O={}", self.dir.build.display()))
            .arg(format!("-j{jobs}"))
            .arg(format!("KCFLAGS={} {} {counters}", self.path_flags().join(" "), uncounted_flag()))
            .args(targets);
        let run = self.output(&mut make)?;
        self.check_status(&format!("make {}", targets.join(" ")), &run)
    }

    fn output(&self, command: &mut Command) -> Result<Output, KernelError> {
        let lock = self.lock.try_clone().map_err(io_error_at(&self.dir.folder))?;
        process::output(command.stdin(lock))
    }

    /// Returns an error with the program's own messages if it failed, with the paths of the tree instead of
    /// the overlay.
    fn check_status(&self, step: &str, run: &Output) -> Result<(), KernelError> {
        if run.status.success() {
            return Ok(());
        }
        let output_text = String::from_utf8_lossy(&run.stderr);
        let (output_text, patched) = self.with_tree_paths(&output_text);
        let is_makes = |line: &&str| line.starts_with("make") || line.contains("#warning syscall");
        let message: Vec<&str> = output_text.lines().filter(|line| !is_makes(line)).collect();
        let message = if message.is_empty() { output_text.trim_end().to_owned() } else { message.join("\n") };
        let message = message + &patched;
        Err(KernelError::Build { step: step.split_whitespace().take(3).collect::<Vec<_>>().join(" "), message })
    }

    /// Returns text with paths of the tree instead of the overlay, and a note about patched files.
    ///
    /// The lines of a patched file differ from the tree's, so its name stays without a folder, and the note
    /// names the patches.
    fn with_tree_paths(&self, output_text: &str) -> (String, String) {
        let (overlay, snapshot) = (&self.dir.overlay, &self.recipe.snapshot);
        let (mut output_text, mut named) = (output_text.to_owned(), Vec::new());
        for name in snapshot.changed() {
            let path = overlay::overlay_path(overlay, name).display().to_string();
            if output_text.contains(&path) {
                output_text = output_text.replace(&path, name);
                named.push(name.as_str());
            }
        }
        let output_text =
            output_text.replace(&format!("{}/", overlay.display()), &format!("{}/", snapshot.tree().display()));
        if named.is_empty() {
            return (output_text, String::new());
        }
        let by = self.recipe.changed_by.join(", ");
        (output_text, format!("\nline numbers of {} are those of the file as patched by {by}", named.join(", ")))
    }

    fn link(&self, targets: &[&str], object: &Path) -> Result<(), KernelError> {
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
        let facts = overlay::facts_path(&self.dir.overlay).display().to_string();
        let flags = ["-E", "-P", "-x", "c", "-imacros", &facts, "-o", "engine.lds", "engine.lds.in"];
        self.run("gcc", &flags)?;
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let path_flags = self.path_flags();
        let path_flags = path_flags.each_ref().map(String::as_str);
        self.run("gcc", &[&path_flags, &HOST_FLAGS[..], &hosts[..]].concat())?;
        objects.extend(host_objects);
        let traced = if self.recipe.is_covered { None } else { Some(self.compile_traced(&objects)?) };
        let all: Vec<&str> = objects.iter().chain(traced.iter().flatten()).map(String::as_str).collect();
        let nm = self.run("nm", &[&["-A", "-P"], &all[..]].concat())?;
        self.write("standins.c", &symbols::stub_source(&symbols::undefined(&nm), self.recipe.snapshot.tree())?)?;
        self.run("gcc", &[&STUB_FLAGS[..], &["standins.c", "-o", "standins.o"]].concat())?;
        self.link_object(&objects, object)?;
        if let Some(traced) = traced {
            self.link_object(&traced, &functions::traced_object(object))?;
        }
        functions::write_sources(&self.dir.overlay, object)?;
        meanings::write(&self.dir.overlay, object)
    }

    /// Links objects, and lists the functions of the result beside it.
    fn link_object(&self, objects: &[String], result: &Path) -> Result<(), KernelError> {
        let names: Vec<&str> = objects.iter().map(String::as_str).collect();
        let output = ["-o", "engine.so", "standins.o"];
        let counters: &[&str] = if self.recipe.is_covered { &["-lgcov"] } else { &[] };
        self.run("gcc", &[&LINK_FLAGS[..], &output, &names[..], counters].concat())?;
        let list = functions::function_list(&self.run("nm", &["-P", "engine.so"])?);
        let beside = functions::symbol_file(result);
        fs::write(&beside, list).map_err(io_error_at(&beside))?;
        fs::copy(self.dir.build.join("engine.so"), result).map(drop).map_err(io_error_at(result))
    }

    /// Returns the objects of a folder by the list in its archive. Others may be left from earlier builds.
    fn objects_of(&self, folder: &str) -> Result<Vec<String>, KernelError> {
        let archive = self.dir.build.join(folder).join("built-in.a");
        let run = self.output(process::tool("ar").arg("t").arg(&archive))?;
        let names = String::from_utf8_lossy(&run.stdout).into_owned();
        let place = |name: &str| {
            let name = name.rsplit('/').next().unwrap_or_default();
            format!("{folder}/{name}")
        };
        Ok(names.lines().filter(|name| name.ends_with(".o")).map(place).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), KernelError> {
        let path = self.dir.build.join(name);
        fs::write(&path, text).map_err(io_error_at(&path))
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String, KernelError> {
        let run = self.output(process::tool(program).args(words).current_dir(&self.dir.build))?;
        self.check_status(&format!("{program} {}", words.last().unwrap_or(&"")), &run)?;
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    }
}

/// Returns the compiler flag that leaves functions that are not counted without hooks.
fn uncounted_flag() -> String {
    let names: Vec<&str> = functions::uncounted().collect();
    format!("{UNCOUNTED_FLAG}{}", names.join(","))
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
