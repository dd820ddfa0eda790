// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of imported tasks: unique, at most 15 bytes long, and without characters that end a token. Also the
//! meaning of kernel thread names.

use std::collections::BTreeSet;

/// Maximum length of a name in bytes, as in the kernel.
const MAX_NAME_BYTES: usize = 15;
/// Kernel threads that exist once per CPU: the name before the CPU number.
const PER_CPU: &[&str] = &["ksoftirqd", "kworker", "cpuhp", "rcuc", "idle_inject", "watchdog", "irq_work", "ktimers"];

pub(super) fn word(comm: &str, pid: i32) -> String {
    let clean = clean(comm);
    if clean.is_empty() { format!("pid-{pid}") } else { cut(&clean, MAX_NAME_BYTES).to_owned() }
}

/// Replaces the characters that would end a token by `_`.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() || "#=".contains(c) { '_' } else { c }).collect()
}

/// Returns an unused name: `word`, with the pid, and with a number if necessary.
pub(super) fn unique(word: &str, pid: i32, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(word.to_owned()) {
        return word.to_owned();
    }
    for generation in 0_u32.. {
        let suffix = if generation == 0 { format!("-{pid}") } else { format!("-{pid}.{generation}") };
        let name = format!("{}{suffix}", cut(word, MAX_NAME_BYTES.saturating_sub(suffix.len())));
        let name = cut(&name, MAX_NAME_BYTES).to_owned();
        if taken.insert(name.clone()) {
            return name;
        }
    }
    unreachable!("there are more names than threads")
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns the CPU in the name of a per-CPU kernel thread: `ksoftirqd/3`, `kworker/3:1H`.
pub(super) fn cpu_of(comm: &str) -> Option<u32> {
    let (kind, rest) = comm.split_once('/')?;
    let number = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    PER_CPU.contains(&kind).then(|| number.parse().ok())?
}

/// Whether a thread is a stopper, of which the simulated machine has its own.
pub(super) fn is_stopper(comm: &str) -> bool {
    comm.strip_prefix("migration/").is_some_and(|cpu| cpu.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_unique_words_that_fit() {
        let mut taken = BTreeSet::new();
        let mut name = |comm: &str, pid| unique(&word(comm, pid), pid, &mut taken);
        assert_eq!(name("a b=c", 1), "a_b_c");
        assert_eq!(name("a b=c", 2), "a_b_c-2");
        assert_eq!(name("a b=c", 2), "a_b_c-2.1");
        assert_eq!(name("very-long-name-of-a-thread", 1), "very-long-name-");
        assert_eq!(name("very-long-name-of-a-thread", 4_000_000), "very-lo-4000000");
        assert_eq!(name("", 7), "pid-7");
    }

    #[test]
    fn threads_of_the_kernel_say_where_they_belong() {
        for (comm, cpu) in [
            ("ksoftirqd/3", Some(3)),
            ("kworker/12:1H", Some(12)),
            ("kworker/u8:1", None),
            ("a/3", None),
            ("rcuc/0", Some(0)),
        ] {
            assert_eq!(cpu_of(comm), cpu, "{comm}");
        }
        assert!(is_stopper("migration/11") && !is_stopper("migration/x"));
    }
}
