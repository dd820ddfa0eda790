// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that need something that a machine may lack.
//!
//! A test whose requirement is missing is listed as ignored, with the reason. It fails if `FAIRLAB_REQUIRE`, a
//! list separated by commas, names the requirement.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;

/// Something that tests need.
pub(crate) struct Requirement {
    /// Name in `FAIRLAB_REQUIRE`.
    pub(crate) name: &'static str,
    /// Returns the reason if it is missing.
    pub(crate) missing: fn() -> Option<String>,
}

/// Test with its name: see [`named`].
pub(crate) type NamedTest = (&'static str, fn());

/// Returns functions with their names. The compiler warns about a test that no list contains.
macro_rules! named {
    ($($test:ident),* $(,)?) => { [$((stringify!($test), $test as fn())),*] };
}
pub(crate) use named;

impl Requirement {
    /// Returns tests that run where the requirement is there.
    pub(crate) fn trials<const N: usize>(self, tests: [NamedTest; N]) -> Vec<Trial> {
        let Self { name, missing } = self;
        let of = |(test, run): NamedTest| Trial::ignorable_test(test, move || outcome(name, missing(), run));
        tests.map(of).into()
    }
}

fn outcome(name: &str, missing: Option<String>, run: fn()) -> Result<Completion, Failed> {
    match missing {
        None => {
            run();
            Ok(Completion::Completed)
        }
        Some(why) if is_required(name) => Err(format!("FAIRLAB_REQUIRE names {name}: {why}").into()),
        Some(why) => Ok(Completion::ignored_with(why)),
    }
}

fn is_required(name: &str) -> bool {
    std::env::var("FAIRLAB_REQUIRE").is_ok_and(|names| names.split(',').any(|one| one.trim() == name))
}

/// Runs tests with the arguments of `cargo test`.
pub(crate) fn run(tests: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
