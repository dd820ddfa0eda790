// SPDX-License-Identifier: GPL-2.0-or-later
//! Data model of a study's TOML file: arms, runs, and the published tables to reproduce.

pub use crate::arms::ArmDefinition;
use crate::data::figures::FigureDefinition;
use crate::data::keys::{ChartDefinition, RobustnessDefinition};
use crate::data::runs::RunDefinition;
use crate::evidence::Evidence;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Published or simulated value: a number, or a text where there is no number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FigureValue {
    /// A number in the table's unit.
    Number(f64),
    /// Text in place of a number.
    Text(String),
}

impl FigureValue {
    /// Returns the number, or `None` for a text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for FigureValue {
    /// Formats a number with at most two decimals, and fewer for large ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if number.fract() == 0.0 || number.abs() >= 1000.0 => write!(f, "{number:.0}"),
            Self::Number(number) if number.abs() >= 100.0 => write!(f, "{number:.1}"),
            Self::Number(number) => write!(f, "{number:.2}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Rule for when a simulated value counts as reproducing the published one.
///
/// Distances from the published value (`within`, `within_percent`, `factor`): at least one of the given ones
/// must hold. Bounds of the simulated value itself (`at_least`, `at_most`): all given ones must hold,
/// whatever exactly was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    /// Largest absolute difference, in the table's unit.
    pub within: Option<f64>,
    /// Largest relative difference, in percent of the published value.
    pub within_percent: Option<f64>,
    /// Largest factor between the two values, in either direction.
    pub factor: Option<f64>,
    /// Lower bound of the simulated value, in the table's unit.
    pub at_least: Option<f64>,
    /// Upper bound of the simulated value, in the table's unit.
    pub at_most: Option<f64>,
    /// The published value is that of a single run, and must lie within the middle `inside_percent` of the
    /// simulated runs. The distances and bounds above are then ignored.
    pub inside_percent: Option<f64>,
    /// The value is a change, and the right sign alone gives the verdict "direction only".
    #[serde(default)]
    pub sign: bool,
}

impl VerdictRule {
    /// Whether `value` matches `published` by this rule. Only the published number itself meets a rule
    /// without conditions.
    pub fn is_met(&self, value: f64, published: f64) -> bool {
        let difference = (value - published).abs();
        let distances = [
            self.within.map(|most| difference <= most),
            self.within_percent.map(|most| published != 0.0 && 100.0 * difference <= most * published.abs()),
            self.factor.map(|most| is_within_factor(value, published, most)),
        ];
        let bounds = [self.at_least.map(|least| value >= least), self.at_most.map(|most| value <= most)];
        let (has_distance, has_bound) = (distances.iter().any(Option::is_some), bounds.iter().any(Option::is_some));
        match (has_distance, has_bound) {
            (false, false) => difference == 0.0,
            _ => {
                (!has_distance || distances.into_iter().flatten().any(|holds| holds))
                    && bounds.into_iter().flatten().all(|holds| holds)
            }
        }
    }
}

impl VerdictRule {
    /// Largest accepted distance from the published number, over all conditions.
    fn width(&self, published: f64) -> f64 {
        let size = published.abs();
        let distances = [
            self.within,
            self.within_percent.map(|most| size * most / 100.0),
            self.factor.map(|most| size * (most - 1.0)),
        ];
        let bounds = [self.at_least, self.at_most].map(|bound| bound.map(|bound| (published - bound).abs()));
        distances.into_iter().chain(bounds).flatten().fold(0.0, f64::max)
    }
}

/// Whether two numbers are equal, or have the same sign and a quotient of at most `most`.
fn is_within_factor(value: f64, published: f64, most: f64) -> bool {
    value == published || (value * published > 0.0 && (value / published).max(published / value) <= most)
}

/// Row of a published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDefinition {
    /// Measured case, such as a benchmark with its number of threads.
    pub label: String,
    /// Name of the arm to run.
    pub arm: String,
    /// Published value, if there is one.
    pub published: Option<FigureValue>,
    /// Published standard deviation, in the table's unit.
    pub spread: Option<f64>,
    /// Kind of evidence that a verdict on this row gives; required with a published value.
    pub evidence: Option<Evidence>,
    /// Rule that replaces the table's rule for this row.
    pub verdict: Option<VerdictRule>,
    /// Reason why the rule is wider than the change that it judges, or than three published standard
    /// deviations.
    pub why: Option<String>,
    /// Remark for the report.
    pub remark: Option<String>,
    /// Run that the value comes from; by default the table's, or the one with the row's label as its name.
    pub run: Option<String>,
    /// Figure to report; by default the table's, or the one with the row's label as its name.
    pub figure: Option<String>,
    /// Arm from which the value is a change; by default the table's.
    pub from: Option<String>,
}

impl RowDefinition {
    /// Returns a row that is reported, but has no published value to compare with.
    pub fn unpublished(label: impl Into<String>, arm: impl Into<String>) -> Self {
        let (label, arm) = (label.into(), arm.into());
        Self { label, arm, ..Self::default() }
    }
}

/// Published table, with the rules for its verdicts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// Short name, unique within the study.
    pub name: String,
    /// Title of the table in the report.
    pub title: String,
    /// Name of the measured quantity.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// The values are changes from one arm to another: a rule must not be wider than the changes.
    #[serde(default)]
    pub change: bool,
    /// Rule for all rows without their own.
    #[serde(default)]
    pub verdict: VerdictRule,
    /// Reason why the rule is wider than the change that it judges, or than three published standard
    /// deviations.
    #[serde(default)]
    pub why: Option<String>,
    /// Run of all rows that name none.
    pub run: Option<String>,
    /// Figure of all rows that name none.
    pub figure: Option<String>,
    /// Arm from which all values are changes, unless the row names one.
    pub from: Option<String>,
    /// Unit of changes: percent, difference or factor.
    #[serde(default)]
    pub change_as: ChangeAs,
    /// Runs that have rows, in a table without rows in the data; empty for all.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Figures that have rows, in a table without rows in the data; empty for all.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Arms that have rows, in a table without rows in the data; empty for all.
    #[serde(default)]
    pub arms: Vec<String>,
    /// Rows of the table. A table of data without rows gets one for each of its runs, figures and arms.
    #[serde(default)]
    pub rows: Vec<RowDefinition>,
}

/// Expression of a change from one arm to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeAs {
    /// Percentage of the value before.
    #[default]
    Percent,
    /// Difference, in the unit of the value.
    Difference,
    /// Quotient of the value after and the value before.
    Factor,
}

impl ChangeAs {
    /// Computes the change from `before` to `after`.
    pub fn of(self, before: f64, after: f64) -> f64 {
        match self {
            Self::Percent => 100.0 * (after - before) / before,
            Self::Difference => after - before,
            Self::Factor => after / before,
        }
    }
}

impl TableDefinition {
    /// Whether the rows are changes from one arm to another.
    pub fn reports_changes(&self) -> bool {
        self.change || self.from.is_some() || self.rows.iter().any(|row| row.from.is_some())
    }

    /// Whether the data name the runs or figures that fill the table.
    pub fn is_data(&self) -> bool {
        let says = |run: &Option<String>, figure: &Option<String>| run.is_some() || figure.is_some();
        let lists = !self.runs.is_empty() || !self.figures.is_empty();
        lists || says(&self.run, &self.figure) || self.rows.iter().any(|row| says(&row.run, &row.figure))
    }

    /// Returns the error about a row's published value; `None` for a valid row.
    ///
    /// Rules:
    /// - A row has `evidence` if and only if it has a published value, and `spread` only with a published
    ///   number.
    /// - A rule is not wider than the change that it judges, nor than three published standard deviations,
    ///   unless `why` gives the reason.
    pub(crate) fn row_validation_error(&self, row: &RowDefinition) -> Option<Message> {
        if row.published.is_some() != row.evidence.is_some() {
            let kinds = Evidence::KINDS.map(|(name, _)| name).join(", ");
            let help = format!(
                "kinds are {kinds}; calibrated and follows name the row or what was set: {{ follows = \"...\" }}"
            );
            let (message, help) = match row.published {
                Some(_) => ("a published figure needs its `evidence`", help),
                None => ("`evidence` without a published figure", "leave it out".to_owned()),
            };
            return Some(Message::new(message).with_help(help));
        }
        let Some(published) = row.published.as_ref().and_then(FigureValue::number) else {
            let error = Message::new("`spread` without a published number");
            return row.spread.map(|_| error.with_help("leave it out: it belongs to a published number"));
        };
        let width = row.verdict.unwrap_or(self.verdict).width(published);
        let is_said = row.why.is_some() || (row.verdict.is_none() && self.why.is_some());
        let than = match row.spread {
            _ if self.change && width > published.abs() => "the change that it judges",
            Some(spread) if width > 3.0 * spread => "three published standard deviations",
            _ => return None,
        };
        let error = || Message::new(format!("the rule allows {width:.2}, which is wider than {than}"));
        (!is_said).then(|| error().with_help("narrow it, or say `why`"))
    }
}

/// Headline of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadlineDefinition {
    /// The measured quantity in words, such as "change of hackbench time with 16 groups".
    pub name: String,
    /// Name of the table.
    pub table: String,
    /// Label of the row.
    pub row: String,
    /// Arm of the row.
    pub arm: String,
    /// Arm from which the headline is a change, in a table whose rows are not changes.
    pub from: Option<String>,
    /// Unit of that change: percent, difference or factor.
    #[serde(default)]
    pub change_as: ChangeAs,
}

/// Contents of a study's TOML file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyDefinition {
    /// Short name, which is also the name of its output files.
    pub name: String,
    /// Title of the report.
    pub title: String,
    /// Source of the published values.
    pub source: String,
    /// Notes for the end of the report.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Machine of runs that name none: the name of a preset or a file.
    pub machine: Option<String>,
    /// Number of seeds of runs that do not set it.
    pub seeds: Option<u64>,
    /// Variants of the scheduler to compare.
    #[serde(rename = "arm")]
    pub arms: Vec<ArmDefinition>,
    /// Workloads to run under the arms.
    #[serde(default, rename = "run")]
    pub runs: Vec<RunDefinition>,
    /// Definitions of the values that are extracted from run results, by name.
    #[serde(default, rename = "figure")]
    pub figures: BTreeMap<String, FigureDefinition>,
    /// Published tables to reproduce.
    #[serde(rename = "table")]
    pub tables: Vec<TableDefinition>,
    /// Charts of tables and runs.
    #[serde(default, rename = "picture")]
    pub pictures: Vec<ChartDefinition>,
    /// Number that the published change claims.
    pub headline: Option<HeadlineDefinition>,
    /// Settings to vary, in order to find out which verdicts depend on them.
    pub robustness: Option<RobustnessDefinition>,
}

impl StudyDefinition {
    /// Returns an arm by name.
    ///
    /// # Panics
    /// If there is none: the names in a study's rows are checked when it is parsed.
    pub fn arm(&self, name: &str) -> &ArmDefinition {
        self.arms.iter().find(|arm| arm.name == name).unwrap_or_else(|| panic!("{} has no arm {name}", self.name))
    }

    /// Returns a table by name.
    ///
    /// # Panics
    /// If there is none.
    pub fn table(&self, name: &str) -> &TableDefinition {
        self.tables
            .iter()
            .find(|table| table.name == name)
            .unwrap_or_else(|| panic!("{} has no table {name}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error message for a study with one row; `table` and `row` add keys to the table and to the
    /// row. Empty if there is no error.
    fn complaint(table: &str, row: &str) -> String {
        let text = format!(
            "name = 's'\ntitle = 's'\nsource = 's'\n[[arm]]\nname = 'a'\nmeaning = 'a'\n[[table]]\nname = 't'\ntitle = 't'\n\
             metric = 'm'\nunit = 'u'\n{table}\nrows = [{{ label = 'r', arm = 'a'{row} }}]\n"
        );
        StudyDefinition::parse("studies/s.toml", &text).map_or_else(|error| error.one_line(), |_| String::new())
    }

    #[test]
    fn a_published_figure_has_evidence_and_nothing_else_has() {
        let message = complaint("", ", published = 1");
        assert!(
            message.starts_with("studies/s.toml: table t, row r: a published figure needs its `evidence` help: kinds"),
            "{message}"
        );
        assert!(complaint("", ", evidence = 'trivial'").contains("`evidence` without a published figure"));
        assert!(complaint("", ", spread = 1.0").contains("`spread` without a published number"));
        assert!(complaint("", ", published = 1, evidence = 'guessed'").contains("unknown variant `guessed`"));
        assert_eq!(complaint("", ", published = 1, evidence = 'trivial', spread = 1.0"), "");
        assert_eq!(complaint("", ", published = 'none', evidence = { follows = 'x' }"), "");
        assert_eq!(complaint("", ""), "");
    }

    #[test]
    fn a_rule_wider_than_what_it_judges_says_why() {
        let row = ", published = 2.0, spread = 0.5, evidence = 'predicted'";
        let wide = "change = true\nverdict = { within = 3.0 }";
        assert!(
            complaint(wide, row).contains("allows 3.00, which is wider than the change that it judges help: narrow it")
        );
        let within = "change = true\nverdict = { within = 1.6 }";
        assert!(complaint(within, row).contains("wider than three published standard deviations"));
        assert_eq!(complaint("change = true\nverdict = { within = 1.5 }", row), "");
        assert_eq!(complaint(&format!("{wide}\nwhy = 'short runs'"), row), "");
        let own = format!("{row}, verdict = {{ at_most = 4.0 }}");
        assert!(
            complaint("why = 'the table has a reason'", &own).contains("allows 2.00"),
            "the reason is not the row's"
        );
        assert_eq!(complaint("", &format!("{own}, why = 'it has one'")), "");
    }

    #[test]
    fn a_rule_is_as_wide_as_its_widest_condition() {
        let rule = VerdictRule { within_percent: Some(10.0), factor: Some(1.5), ..VerdictRule::default() };
        assert_eq!(rule.width(-40.0), 20.0);
        assert_eq!(VerdictRule { at_least: Some(100.0), ..VerdictRule::default() }.width(197.0), 97.0);
        assert_eq!(VerdictRule::default().width(5.0), 0.0);
    }
}
