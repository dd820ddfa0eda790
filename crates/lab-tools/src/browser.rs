// SPDX-License-Identifier: GPL-2.0-or-later
//! [`LabTools`](crate::LabTools) as a class of JavaScript.

#![expect(missing_docs, reason = "the other modules describe the content")]

use wasm_bindgen::prelude::wasm_bindgen;

/// Tools of a page; see [`crate::LabTools`].
#[wasm_bindgen]
pub struct LabTools(crate::LabTools);

#[wasm_bindgen]
impl LabTools {
    /// Creates the tools. A later panic throws an error of JavaScript with its message; the tools are then unusable.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "a constructor of JavaScript")]
    pub fn new() -> Self {
        std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&info.to_string())));
        Self(crate::LabTools::default())
    }

    pub fn ask(&mut self, request: &str, content: &[u8]) -> String {
        self.0.ask(request, content)
    }
}
