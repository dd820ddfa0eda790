// SPDX-License-Identifier: GPL-2.0-or-later
//! `base = "hikey960"`: a machine file that says only how its machine differs from another one.
//!
//! Rules:
//! 1. A plain key, `[cpus]`, and each price and number of lines of the file replaces that of the base.
//! 2. A list of tables (`[[cpu_type]]`, `[[frequency_domain]]`, `[[idle_state]]`, ...) replaces the base's list as a whole.
//! 3. What is inherited has to fit the machine: an error there names the base's line.
//! 4. A base is the name of a machine that comes with the program, or a path, from where the file lies. A base may have a base.

use super::error::{DescriptionFault, Inherited, LoadError};
use super::keys::RawMachine;
use super::presets::{self, preset_text};
use super::read;
use std::path::Path;
use toml::Spanned;

/// So many files may be based on each other.
const MOST_BASES: usize = 8;
/// What a base may be.
const HELP: &str = "write the name of a machine (`fairlab machine list`), or the path of a machine file";
/// What to do about files that are based on each other.
const CIRCLE: &str = "let one of them say all that it needs, or be based on a machine that comes with fairlab";

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
) -> Result<RawMachine, DescriptionFault> {
    let Some(name) = &own.base else { return Ok(own) };
    // What is wrong with a chain of bases is told of the file that begins it.
    let at = inherited.first().map_or_else(|| name.span(), |first| first.named_at.clone());
    if let Some(first) = inherited.iter().position(|base| base.name == *name.get_ref()) {
        let circle = inherited[first..].iter().map(|base| base.name.as_str()).chain([name.get_ref().as_str()]);
        let circle = circle.collect::<Vec<_>>().join(", which is based on ");
        return Err(DescriptionFault::new(at, format!("the bases go in a circle: {circle}"), CIRCLE));
    }
    if inherited.len() == MOST_BASES {
        let help = "put what they say into fewer files";
        return Err(DescriptionFault::new(at, format!("more than {MOST_BASES} bases"), help));
    }
    let wrong = |message: String| {
        let mut lines = message.lines();
        let what = format!("the base cannot be had: {}", lines.next().unwrap_or_default());
        let near = lines
            .next()
            .and_then(|line| line.trim().strip_prefix("help: "))
            .filter(|help| help.contains("did you mean"));
        DescriptionFault::of(name, what, near.unwrap_or(HELP))
    };
    let text = resolve(name.get_ref()).map_err(wrong)?;
    // What stands in the base gets places behind those of the file, so that errors know whose they are.
    let placed = format!("{}\n{text}", " ".repeat(end));
    let base = read::raw(&placed).map_err(|fault| wrong(format!("`{}`: {}", name.get_ref(), fault.message())))?;
    inherited.push(Inherited { name: name.get_ref().clone(), named_at: name.span(), start: end + 1, text: placed });
    let end = inherited[inherited.len() - 1].text.len();
    let base = with_bases(base, end, inherited, resolve)?;
    Ok(own.over(base))
}

/// A key that every machine needs, its own or inherited.
pub(super) fn needed<'a, T>(value: &'a Option<Spanned<T>>, key: &str) -> Result<&'a Spanned<T>, DescriptionFault> {
    let help = format!("add `{key}` to the file, or `base = \"hikey960\"` to inherit it");
    value.as_ref().ok_or_else(|| DescriptionFault::new(0..0, format!("there is no `{key}`"), help))
}
