// SPDX-License-Identifier: GPL-2.0-or-later
//! Record of what the products in a build folder were made from. It decides which products are made again;
//! dates of files do not.
//!
//! 1. A record names the state of a complete build. It is removed when the next build begins and written when
//!    that build has ended. A folder without a record (an interrupted or failed build, an earlier release) is
//!    emptied.
//! 2. A folder is emptied as well if the next build differs in anything but the contents of the kernel's C
//!    files and headers: names of files, Makefiles, scripts, configuration, compiler, fairlab's own files.
//! 3. A product is removed, so that make makes it again, if a file that it was made from or its command has
//!    another hash than in the record. make itself reports these files, in a file per product.
//! 4. After the build, each product that was kept must still have the hash of the record.

use crate::compile::BuildRecipe;
use crate::error::{KernelError, io_error_at};
use crate::snapshot::file_hash;
use crate::store::hash;
use crate::{remove, tree};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Hashes of the inputs of products, by the paths of the products in the build folder.
pub(super) type InputHashes = BTreeMap<String, String>;

/// Inputs of the products in a build folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuildRecord {
    /// Hash of everything but the contents of the kernel's C files and headers.
    base: String,
    /// Of all products.
    products: InputHashes,
}

/// Product with the files that it was made from, as make has written them down.
#[derive(Debug, PartialEq, Eq)]
struct Product {
    /// Path in the build folder.
    name: String,
    command: String,
    /// Paths of the files that it was made from.
    files: Vec<PathBuf>,
}

/// Build that reuses the products of the one before.
#[derive(Debug)]
pub(super) struct Reuse {
    folder: PathBuf,
    base: String,
    /// Record of the build before, without the products that were removed since.
    kept: InputHashes,
}

impl Reuse {
    /// Takes the record of a build folder, and empties the folder unless its products can be reused.
    pub(super) fn begin(folder: &Path, recipe: &BuildRecipe) -> Result<Self, KernelError> {
        let (path, base) = (record_path(folder), recipe.hash(|name| !is_reusable_across(name)));
        let record: Option<BuildRecord> = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let record = record.filter(|record| record.base == base);
        remove(&path)?;
        if record.is_none() {
            remove(&folder.join("overlay"))?;
            remove(&folder.join("build"))?;
        }
        Ok(Self { folder: folder.to_owned(), base, kept: record.map(|record| record.products).unwrap_or_default() })
    }

    /// Removes the products whose inputs differ from the record.
    pub(super) fn remove_stale(&mut self) -> Result<(), KernelError> {
        let now = self.input_hashes()?;
        let is_stale = |name: &String, old: &mut String| now.get(name) != Some(old);
        for (name, _) in self.kept.extract_if(.., is_stale) {
            let path = self.folder.join("build").join(&name);
            remove(&command_file(&path))?;
            remove(&path)?;
        }
        Ok(())
    }

    /// Checks the products that were kept, and writes the record of this build.
    pub(super) fn end(self) -> Result<(), KernelError> {
        let products = self.input_hashes()?;
        if let Some(name) = self.kept.iter().find(|(name, old)| products.get(*name) != Some(old)).map(|(name, _)| name)
        {
            let message = format!("{name} was made from other files than the tree has now");
            return Err(KernelError::Build { step: "the check of the build".to_owned(), message });
        }
        let record = BuildRecord { base: self.base, products };
        let path = record_path(&self.folder);
        let text = serde_json::to_vec_pretty(&record).expect("a record is JSON");
        fs::write(&path, text).map_err(io_error_at(&path))
    }

    /// Returns the hash of the inputs of each product: its command, and the names and contents of its files.
    fn input_hashes(&self) -> Result<InputHashes, KernelError> {
        let mut known: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        let mut hashes = BTreeMap::new();
        for Product { name, command, files } in products(&self.folder.join("build"))? {
            let mut pieces = vec![command];
            let files: Vec<PathBuf> = files.into_iter().filter(|file| file.starts_with(&self.folder)).collect();
            if files.is_empty() {
                let message =
                    format!("make has listed no file of {} from which {name} was made", self.folder.display());
                return Err(KernelError::Build { step: "the check of the build".to_owned(), message });
            }
            for file in files {
                let content = match known.get(&file) {
                    Some(content) => content.clone(),
                    None => file_hash(&file)?,
                };
                pieces.push(file.display().to_string());
                pieces.push(content.clone().unwrap_or_default());
                known.insert(file, content);
            }
            hashes.insert(name, hash(pieces.iter().map(String::as_bytes)));
        }
        Ok(hashes)
    }
}

fn record_path(folder: &Path) -> PathBuf {
    folder.join("inputs.json")
}

/// Whether a build that differs only in the content of this file can reuse products of the build before.
fn is_reusable_across(name: &str) -> bool {
    let is_source = [".c", ".h", ".S"].iter().any(|ending| name.ends_with(ending));
    is_source && !["scripts/", "tools/"].iter().any(|part| name.starts_with(part))
}

/// Returns the file in which make writes down the command and the files of a product.
fn command_file(product: &Path) -> PathBuf {
    let name = product.file_name().expect("products are files").to_string_lossy();
    product.with_file_name(format!(".{name}.cmd"))
}

/// Returns the command that made a product, in the syntax of make.
pub(super) fn command_of(build: &Path, product: &str) -> Result<String, KernelError> {
    let path = command_file(&build.join(product));
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    parse(&text, build).map(|product| product.command).ok_or_else(|| KernelError::Build {
        step: format!("the second compilation of {product}"),
        message: format!("{} has no command", path.display()),
    })
}

/// Returns the products in a folder that were made from files that make has written down.
fn products(build: &Path) -> Result<Vec<Product>, KernelError> {
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(io_error_at(&path));
    let texts = tree::files_with_extension(build, "cmd")?.into_iter().map(read);
    Ok(texts.collect::<Result<Vec<_>, _>>()?.iter().filter_map(|text| parse(text, build)).collect())
}

/// Parses the file of a product. Relative paths are those of the build folder.
fn parse(text: &str, build: &Path) -> Option<Product> {
    let assigned = |line: &str, kind: &str| {
        let (name, value) = line.strip_prefix(kind)?.split_once(" := ")?;
        Some((name.to_owned(), value.to_owned()))
    };
    let (mut command, mut name, mut files) = (None, None, BTreeSet::new());
    let mut is_list = false;
    for line in text.lines() {
        if let Some((_, value)) = assigned(line, "savedcmd_").or_else(|| assigned(line, "cmd_")) {
            command = Some(value);
        } else if let Some((_, value)) = assigned(line, "source_") {
            files.insert(build.join(value.trim()));
        } else if let Some((product, _)) = assigned(line, "deps_") {
            (name, is_list) = (Some(product), true);
        } else if is_list {
            let (file, continues) = match line.trim().strip_suffix('\\') {
                Some(file) => (file.trim(), true),
                None => (line.trim(), false),
            };
            is_list = continues;
            if !file.is_empty() && !file.starts_with("$(") {
                files.insert(build.join(file));
            }
        }
    }
    Some(Product { name: name?, command: command?, files: files.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay;
    use crate::snapshot::Snapshot;

    const COMMANDS: &str = "savedcmd_kernel/x.o := gcc -c -o kernel/x.o /w/overlay/kernel/x.c\n\nsource_kernel/x.o := /w/overlay/kernel/x.c\n\n\
                            deps_kernel/x.o := \\\n    $(wildcard include/config/SMP) \\\n  /w/overlay/include/a.h \\\n  include/generated/b.h \\\n  /usr/lib/gcc/c.h \\\n\n\
                            kernel/x.o: $(deps_kernel/x.o)\n\n$(deps_kernel/x.o):\n";

    #[test]
    fn the_files_of_a_product_are_its_source_and_its_headers() {
        let product = parse(COMMANDS, Path::new("/w/build")).expect("it is a product");
        assert_eq!((product.name.as_str(), &product.command[..6]), ("kernel/x.o", "gcc -c"));
        let files =
            ["/usr/lib/gcc/c.h", "/w/build/include/generated/b.h", "/w/overlay/include/a.h", "/w/overlay/kernel/x.c"];
        assert_eq!(product.files, files.map(PathBuf::from));
        let older = COMMANDS.replace("savedcmd_", "cmd_");
        assert_eq!(parse(&older, Path::new("/w/build")), Some(product));
        assert_eq!(parse("savedcmd_built-in.a := ar\n", Path::new("/w/build")), None);
    }

    /// Writes a file, and gives it a date in the past: dates must not matter.
    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        fs::write(path, text).expect("written");
        fs::File::open(path).and_then(|file| file.set_modified(std::time::UNIX_EPOCH)).expect("an old date");
    }

    /// Folders of a tree with a C file that includes a header, and of its builds.
    struct TestBuild {
        _folder: tempfile::TempDir,
        tree: PathBuf,
        work: PathBuf,
    }

    impl TestBuild {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let (tree, work) = (folder.path().join("tree"), folder.path().join("work"));
            for (name, text) in [("Makefile", ""), ("kernel/x.c", "int x;"), ("include/a.h", "int a;")] {
                write(&tree.join(name), text);
            }
            Self { _folder: folder, tree, work }
        }

        /// Takes the record, and updates the overlay as a build does.
        fn begin(&self) -> Reuse {
            let snapshot = Snapshot::take(&self.tree, &[], &[]).expect("a snapshot");
            let recipe = BuildRecipe {
                snapshot,
                changed_by: vec![],
                config: vec![],
                tools: vec!["cc".into()],
                is_covered: false,
            };
            let reuse = Reuse::begin(&self.work, &recipe).expect("begun");
            overlay::make(&recipe.snapshot, &self.work.join("overlay")).expect("made");
            reuse
        }

        /// Makes the product, as make would.
        fn make(&self) {
            let (overlay, build) = (self.work.join("overlay"), self.work.join("build"));
            write(&build.join("kernel/x.o"), "an object");
            let list = format!("  {0}/kernel/x.c \\\n  {0}/include/a.h \\\n", overlay.display());
            write(
                &build.join("kernel/.x.o.cmd"),
                &format!("savedcmd_kernel/x.o := cc\n\ndeps_kernel/x.o := \\\n{list}\n"),
            );
        }

        fn is_made(&self) -> bool {
            self.work.join("build/kernel/x.o").exists()
        }

        /// Makes everything again from nothing.
        fn build(&self) {
            let reuse = self.begin();
            self.make();
            reuse.end().expect("it was made from the tree's files");
        }
    }

    #[test]
    fn a_product_is_made_again_if_a_file_differs_in_content_and_only_then() {
        let test = TestBuild::new();
        test.build();
        let mut reuse = test.begin();
        reuse.remove_stale().expect("read");
        assert!(test.is_made());
        reuse.end().expect("nothing has changed");
        write(&test.tree.join("include/a.h"), "int b;");
        let mut reuse = test.begin();
        reuse.remove_stale().expect("read");
        assert!(!test.is_made() && !test.work.join("build/kernel/.x.o.cmd").exists());
        test.make();
        reuse.end().expect("it was made from the tree's files");
    }

    #[test]
    fn a_folder_without_a_complete_build_or_with_other_names_of_files_is_emptied() {
        let test = TestBuild::new();
        test.build();
        // A build that did not end leaves no record.
        drop(test.begin());
        assert!(test.is_made());
        drop(test.begin());
        assert!(!test.is_made());
        test.build();
        write(&test.tree.join("include/b.h"), "");
        drop(test.begin());
        assert!(!test.is_made());
        test.build();
        write(&test.tree.join("Makefile"), "VERSION = 2");
        drop(test.begin());
        assert!(!test.is_made());
    }

    #[test]
    fn a_product_that_was_kept_must_be_that_of_the_files_at_the_end() {
        let test = TestBuild::new();
        test.build();
        let reuse = test.begin();
        write(&test.tree.join("kernel/x.c"), "int changed;");
        let error = reuse.end().expect_err("the object is that of the file before").to_string();
        assert!(error.contains("kernel/x.o was made from other files than the tree has now"), "{error}");
    }

    #[test]
    fn only_contents_of_the_kernels_own_sources_leave_products_in_place() {
        for name in ["kernel/sched/fair.c", "include/linux/sched.h", "lib/x.S"] {
            assert!(is_reusable_across(name), "{name}");
        }
        for name in
            ["Makefile", "kernel/Kconfig.hz", "kernel/time/timeconst.bc", "scripts/basic/fixdep.c", "tools/include/x.h"]
        {
            assert!(!is_reusable_across(name), "{name}");
        }
    }
}
