// SPDX-License-Identifier: GPL-2.0-or-later
//! Pictures of tables, as SVG: simulated figures beside published ones.

use plotters::coord::Shift;
use plotters::prelude::*;

/// Width and height.
const SIZE: (u32, u32) = (900, 420);
/// Simulated and published.
const COLOURS: [RGBColor; 2] = [RGBColor(31, 119, 180), RGBColor(255, 153, 51)];

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Name of the file, without `.svg`.
    pub name: String,
    /// What is in the file.
    pub svg: String,
}

/// A group of bars: its label, the simulated figure, and the published one if there is one.
pub(crate) type Bars = (String, f64, Option<f64>);

/// Why a picture could not be drawn: only a library can know.
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Draws a pair of bars for each row.
pub(crate) fn bars(name: &str, title: &str, unit: &str, rows: &[Bars]) -> Picture {
    draw(name, |area| {
        let highest = rows.iter().map(|(_, ours, theirs)| ours.max(theirs.unwrap_or(0.0))).fold(1.0, f64::max);
        let count = rows.len().max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..count, 0.0..highest * 1.1)?;
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
        for (which, name) in ["simulated", "published"].into_iter().enumerate() {
            let bar = |(place, row): (usize, &Bars)| {
                let value = if which == 0 { Some(row.1) } else { row.2 };
                let left = place as f64 + 0.14 + 0.36 * which as f64;
                value.map(|value| Rectangle::new([(left, 0.0), (left + 0.36, value)], COLOURS[which].filled()))
            };
            chart
                .draw_series(rows.iter().enumerate().filter_map(bar))?
                .label(name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], COLOURS[which].filled()));
        }
        chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()
    })
}

/// Points of an arm: its name, and where they are.
pub(crate) type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Draws a line for each of two arms. Both axes begin at zero, or below if a figure is negative.
pub(crate) fn lines(name: &str, title: &str, axes: (&str, &str), arms: &[Line<'_>]) -> Picture {
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
        for ((arm, points), colour) in arms.iter().zip(COLOURS) {
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4))?
                .label(*arm)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()
    })
}

fn draw<F>(name: &str, body: F) -> Picture
where
    F: for<'a, 'b> FnOnce(&'b DrawingArea<SVGBackend<'a>, Shift>) -> Result<(), DrawError<'a>>,
{
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)
            .and_then(|()| body(&area))
            .and_then(|()| area.present())
            .unwrap_or_else(|error| panic!("a string takes every picture, but {name}: {error}"));
    }
    Picture { name: name.to_owned(), svg }
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
        let rows = [("CPU 0".to_owned(), 12.0, Some(10.0)), ("CPU 1".to_owned(), 3.0, None)];
        let picture = bars("kicks", "Kicks", "calls", &rows);
        assert_eq!(picture.name, "kicks");
        for word in ["<svg", "CPU 0", "CPU 1", "Kicks", "calls", "simulated", "published", "</svg>"] {
            assert!(picture.svg.contains(word), "{word} is missing in {}", picture.svg);
        }
        let filled = |colour: &str| picture.svg.matches(&format!("fill=\"{colour}\"")).count();
        // One more of each in the legend.
        assert_eq!((filled("#1F77B4"), filled("#FF9933")), (3, 2), "{}", picture.svg);
    }
}
