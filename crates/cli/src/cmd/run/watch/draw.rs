// SPDX-License-Identifier: GPL-2.0-or-later
//! Drawing of a view on the terminal. The smallest size is 80 columns and 24 lines; a larger screen shows
//! more CPUs and decisions.

use super::view::{CpuLine, DomainLine, Mode, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table, Wrap};

/// Width of the area beside the CPUs.
const SIDEBAR_WIDTH: u16 = 29;
/// Smallest height of the decisions, which otherwise have a third of the screen.
const MIN_DECISION_LINES: u16 = 6;
/// Largest number of lines about domains.
const DOMAINS: u16 = 6;

const KEYS: &str = " space run/pause  s step  n next wake-up  w why  +/- speed  up/down CPU  q quit";

/// Draws the view, and scrolls the list of CPUs so that the selected CPU is visible.
pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View) {
    let lines = frame.area().height;
    let [head, main, decisions, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(6),
        Constraint::Length(MIN_DECISION_LINES.max(lines / 3)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::from(headline(view, head.width)).reversed(), head);
    let [cpus, aside] = Layout::horizontal([Constraint::Min(40), Constraint::Length(SIDEBAR_WIDTH)]).areas(main);
    draw_cpus(frame, view, cpus);
    draw_sidebar(frame, view, aside);
    let block = Block::bordered().title(" decisions, newest first ");
    let decision_lines: Vec<Line<'_>> = view.decisions.iter().map(|line| Line::from(line.as_str())).collect();
    frame.render_widget(Paragraph::new(decision_lines).block(block), decisions);
    frame.render_widget(Line::from(KEYS).dim(), keys);
    if let Some(why) = &view.why {
        draw_why(frame, why);
    }
}

/// Returns the first line: workload, progress and mode. The right end is never cut.
fn headline(view: &View, width: u16) -> String {
    let mode = match view.mode {
        Mode::Paused => "paused",
        Mode::Goes => "runs",
        Mode::Seeks { .. } => "seeks",
        Mode::Over => "END: q shows the summary",
    };
    let right = format!(" {} of {}  {}/s  {mode} ", view.now, view.whole, view.speed);
    let room = usize::from(width).saturating_sub(right.chars().count() + 1);
    let title: String = view.title.chars().take(room).collect();
    format!(" {title:<room$}{right}")
}

fn draw_cpus(frame: &mut Frame<'_>, view: &mut View, area: Rect) {
    // The frame takes two lines, the headings one.
    let room = usize::from(area.height.saturating_sub(3)).max(1);
    view.first = view.first.min(view.chosen).max((view.chosen + 1).saturating_sub(room));
    let row = |line: &CpuLine| {
        let style = match &line.task {
            Some(_) => Style::new(),
            None => Style::new().add_modifier(Modifier::DIM),
        };
        let chosen = if line.cpu as usize == view.chosen { style.add_modifier(Modifier::REVERSED) } else { style };
        let what = line.task.as_ref().unwrap_or(&line.idle);
        Row::new([
            format!("{:>4}", line.cpu),
            what.clone(),
            format!("{:>2}", line.nr_running),
            format!("{:>4}", line.util_avg),
            format!("{:>4}", line.capacity),
            format!("{:>5}", line.frequency),
        ])
        .style(chosen)
    };
    let rows = view.cpus.iter().skip(view.first).take(room).map(row);
    let widths = [4, 15, 2, 4, 4, 5].map(Constraint::Length);
    let title = match view.cpus.len() - room.min(view.cpus.len()) {
        0 => " CPUs ".to_owned(),
        _ => format!(" CPUs {}-{} of {} ", view.first, view.first + room - 1, view.cpus.len()),
    };
    let head = Row::new([" CPU", "task or idle", "nr", "util", " cap", "  MHz"]).style(Style::new().bold());
    let table = Table::new(rows, widths).header(head).column_spacing(2).block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

fn draw_sidebar(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let domains = DOMAINS.min(view.domains.len() as u16 + 3);
    let [of_domains, queue, rates] = Layout::vertical([
        Constraint::Length(domains),
        Constraint::Min(3),
        Constraint::Length(view.rates.len().div_ceil(2) as u16 + 2),
    ])
    .areas(area);
    let line = |domain: &DomainLine| {
        let DomainLine { name, span, interval_ms, last_ms } = domain;
        let span: String = span.chars().take(9).collect();
        Line::from(format!("{name:<4} {span:<9} {interval_ms:>4} {last_ms:>6}"))
    };
    let mut lines = vec![Line::from("      CPUs         ms ms ago").bold()];
    lines.extend(view.domains.iter().map(line));
    let block = Block::bordered().title(format!(" domains of CPU {} ", view.chosen));
    frame.render_widget(Paragraph::new(lines).block(block), of_domains);
    let (names, more) = &view.queue;
    let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
    let text = if names.is_empty() { "none".to_owned() } else { names.join(" ") + &more };
    let block = Block::bordered().title(format!(" waiting on CPU {} ", view.chosen));
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }).block(block), queue);
    let pairs = view.rates.chunks(2).map(|pair| {
        let cells: Vec<String> = pair.iter().map(|(name, rate)| format!("{:<6}{:>6}", name, short(*rate))).collect();
        Line::from(cells.join("  "))
    });
    let block = Block::bordered().title(" per simulated second ");
    frame.render_widget(Paragraph::new(pairs.collect::<Vec<_>>()).block(block), rates);
}

/// Formats a number in six characters.
fn short(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        100_000..10_000_000 => format!("{}K", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// Draws the explanation over everything except the first line and the keys.
fn draw_why(frame: &mut Frame<'_>, why: &[String]) {
    let area = frame.area().inner(Margin { horizontal: 3, vertical: 2 });
    let lines: Vec<Line<'_>> = why.iter().map(|sentence| Line::from(sentence.as_str())).collect();
    let block = Block::bordered().title(" why? (w: close) ");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}
