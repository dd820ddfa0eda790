// SPDX-License-Identifier: GPL-2.0-or-later
//! Code blocks of a page of the book, and the commands in them.
//!
//! The rules are those of `crates/cli/tests/it/tutorials.rs`: a block after `<!-- file: NAME -->` is a file, and a prompt `$ ` or a
//! backslash at the end of a line are the shell's.

/// Commands that have runs of their own.
const COMMANDS: [&str; 2] = ["fairlab run ", "fairlab compare "];

/// Fenced block of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodeBlock {
    /// Name of the file that the block is.
    pub(super) file: Option<String>,
    pub(super) body: String,
    /// Number of its first line, that of the fence, from 1.
    pub(super) line: usize,
    /// Number of lines of the page up to the end of the block.
    pub(super) end: usize,
    /// Blanks before the fence.
    pub(super) indent: String,
}

/// Command of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageCommand {
    /// The command without what the shell does with it.
    pub(super) text: String,
    /// Line of the page, from 1.
    pub(super) line: usize,
}

/// Returns the fenced blocks of a page; `None` if the last one has no end.
pub(super) fn code_blocks(page: &str) -> Option<Vec<CodeBlock>> {
    let (mut blocks, mut file) = (Vec::new(), None);
    let mut lines = page.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        let content = text.trim_start();
        let comment = content.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
        file = comment.map(str::to_owned).or(file);
        if !content.starts_with("```") {
            continue;
        }
        let (mut body, mut end) = (String::new(), None);
        for (text, line) in lines.by_ref() {
            if text.trim() == "```" {
                end = Some(line);
                break;
            }
            body.push_str(text);
            body.push('\n');
        }
        let indent = text[..text.len() - content.len()].to_owned();
        blocks.push(CodeBlock { file: file.take(), body, line, end: end?, indent });
    }
    Some(blocks)
}

impl CodeBlock {
    /// Returns the commands that have runs of their own.
    pub(super) fn commands(&self) -> Vec<PageCommand> {
        let (mut commands, mut open) = (Vec::new(), None);
        for (text, number) in self.body.lines().zip(self.line + 1..) {
            let (start, line): (String, usize) = open.take().unwrap_or((String::new(), number));
            if let Some(part) = text.strip_suffix('\\') {
                open = Some((start + part.trim() + " ", line));
                continue;
            }
            let whole = start + text.trim_start();
            let whole = whole.strip_prefix("$ ").unwrap_or(&whole);
            let of_fairlab = simple_commands(whole).into_iter().map(|command| of_checkout(&command));
            let with_runs = of_fairlab.filter(|command| COMMANDS.iter().any(|name| command.starts_with(name)));
            commands.extend(with_runs.map(|text| PageCommand { text, line }));
        }
        commands
    }
}

/// Returns the command with the name of the program in the place of cargo's.
fn of_checkout(command: &str) -> String {
    let arguments = command.strip_prefix("cargo run --release -- ");
    arguments.map_or_else(|| command.to_owned(), |arguments| format!("fairlab {arguments}"))
}

/// Returns the commands of a shell's line, without redirections and comments. Quoted text stays as it is.
fn simple_commands(line: &str) -> Vec<String> {
    let (mut commands, mut command, mut quote, mut is_redirected) = (Vec::new(), String::new(), None, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_word_start = command.is_empty() || command.ends_with(' ');
        match (quote, letter) {
            (None, '#') if is_word_start => break,
            (None, ';' | '|' | '&') => {
                commands.push(std::mem::take(&mut command));
                is_redirected = false;
                continue;
            }
            (None, '<' | '>') => {
                let is_numbered = command.ends_with(" 1") || command.ends_with(" 2");
                command.truncate(command.len() - usize::from(is_numbered));
                is_redirected = true;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(mark), _) if letter == mark => quote = None,
            _ => {}
        }
        if is_redirected {
            continue;
        }
        command.push(letter);
        if letter == '\\' && quote != Some('\'') {
            command.extend(letters.next());
        }
    }
    commands.push(command);
    let trimmed = commands.iter().map(|command| command.trim().to_owned());
    trimmed.filter(|command| !command.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_files_and_lines() {
        let page = "# Page\n<!-- file: a.scn -->\n```text\ncpus 2\n```\n- item\n\n  ```sh\n  ls\n  ```\n";
        let [file, command] = &code_blocks(page).expect("they end")[..] else { panic!("there are two") };
        assert_eq!((file.file.as_deref(), file.body.as_str(), file.line, file.end), (Some("a.scn"), "cpus 2\n", 3, 5));
        assert_eq!((&command.file, command.indent.as_str(), command.line, command.end), (&None, "  ", 8, 10));
        assert_eq!(code_blocks("```\nopen\n"), None);
    }

    #[test]
    fn commands_have_their_lines_and_nothing_of_the_shell() {
        let body = "$ fairlab run a.scn --set 'x=1' | head -3   # why\nfairlab run >b 2> c; fairlab compare d --arm \\\n  X > y\n\
            fairlab tunables\ncargo run --release -- run e --for '1 ms'\nfairlab run f#g # no comment in a word\noutput\n";
        let block = CodeBlock { file: None, body: body.to_owned(), line: 4, end: 12, indent: String::new() };
        let commands = block.commands();
        let commands: Vec<(&str, usize)> =
            commands.iter().map(|command| (command.text.as_str(), command.line)).collect();
        let expected = [
            ("fairlab run a.scn --set 'x=1'", 5),
            ("fairlab compare d --arm X", 6),
            ("fairlab run e --for '1 ms'", 9),
            ("fairlab run f#g", 10),
        ];
        assert_eq!(commands, expected);
    }
}
