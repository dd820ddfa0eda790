// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls inside macros. Their tokens are not Rust before expansion: an identifier before parentheses is a
//! call, or after `fn` a definition.

use super::source::{Call, Callee, Function, NamedPath, callee_after};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// Uses in a macro's tokens. Paths are not resolved.
#[derive(Default)]
pub(super) struct TokenUses {
    pub(super) functions: Vec<Function>,
    pub(super) calls: Vec<Call>,
    pub(super) names: Vec<NamedPath>,
}

/// Searches the tokens of a macro in the items of `owner`.
pub(super) fn search(tokens: TokenStream, owner: Option<&str>) -> TokenUses {
    let mut found = TokenUses::default();
    found.search(tokens, owner);
    found
}

impl TokenUses {
    fn search(&mut self, tokens: TokenStream, owner: Option<&str>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.search(group.stream(), owner),
                TokenTree::Ident(ident) => {
                    self.read_path(&tokens[at..]);
                    if let Some(TokenTree::Group(arguments)) = tokens.get(at + 1)
                        && arguments.delimiter() == Delimiter::Parenthesis
                    {
                        self.read_call(&tokens[..at], ident, arguments, owner);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Records a path through modules, if the tokens begin with one.
    fn read_path(&mut self, tokens: &[TokenTree]) {
        let Some(TokenTree::Ident(first)) = tokens.first() else { return };
        if !["crate", "self", "super"].contains(&first.to_string().as_str()) {
            return;
        }
        let mut segments = vec![first.to_string()];
        let mut rest = &tokens[1..];
        while let [colon, second, TokenTree::Ident(segment), after @ ..] = rest
            && is_punct(colon, ':')
            && is_punct(second, ':')
        {
            segments.push(segment.to_string());
            rest = after;
        }
        self.names.push(NamedPath { segments, line: first.span().start().line });
    }

    /// Records an identifier before parentheses; `before` are the tokens before it.
    fn read_call(&mut self, before: &[TokenTree], ident: &Ident, arguments: &Group, owner: Option<&str>) {
        let name = ident.to_string();
        let callee = match before {
            // A variable of the macro is not a call.
            [.., dollar] if is_punct(dollar, '$') => return,
            [.., TokenTree::Ident(word)] if word == "fn" => {
                let has_receiver = has_self(arguments);
                return self.functions.push(Function { name, owner: None, of_trait: None, has_receiver });
            }
            [.., first, second] if is_punct(first, '.') && is_punct(second, '.') => Callee::Plain,
            [.., dot] if is_punct(dot, '.') => Callee::Method,
            [.., TokenTree::Ident(word), first, second] if is_punct(first, ':') && is_punct(second, ':') => {
                callee_after(&word.to_string(), owner)
            }
            _ => Callee::Plain,
        };
        self.calls.push(Call { name, callee, line: ident.span().start().line });
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn has_self(arguments: &Group) -> bool {
    arguments.stream().into_iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == "self"))
}
