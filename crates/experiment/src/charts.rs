// SPDX-License-Identifier: GPL-2.0-or-later
//! Charts of tables as SVG, with simulated and published values side by side.

use plotters::coord::Shift;
use plotters::prelude::*;

/// Width and height of a chart, in pixels.
const SIZE: (u32, u32) = (900, 420);
/// Colours of series: the first is for simulated, the second for published values.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 153, 51),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
];

/// SVG chart with the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// File name without `.svg`.
    pub name: String,
    /// SVG source of the chart.
    pub svg: String,
}

/// Drawing error of `plotters`.
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Row of a bar chart: label, simulated value, and published value if there is one.
pub(crate) type Bars = (String, f64, Option<f64>);

/// Draws a pair of bars for each row.
pub fn bars(name: &str, title: &str, unit: &str, rows: &[Bars]) -> Chart {
    let rows: Vec<_> =
        rows.iter().map(|(label, simulated, published)| (label.clone(), vec![Some(*simulated), *published])).collect();
    grouped_bars(name, title, unit, &["simulated", "published"], &rows)
}

/// Draws a group of bars for each row, one for each series that has a value there.
pub fn grouped_bars(
    name: &str,
    title: &str,
    unit: &str,
    series: &[&str],
    rows: &[(String, Vec<Option<f64>>)],
) -> Chart {
    draw(name, |area| {
        let all = || rows.iter().flat_map(|(_, values)| values.iter().flatten().copied());
        let (highest, lowest) = (all().fold(0.0, f64::max), all().fold(0.0, f64::min));
        let highest = if highest == lowest { 1.0 } else { highest };
        let count = rows.len().max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..count, lowest * 1.1..highest * 1.1)?;
        let label = |place: &f64| match rows.get(*place as usize) {
            Some((label, ..)) if place.fract() == 0.5 => label.clone(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(rows.len() * 2 + 1)
            .x_label_formatter(&label)
            .y_desc(unit)
            .draw()?;
        let width = 0.72 / series.len().max(1) as f64;
        for (which, name) in series.iter().enumerate() {
            let colour = COLOURS[which % COLOURS.len()];
            let bar = |(place, (_, values)): (usize, &(String, Vec<Option<f64>>))| {
                let left = place as f64 + 0.14 + width * which as f64;
                values[which].map(|value| Rectangle::new([(left, 0.0), (left + width, value)], colour.filled()))
            };
            chart
                .draw_series(rows.iter().enumerate().filter_map(bar))?
                .label(*name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()
    })
}

/// Row of an effect chart: label, simulated value, its interval, and the published value with its standard
/// deviation.
pub type EffectPoint = (String, f64, Option<[f64; 2]>, Option<(f64, Option<f64>)>);

/// Draws effects below each other. Each is a point with its interval, next to the published value with two
/// standard deviations.
pub fn effects(name: &str, title: &str, unit: &str, rows: &[EffectPoint]) -> Chart {
    let height = 160 + 34 * rows.len() as u32;
    draw_sized(name, (SIZE.0, height), |area| {
        let mut all: Vec<f64> = vec![0.0];
        for (_, simulated, interval, published) in rows {
            all.push(*simulated);
            all.extend(interval.iter().flatten());
            all.extend(published.iter().flat_map(|(value, spread)| {
                let wide = 2.0 * spread.unwrap_or(0.0);
                [value - wide, value + wide]
            }));
        }
        let (least, most) = (all.iter().copied().fold(0.0, f64::min), all.iter().copied().fold(0.0, f64::max));
        let edge = ((most - least) * 0.05).max(1e-9);
        let count = rows.len().max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(230)
            .build_cartesian_2d(least - edge..most + edge, count + 1.4..0.0)?;
        let label = |place: &f64| match rows.get(*place as usize) {
            Some((label, ..)) if place.fract() == 0.5 => label.clone(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(rows.len() * 2 + 4)
            .y_label_formatter(&label)
            .x_desc(unit)
            .draw()?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (0.0, count)], BLACK.mix(0.4)))?;
        let series = if rows.iter().any(|(.., published)| published.is_some()) { 2 } else { 1 };
        let names = ["simulated, 95 %", "published, two standard deviations"];
        for (which, name) in names.into_iter().take(series).enumerate() {
            let colour = COLOURS[which];
            let mut points = Vec::new();
            for (place, (_, simulated, interval, published)) in rows.iter().enumerate() {
                let y = place as f64 + 0.38 + 0.24 * which as f64;
                let (value, range) = match (which, published) {
                    (0, _) => (*simulated, *interval),
                    (_, Some((value, spread))) => {
                        (*value, spread.map(|spread| [value - 2.0 * spread, value + 2.0 * spread]))
                    }
                    (_, None) => continue,
                };
                if let Some([low, high]) = range {
                    chart.draw_series(LineSeries::new([(low, y), (high, y)], colour.stroke_width(2)))?;
                }
                points.push((value, y));
            }
            chart
                .draw_series(points.into_iter().map(|point| Circle::new(point, 5, colour.filled())))?
                .label(name)
                .legend(move |(x, y)| Circle::new((x + 6, y), 5, colour.filled()));
        }
        // The y range leaves room for the legend below the last row.
        let place = SeriesLabelPosition::LowerRight;
        chart.configure_series_labels().position(place).border_style(BLACK).background_style(WHITE).draw()
    })
}

/// Line of a chart: the arm's name and its points.
pub type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Draws a line for each arm. Both axes begin at zero, or at a lower y if a value is negative.
pub fn lines(name: &str, title: &str, axes: (&str, &str), arms: &[Line<'_>]) -> Chart {
    draw(name, |area| {
        let points = || arms.iter().flat_map(|(_, points)| points);
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(1.0, f64::max) * 1.05;
        let lowest = points().map(|point| point.1).fold(0.0, f64::min) * 1.05;
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..most(|point| point.0), lowest..most(|point| point.1))?;
        chart.configure_mesh().x_desc(axes.0).y_desc(axes.1).draw()?;
        for ((arm, points), colour) in arms.iter().zip(COLOURS.into_iter().cycle()) {
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4))?
                .label(*arm)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()
    })
}

fn draw<F>(name: &str, body: F) -> Chart
where
    F: for<'a, 'b> FnOnce(&'b DrawingArea<SVGBackend<'a>, Shift>) -> Result<(), DrawError<'a>>,
{
    draw_sized(name, SIZE, body)
}

fn draw_sized<F>(name: &str, size: (u32, u32), body: F) -> Chart
where
    F: for<'a, 'b> FnOnce(&'b DrawingArea<SVGBackend<'a>, Shift>) -> Result<(), DrawError<'a>>,
{
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)
            .and_then(|()| body(&area))
            .and_then(|()| area.present())
            .unwrap_or_else(|error| panic!("a string takes every picture, but {name}: {error}"));
    }
    Chart { name: name.to_owned(), svg }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_names_and_a_mark_for_each_point() {
        let arms = [("before", vec![(0.0, 1.0), (2.0, 5.0)]), ("after", vec![(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)])];
        let picture = lines("groups", "By groups", ("groups", "us"), &arms);
        for word in ["<svg", "By groups", "groups", "us", "before", "after", "</svg>"] {
            assert!(picture.svg.contains(word), "{word} is missing in {}", picture.svg);
        }
        assert_eq!((picture.svg.matches("<circle").count(), picture.svg.matches("<polyline").count() >= 2), (5, true));
    }

    #[test]
    fn bars_have_their_labels_and_one_rectangle_for_each_figure() {
        let rows = [("CPU 0".to_owned(), vec![Some(12.0), Some(10.0)]), ("CPU 1".to_owned(), vec![Some(3.0), None])];
        let picture = grouped_bars("kicks", "Kicks", "calls", &["simulated", "published"], &rows);
        assert_eq!(picture.name, "kicks");
        for word in ["<svg", "CPU 0", "CPU 1", "Kicks", "calls", "simulated", "published", "</svg>"] {
            assert!(picture.svg.contains(word), "{word} is missing in {}", picture.svg);
        }
        let filled = |colour: &str| picture.svg.matches(&format!("fill=\"{colour}\"")).count();
        // The legend has one more rectangle of each colour.
        assert_eq!((filled("#1F77B4"), filled("#FF9933")), (3, 2), "{}", picture.svg);
    }
}
