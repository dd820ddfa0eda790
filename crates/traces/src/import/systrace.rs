// SPDX-License-Identifier: GPL-2.0-or-later
//! systrace pages: ftrace text inside HTML, either in a script of type `application/text`, or as a JavaScript
//! string whose lines end with `\n\`.

use super::error::{ReadError, ReadResult};
use super::event::Recording;
use super::text;

pub(super) fn read(page: &str) -> ReadResult<Recording> {
    let Some(start) = page.match_indices("# tracer:").map(|(at, _)| at).find(|&at| !is_in_program(page, at)) else {
        let help = "record sched events with systrace, or import the text of the trace itself";
        return Err(ReadError::whole("the page contains no trace (`# tracer: nop`)", help));
    };
    let first_line = page[..start].matches('\n').count() + 1;
    let rest = &page[start..];
    let is_string = rest.lines().next().is_some_and(|line| line.ends_with("\\n\\"));
    let end = if is_string { rest.find("\\n\";") } else { rest.find("</script>") };
    let inside = &rest[..end.unwrap_or(rest.len())];
    let mut recording = if is_string {
        // Keep one line per line, so line numbers in messages are those of the page.
        let lines: Vec<String> = inside.lines().map(unescape).collect();
        text::read(&lines.join("\n"), first_line, "systrace")?
    } else {
        text::read(inside, first_line, "systrace")?
    };
    if end.is_none() {
        recording.record_problem("a page that ends inside the trace", || format!("line {}", page.lines().count()));
    }
    Ok(recording)
}

/// Whether `# tracer:` at this position belongs to a regular expression of the page's scripts.
fn is_in_program(page: &str, at: usize) -> bool {
    page[..at].ends_with(['/', '^'])
}

/// Removes the line end of a string literal, and its escapes.
fn unescape(line: &str) -> String {
    let line = line.strip_suffix("\\n\\").unwrap_or(line);
    line.replace("\\\"", "\"").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "a-1 [000] 1.5: sched_wakeup: comm=x pid=5 prio=120 success=1 target_cpu=000";

    #[test]
    fn both_kinds_of_pages_are_read_with_their_lines() {
        let old = format!(
            "<html>\n/^# tracer:/.exec()\nvar t = \"\\\n# tracer: nop\\n\\\n{EVENT}\\n\\\nno event\\n\\\n\";\n</html>"
        );
        let new = format!(
            "<html>\n<script>\n<script class=\"trace-data\" type=\"application/text\">\n# tracer: nop\n{EVENT}\nno event\n</script></html>"
        );
        for page in [old, new] {
            let recording = read(&page).unwrap_or_else(|fault| panic!("{fault:?}"));
            assert_eq!(recording.events.len(), 1);
            assert_eq!(recording.problems["lines that are no events"].first, "line 6", "{page}");
        }
        assert!(read("<html></html>").is_err());
    }
}
