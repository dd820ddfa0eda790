// SPDX-License-Identifier: GPL-2.0-or-later
//! Buttons of a page of the book: links that open the runs of its commands and files in the page of `fairlab lab`.

use super::arms::{self, KnownFiles, PageArms};
use super::blocks::{CodeBlock, PageCommand, code_blocks};
use super::specs::SpecReader;
use anyhow::{Context, Result};
use fairlab_run::input::InputFile;
use fairlab_run::prepare::prepare;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_workload::message::Message;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Text of a button.
const LABEL: &str = "Open in the lab";
/// Class of paragraphs with buttons; `docs/book/lab.css` has their style.
const CLASS: &str = "lab";

/// Command or file of a page that has runs.
#[derive(Debug)]
pub(crate) struct RunnableText {
    /// Page and line.
    pub(crate) place: String,
    /// The command, or the name of the file.
    pub(crate) text: String,
    /// The button, or why there is none.
    pub(crate) button: Result<Button, String>,
}

/// Link to the page of `fairlab lab`.
#[derive(Debug)]
pub(crate) struct Button {
    /// Part of the address that opens the runs.
    pub(crate) fragment: String,
    /// Specs of arm A and, if it differs, of arm B.
    pub(crate) specs: Vec<RunSpec>,
}

/// Page of the book.
pub(super) struct BookPage<'a> {
    /// Path for messages.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Address of the page of `fairlab lab`, relative to this page.
    pub(super) lab: &'a str,
}

/// Returns the text of a page with buttons, and the commands and files that have them or could have them.
pub(super) fn add_buttons(
    page: &BookPage<'_>,
    examples: &BTreeMap<String, String>,
    reader: &SpecReader<'_>,
) -> Result<(String, Vec<RunnableText>)> {
    let blocks = code_blocks(page.text)
        .with_context(|| format!("{}: a code block has no end\nhelp: end it with a line ```", page.name))?;
    let (mut text, mut all, mut files) = (String::new(), Vec::new(), BTreeMap::new());
    let mut lines = page.text.split_inclusive('\n');
    let mut nr_lines = 0;
    for block in blocks {
        if let Some(name) = &block.file {
            reader.write(name, &block.body).with_context(|| format!("{}:{}", page.name, block.line))?;
            files.insert(name.clone(), block.body.clone());
        }
        let of_block = block_texts(page, &block, &KnownFiles { examples, files: &files }, reader)?;
        text.extend(lines.by_ref().take(block.end - nr_lines));
        nr_lines = block.end;
        text.push_str(&html(&of_block, page.lab, &block.indent));
        all.extend(of_block);
    }
    text.extend(lines);
    Ok((text, all))
}

/// Returns the commands of a block, or the file that it is.
fn block_texts(
    page: &BookPage<'_>,
    block: &CodeBlock,
    known: &KnownFiles<'_>,
    reader: &SpecReader<'_>,
) -> Result<Vec<RunnableText>> {
    let place = |line: usize| format!("{}:{line}", page.name);
    if let Some(name) = &block.file {
        let file = InputFile::new(name.as_str()).with_text(block.body.as_str());
        let button = match workload_error(&file) {
            None => Ok(Button::from(arms::of_file(&file, known)?)),
            Some(error) => Err(format!("no workload: {error}")),
        };
        return Ok(vec![RunnableText { place: place(block.line), text: name.clone(), button }]);
    }
    let of_command = |PageCommand { text, line }: PageCommand| {
        let button = match reader.read(&text)? {
            Ok(specs) => arms::of_command(specs, known)?.map(Button::from),
            Err(reason) => Err(reason),
        };
        Ok(RunnableText { place: place(line), text, button })
    };
    block.commands().into_iter().map(of_command).collect()
}

/// Returns why a file cannot be run.
fn workload_error(file: &InputFile) -> Option<String> {
    let spec = RunSpec::new(WorkloadSpec::File(file.clone()));
    prepare(&spec).and_then(|run| run.with_whole_workload()).err().map(|error| Message::from(error).text)
}

/// Returns the paragraph with the buttons of a block. Several ones have their commands.
fn html(texts: &[RunnableText], lab: &str, indent: &str) -> String {
    let with_buttons = texts.iter().filter_map(|text| text.button.as_ref().ok().map(|button| (text, button)));
    let is_only = with_buttons.clone().count() == 1 && texts.len() == 1;
    let mut html = String::new();
    for (RunnableText { text, .. }, Button { fragment, .. }) in with_buttons {
        let text = escaped(text);
        let name = if is_only { String::new() } else { format!(": <code>{text}</code>") };
        let _ = write!(html, r#"<a href="{lab}{fragment}" title="{text}">{LABEL}{name}</a>"#);
    }
    if html.is_empty() { html } else { format!("\n{indent}<p class=\"{CLASS}\">{html}</p>\n\n") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl From<PageArms> for Button {
    fn from(PageArms { fragment, specs }: PageArms) -> Self {
        Self { fragment, specs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runnable(text: &str, button: Result<&str, &str>) -> RunnableText {
        let button = button.map(|fragment| Button { fragment: fragment.to_owned(), specs: Vec::new() });
        RunnableText { place: "page.md:1".to_owned(), text: text.to_owned(), button: button.map_err(str::to_owned) }
    }

    #[test]
    fn several_commands_of_a_block_are_named() {
        let only = html(&[runnable("fairlab run \"a\"", Ok("#1.x"))], "../lab.html", "");
        let expected = "<a href=\"../lab.html#1.x\" title=\"fairlab run &quot;a&quot;\">Open in the lab</a>";
        assert_eq!(only, format!("\n<p class=\"lab\">{expected}</p>\n\n"));
        let texts = [runnable("fairlab run a", Ok("#1.x")), runnable("fairlab run b", Err("no setting"))];
        assert!(html(&texts, "lab.html", "").contains("lab: <code>fairlab run a</code></a></p>"));
        assert_eq!(html(&texts[1..], "lab.html", ""), "");
    }
}
