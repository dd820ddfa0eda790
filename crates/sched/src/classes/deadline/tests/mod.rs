// SPDX-License-Identifier: GPL-2.0-or-later

mod admission;
mod budget;
mod edf;
mod lab;
mod moves;
