// SPDX-License-Identifier: GPL-2.0-or-later
//! `base = "hikey960"`: a machine file that says only how its machine differs from another one.
//!
//! Rules:
//! 1. A plain key, `[cpus]`, and each price and number of lines of the file replaces that of the base.
//! 2. A list of tables (`[[cpu_type]]`, `[[frequency_domain]]`, `[[idle_state]]`, ...) replaces the base's list as a whole.
//! 3. What is inherited has to fit the machine: an error there names the base's line.
//! 4. A base is the name of a machine that comes with the program, or a path, from where the file lies. A base may have a base.

use super::error::{Fault, Inherited, LoadError};
use super::keys::RawMachine;
use super::presets::{self, preset_text};
use super::read;
use std::path::Path;
use toml::Spanned;

/// So many files may be based on each other.
const MOST_BASES: usize = 8;

/// The text of a base, by its name in a file.
pub(super) type Resolve<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Bases of a text that lies nowhere: machines that come with the program.
pub(super) fn only_presets(name: &str) -> Result<String, String> {
    preset_text(name).map(str::to_owned).ok_or_else(|| presets::unknown(name).to_string())
}

/// Bases of a file: machines that come with the program, and files from where it lies.
pub(super) fn beside(file: &str) -> impl Fn(&str) -> Result<String, String> {
    let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
    move |name| {
        if presets::is_path(name) {
            let path = folder.join(name);
            presets::read_text(&path)
                .map_err(|cause| LoadError::Read { path: path.display().to_string(), cause }.to_string())
        } else {
            only_presets(name)
        }
    }
}

/// A file with what it inherits. Its bases are appended to `inherited`, the nearest first.
pub(super) fn with_bases(
    own: RawMachine,
    end: usize,
    inherited: &mut Vec<Inherited>,
    resolve: Resolve<'_>,
) -> Result<RawMachine, Fault> {
    let Some(name) = &own.base else { return Ok(own) };
    if inherited.len() == MOST_BASES {
        let help = "a base that is based on the file itself never ends";
        return Err(Fault::of(name, format!("more than {MOST_BASES} bases"), help));
    }
    let wrong = |message: String| {
        let help = "write the name of a machine (`fairlab machine list`), or the path of a machine file";
        Fault::of(name, format!("the base cannot be had: {}", message.lines().next().unwrap_or_default()), help)
    };
    let text = resolve(name.get_ref()).map_err(wrong)?;
    // What stands in the base gets places behind those of the file, so that errors know whose they are.
    let placed = format!("{}\n{text}", " ".repeat(end));
    let base = read::raw(&placed).map_err(|fault| wrong(format!("`{}`: {}", name.get_ref(), fault.message())))?;
    inherited.push(Inherited { name: name.get_ref().clone(), start: end + 1, text: placed });
    let end = inherited[inherited.len() - 1].text.len();
    let base = with_bases(base, end, inherited, resolve)?;
    Ok(own.over(base))
}

/// A key that every machine needs, its own or inherited.
pub(super) fn needed<'a, T>(value: &'a Option<Spanned<T>>, key: &str) -> Result<&'a Spanned<T>, Fault> {
    let help = format!("add `{key}` to the file, or `base = \"hikey960\"` to inherit it");
    value.as_ref().ok_or_else(|| Fault::new(0..0, format!("there is no `{key}`"), help))
}
