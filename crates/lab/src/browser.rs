// SPDX-License-Identifier: GPL-2.0-or-later
//! [`LabService`](crate::LabService) as a class of JavaScript.

#![expect(missing_docs, reason = "the other modules describe the content")]

use wasm_bindgen::prelude::wasm_bindgen;

/// Service of a page; see [`crate::LabService`].
#[wasm_bindgen]
pub struct LabService(crate::LabService);

/// Answer; see [`crate::Answer`].
#[wasm_bindgen]
pub struct Answer(crate::Answer);

#[wasm_bindgen]
impl LabService {
    /// Creates a service. A later panic throws an error of JavaScript with its message; the service is then unusable.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "a constructor of JavaScript")]
    pub fn new() -> Self {
        std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&info.to_string())));
        Self(crate::LabService::default())
    }

    pub fn ask(&mut self, request: &str) -> Answer {
        Answer(self.0.ask(request))
    }
}

#[wasm_bindgen]
impl Answer {
    #[wasm_bindgen(getter)]
    pub fn json(&self) -> String {
        self.0.json.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn segments(&self) -> Vec<u8> {
        self.0.segments.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn lags(&self) -> Vec<u8> {
        self.0.lags.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn series(&self) -> Vec<u8> {
        self.0.series.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn trace(&self) -> Vec<u8> {
        self.0.trace.clone()
    }
}
