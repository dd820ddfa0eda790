// SPDX-License-Identifier: GPL-2.0-or-later
use super::page::{PAGE, RingPage};

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn events_of_a_page_have_the_time_since_the_one_before() {
    let mut page = RingPage::new();
    assert!(page.push(1_000, &[1; 8]) && page.push(1_005, &[2; 5]));
    let mut bytes = Vec::new();
    page.take_into(&mut bytes);
    assert_eq!(bytes.len(), PAGE);
    assert_eq!(bytes[..8], 1_000_u64.to_le_bytes(), "the page begins with its first event");
    assert_eq!(word(&bytes, 8), 12 + 12, "number of bytes used");
    assert_eq!(word(&bytes, 16), 2, "two words, 0 ns");
    assert_eq!(word(&bytes, 28), 2 | 5 << 5, "two words, 5 ns");
    assert_eq!(bytes[32..40], [2, 2, 2, 2, 2, 0, 0, 0]);
    assert!(page.is_empty());
}

#[test]
fn a_long_time_without_events_and_a_long_event_have_words_of_their_own() {
    let mut page = RingPage::new();
    assert!(page.push(0, &[1; 4]) && page.push(3 << 27 | 7, &[2; 200]));
    let mut bytes = Vec::new();
    page.take_into(&mut bytes);
    assert_eq!([word(&bytes, 24), word(&bytes, 28)], [30 | 7 << 5, 3], "a TIME_EXTEND event comes first");
    assert_eq!([word(&bytes, 32), word(&bytes, 36)], [0, 204], "the length follows the header and includes itself");
}

#[test]
fn a_page_takes_what_fits() {
    let mut page = RingPage::new();
    let nr = (1..).take_while(|&at| page.push(at, &[0; 64])).count();
    assert_eq!(nr, (PAGE - 16) / 68);
}

#[test]
fn a_page_that_has_room_for_an_event_may_have_none_for_one_after_a_long_time() {
    let mut page = RingPage::new();
    assert!((1..60).all(|at| page.push(at, &[0; 64])), "68 bytes are left");
    assert!(!page.push(3 << 27, &[0; 64]), "its time takes 8 more");
    assert!(page.push(60, &[0; 64]));
}
