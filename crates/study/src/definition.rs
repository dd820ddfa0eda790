// SPDX-License-Identifier: GPL-2.0-or-later
//! A study as data: its arms, and the published tables that its results stand beside.

pub use crate::arms::{ArmDefinition, GovernorName};
use crate::data::charts::ChartDefinition;
use crate::data::figures::FigureDefinition;
use crate::data::runs::RunDefinition;
use crate::data::sensitivity::SensitivityDefinition;
use crate::evidence::Evidence;
pub use crate::read::DefinitionError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A figure as published: a number, or words where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FigureValue {
    /// A number in the table's unit.
    Number(f64),
    /// What stands in place of a number.
    Text(String),
}

impl FigureValue {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for FigureValue {
    /// With as many digits as a person wants to read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if number.fract() == 0.0 || number.abs() >= 1000.0 => write!(f, "{number:.0}"),
            Self::Number(number) if number.abs() >= 100.0 => write!(f, "{number:.1}"),
            Self::Number(number) => write!(f, "{number:.2}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// When a simulated figure counts as the published one.
///
/// A distance from the published figure (`within`, `within_percent`, `factor`): one of those that are given must hold. Bounds of the
/// figure itself (`at_least`, `at_most`): all that are given must hold, whatever exactly was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    /// Absolute difference, in the table's unit.
    pub within: Option<f64>,
    /// Relative difference, in percent of the published figure.
    pub within_percent: Option<f64>,
    /// Not more than so many times the published figure, nor less than it divided by that.
    pub factor: Option<f64>,
    /// The figure's lower bound, in the table's unit.
    pub at_least: Option<f64>,
    /// The figure's upper bound, in the table's unit.
    pub at_most: Option<f64>,
    /// The published figure is that of a single run, and has to be among the middle so many percent of the simulated runs. No distance or
    /// bound is asked for then.
    pub inside_percent: Option<f64>,
    /// The figure is a change: the right sign alone is worth something.
    #[serde(default)]
    pub sign: bool,
}

impl VerdictRule {
    /// Whether a number is the published one by this rule. A rule without conditions is met by the published number alone.
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
    /// How far from a published number a figure may be that counts as it.
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

/// Whether one number is another, of the same sign, within a factor.
fn is_within_factor(value: f64, published: f64, most: f64) -> bool {
    value == published || (value * published > 0.0 && (value / published).max(published / value) <= most)
}

/// A row of a published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDefinition {
    /// What was measured.
    pub label: String,
    /// Under which arm.
    pub arm: String,
    /// The published figure, if there is one.
    pub published: Option<FigureValue>,
    /// Its standard deviation, if that was published, in the table's unit.
    pub spread: Option<f64>,
    /// What a verdict on it is worth: each published figure has to say.
    pub evidence: Option<Evidence>,
    /// When it counts as reproduced, if the table's rule is not for this row.
    pub verdict: Option<VerdictRule>,
    /// Why the rule is wider than what it judges, or than three published standard deviations.
    pub why: Option<String>,
    /// What there is to say about it.
    pub remark: Option<String>,
    /// Which run it is of, if the data say how figures are obtained; the table's, or the one that is called as the row.
    pub run: Option<String>,
    /// Which figure it is; the table's, or the one that is called as the row.
    pub figure: Option<String>,
    /// It is the change from this arm; the table's.
    pub from: Option<String>,
}

impl RowDefinition {
    /// A row that is told, and with which nothing can be compared.
    pub fn unpublished(label: impl Into<String>, arm: impl Into<String>) -> Self {
        let (label, arm) = (label.into(), arm.into());
        Self { label, arm, ..Self::default() }
    }
}

/// A published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// Short name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What the figures are.
    pub metric: String,
    /// Their unit.
    pub unit: String,
    /// The figures are changes from one arm to another: a rule must not be wider than they are.
    #[serde(default)]
    pub change: bool,
    /// When a figure counts as reproduced.
    #[serde(default)]
    pub verdict: VerdictRule,
    /// Why that is wider than what it judges, or than three published standard deviations.
    #[serde(default)]
    pub why: Option<String>,
    /// Which run its rows are of, if the data say how figures are obtained.
    pub run: Option<String>,
    /// Which figure they are.
    pub figure: Option<String>,
    /// They are changes from this arm.
    pub from: Option<String>,
    /// How a change is told.
    #[serde(default)]
    pub change_as: ChangeAs,
    /// Of a table without rows: runs,
    #[serde(default)]
    pub runs: Vec<String>,
    /// figures,
    #[serde(default)]
    pub figures: Vec<String>,
    /// and arms that have rows, instead of all of them.
    #[serde(default)]
    pub arms: Vec<String>,
    /// The rows. A table of data without any has one for each of its runs, figures and arms.
    #[serde(default)]
    pub rows: Vec<RowDefinition>,
}

/// How a change from one arm to another is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeAs {
    /// In percent of the figure before.
    #[default]
    Percent,
    /// As the difference, in the figure's unit.
    Difference,
    /// As the quotient.
    Factor,
}

impl ChangeAs {
    /// The change from one figure to another.
    pub fn of(self, before: f64, after: f64) -> f64 {
        match self {
            Self::Percent => 100.0 * (after - before) / before,
            Self::Difference => after - before,
            Self::Factor => after / before,
        }
    }
}

impl TableDefinition {
    /// Whether its rows are changes from one arm to another.
    pub fn reports_changes(&self) -> bool {
        self.change || self.from.is_some() || self.rows.iter().any(|row| row.from.is_some())
    }

    /// Whether the data say how its figures are obtained.
    pub fn is_data(&self) -> bool {
        let says = |run: &Option<String>, figure: &Option<String>| run.is_some() || figure.is_some();
        let lists = !self.runs.is_empty() || !self.figures.is_empty();
        lists || says(&self.run, &self.figure) || self.rows.iter().any(|row| says(&row.run, &row.figure))
    }

    /// What is wrong with a row's published figure, and the way out.
    ///
    /// Rules: a published figure, and nothing else, has its evidence; a spread belongs to one. A rule is not wider than the change that
    /// it judges, nor than three published standard deviations, unless it is said why.
    pub(crate) fn row_validation_error(&self, row: &RowDefinition) -> Option<(String, String)> {
        if row.published.is_some() != row.evidence.is_some() {
            let kinds = Evidence::KINDS.map(|(name, _)| name).join(", ");
            let help = format!(
                "kinds are {kinds}; calibrated and follows name the row or what was set: {{ follows = \"...\" }}"
            );
            let (message, help) = match row.published {
                Some(_) => ("a published figure needs its `evidence`", help),
                None => ("`evidence` without a published figure", "leave it out".to_owned()),
            };
            return Some((message.to_owned(), help));
        }
        let Some(published) = row.published.as_ref().and_then(FigureValue::number) else {
            let help = || "leave it out: it belongs to a published number".to_owned();
            return row.spread.map(|_| ("`spread` without a published number".to_owned(), help()));
        };
        let width = row.verdict.unwrap_or(self.verdict).width(published);
        let is_said = row.why.is_some() || (row.verdict.is_none() && self.why.is_some());
        let than = match row.spread {
            _ if self.change && width > published.abs() => "the change that it judges",
            Some(spread) if width > 3.0 * spread => "three published standard deviations",
            _ => return None,
        };
        let message = format!("the rule allows {width:.2}, which is wider than {than}");
        (!is_said).then(|| (message, "narrow it, or say `why`".to_owned()))
    }
}

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyDefinition {
    /// Short name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Where its figures come from.
    pub source: String,
    /// What else there is to say.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The machine of runs that name none: a name or a file.
    pub machine: Option<String>,
    /// How often runs are made that do not say it themselves.
    pub seeds: Option<u64>,
    /// Variants of the scheduler.
    #[serde(rename = "arm")]
    pub arms: Vec<ArmDefinition>,
    /// What is run.
    #[serde(default, rename = "run")]
    pub runs: Vec<RunDefinition>,
    /// What numbers are taken from runs.
    #[serde(default, rename = "figure")]
    pub figures: BTreeMap<String, FigureDefinition>,
    /// Published tables.
    #[serde(rename = "table")]
    pub tables: Vec<TableDefinition>,
    /// Pictures of tables and runs.
    #[serde(default, rename = "picture")]
    pub pictures: Vec<ChartDefinition>,
    /// What is varied, to find out what verdicts hang on.
    pub sensitivity: Option<SensitivityDefinition>,
}

impl StudyDefinition {
    /// An arm by name.
    ///
    /// # Panics
    /// If there is none: the names of a study's rows were checked when it was read.
    pub fn arm(&self, name: &str) -> &ArmDefinition {
        self.arms.iter().find(|arm| arm.name == name).unwrap_or_else(|| panic!("{} has no arm {name}", self.name))
    }

    /// A table by name.
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

    /// What is said of a study with one row, whose table and row have these keys beside.
    fn complaint(table: &str, row: &str) -> String {
        let text = format!(
            "name = 's'\ntitle = 's'\nsource = 's'\n[[arm]]\nname = 'a'\nmeaning = 'a'\n[[table]]\nname = 't'\ntitle = 't'\n\
             metric = 'm'\nunit = 'u'\n{table}\nrows = [{{ label = 'r', arm = 'a'{row} }}]\n"
        );
        StudyDefinition::parse("studies/s.toml", &text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_published_figure_has_evidence_and_nothing_else_has() {
        let told = complaint("", ", published = 1");
        assert!(
            told.starts_with("studies/s.toml: table t, row r: a published figure needs its `evidence`\nhelp: kinds"),
            "{told}"
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
            complaint(wide, row)
                .contains("allows 3.00, which is wider than the change that it judges\nhelp: narrow it")
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
