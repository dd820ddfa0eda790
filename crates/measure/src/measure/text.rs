// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements in the output formats of other tools.

use super::search::SearchRatios;
use std::fmt::Write;

/// Row of the table of [`schedstat_parse`].
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedRow {
    pub case: String,
    /// Load of the benchmark, such as `28 threads`.
    pub load: String,
    pub ratios: SearchRatios,
}

/// Formats search ratios as the table that `schedstat_parse.py` prints.
pub fn schedstat_parse(rows: &[ParsedRow]) -> String {
    let mut text = "case\t        load\t    se_eff%\t    dom_eff%\t  fast_rate%\tsuccess_rate%\n".to_owned();
    for ParsedRow { case, load, ratios } in rows {
        let SearchRatios { se_eff, dom_eff, fast_rate, success_rate } = ratios;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{case}\t{load:>13}\t{se_eff:>11.3}\t{dom_eff:>12.3}\t{fast_rate:>12.3}\t{success_rate:>12.3}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head of the published table of netperf, and its first row.
    const PUBLISHED: &str = "\
case\t        load\t    se_eff%\t    dom_eff%\t  fast_rate%\tsuccess_rate%
TCP_RR\t   28 threads\t     99.978\t      18.535\t      99.995\t     100.000
";

    #[test]
    fn the_table_is_that_of_the_published_measurements() {
        let ratios = SearchRatios { se_eff: 99.978, dom_eff: 18.535, fast_rate: 99.995, success_rate: 100.0 };
        let row = ParsedRow { case: "TCP_RR".to_owned(), load: "28 threads".to_owned(), ratios };
        assert_eq!(schedstat_parse(&[row]), PUBLISHED);
    }
}
