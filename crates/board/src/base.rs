// SPDX-License-Identifier: GPL-2.0-or-later
//! Inheritance: `base = "hikey960"` in a machine file that lists only the differences from another machine.
//!
//! Rules:
//! 1. A plain key, `[cpus]`, and each cost and number of lines of the file replaces that of the base.
//! 2. A list of tables (`[[cpu_type]]`, `[[frequency_domain]]`, `[[idle_state]]`, ...) replaces the base's
//!    list as a whole.
//! 3. Inherited parts must fit the machine: an error in one names the base's line.
//! 4. A base is the name of a preset, or a path relative to the file. A base may have a base.

use super::error::{DescriptionFault, InheritedText};
use super::keys::RawMachine;
use super::presets::{self, preset_text};
use super::read;
use fairlab_workload::message::Message;
use std::path::Path;
use toml::Spanned;

/// Maximum length of a chain of bases.
const MAX_BASES: usize = 8;
/// Hint for a base that cannot be read.
const BASE_HELP: &str = "write the name of a machine (`fairlab machine list`), or the path of a machine file";
/// Hint for a cycle of bases.
const CYCLE_HELP: &str =
    "let one of them list everything it needs, or use a machine that comes with fairlab as its base";

/// Returns the text of a base, by its name in a file.
pub(super) type BaseResolver<'a> = &'a dyn Fn(&str) -> Result<String, Message>;

/// Resolves the bases of a text without a location: presets only.
pub(super) fn resolve_preset(name: &str) -> Result<String, Message> {
    preset_text(name).map(str::to_owned).ok_or_else(|| presets::unknown_error(name))
}

/// Returns the resolver for the bases of a file: presets, and files relative to it.
pub(super) fn resolver_beside(file: &str) -> impl Fn(&str) -> Result<String, Message> {
    let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
    move |name| {
        if presets::is_path(name) {
            let path = folder.join(name);
            presets::read_text(&path).map_err(|cause| presets::unreadable_error(&path.display().to_string(), &cause))
        } else {
            resolve_preset(name)
        }
    }
}

/// Merges a file with its bases, which are appended to `inherited`, the nearest first.
pub(super) fn with_bases(
    own: RawMachine,
    end: usize,
    inherited: &mut Vec<InheritedText>,
    resolve: BaseResolver<'_>,
) -> Result<RawMachine, DescriptionFault> {
    let Some(name) = &own.base else { return Ok(own) };
    // An error in a chain of bases is reported at the file that begins the chain.
    let at = inherited.first().map_or_else(|| name.span(), |first| first.named_at.clone());
    if let Some(first) = inherited.iter().position(|base| base.name == *name.get_ref()) {
        let circle = inherited[first..].iter().map(|base| base.name.as_str()).chain([name.get_ref().as_str()]);
        let circle = circle.collect::<Vec<_>>().join(", which is based on ");
        return Err(DescriptionFault::new(at, format!("the bases form a cycle: {circle}"), CYCLE_HELP));
    }
    if inherited.len() == MAX_BASES {
        let help = "merge the bases into fewer files";
        return Err(DescriptionFault::new(at, format!("more than {MAX_BASES} bases"), help));
    }
    let wrong = |message: Message| {
        let near = message.help.clone().filter(|help| help.contains("did you mean"));
        let what = format!("the base cannot be read: {}", Message { help: None, ..message });
        DescriptionFault::from_value(name, what, near.unwrap_or_else(|| BASE_HELP.to_owned()))
    };
    let text = resolve(name.get_ref()).map_err(wrong)?;
    // Positions in the base follow those of the file, so that an error's position identifies its text.
    let placed = format!("{}\n{text}", " ".repeat(end));
    let base = read::parse_raw(&placed)
        .map_err(|fault| wrong(Message::new(format!("`{}`: {}", name.get_ref(), fault.message()))))?;
    inherited.push(InheritedText { name: name.get_ref().clone(), named_at: name.span(), start: end + 1, text: placed });
    let end = inherited[inherited.len() - 1].text.len();
    let base = with_bases(base, end, inherited, resolve)?;
    Ok(own.over(base))
}

/// Returns a key that every machine needs, its own or inherited.
pub(super) fn required<'a, T>(value: &'a Option<Spanned<T>>, key: &str) -> Result<&'a Spanned<T>, DescriptionFault> {
    let help = format!("add `{key}` to the file, or `base = \"hikey960\"` to inherit it");
    value.as_ref().ok_or_else(|| DescriptionFault::new(0..0, format!("there is no `{key}`"), help))
}
