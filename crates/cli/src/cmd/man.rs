// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab man`: manual pages, generated from the command-line definition.

use crate::args::{Args, ManArgs};
use crate::output::Output;
use crate::values::error::CliError;
use clap::CommandFactory;
use clap_mangen::Man;

pub(crate) fn man(output: &mut Output, args: &ManArgs) -> Result<(), CliError> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        Man::new(Args::command()).render(&mut page).map_err(CliError::failed)?;
        return output.text(&String::from_utf8_lossy(&page));
    };
    let write = || {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(Args::command(), dir)
    };
    write().map_err(|error| CliError::write(&dir.display().to_string(), &error))
}
