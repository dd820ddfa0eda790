// SPDX-License-Identifier: GPL-2.0-or-later
//! Measuring, checking, explaining and exporting runs. Everything here listens; nothing changes a run.

pub mod trace_jsonl;
