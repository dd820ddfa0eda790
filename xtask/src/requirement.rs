// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs and files that a machine may lack. Where one is missing, a check of CI reports SKIPPED, unless
//! `FAIRLAB_REQUIRE`, a list of names separated by commas, names it.

use anyhow::{Result, bail};

/// Reports that a check is skipped because `name` is missing. Fails outside CI, and if `FAIRLAB_REQUIRE` has
/// the name.
pub(crate) fn skip_or_fail(is_ci: bool, name: &str, message: &str) -> Result<()> {
    let required = std::env::var("FAIRLAB_REQUIRE").unwrap_or_default();
    if !is_ci {
        bail!("{message}");
    }
    if is_named(name, &required) {
        bail!("{message}\nhelp: FAIRLAB_REQUIRE names {name}");
    }
    println!("SKIPPED: {message}");
    Ok(())
}

fn is_named(name: &str, required: &str) -> bool {
    required.split(',').any(|one| one.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_requirement_is_named_by_its_whole_name() {
        assert!(is_named("valgrind", "chromium, valgrind"));
        assert!(!is_named("linux-source-6.1", "linux-source-6.12,valgrind"));
        assert!(!is_named("valgrind", ""));
    }
}
