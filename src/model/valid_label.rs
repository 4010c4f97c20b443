//! What Kubernetes accepts as a label value, and Velero's way of shortening what it does not.
//!
//! May use: nothing of this crate.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Longest label value and object-name label that Kubernetes accepts, in bytes.
pub const MAX_LABEL_VALUE: usize = 63;

/// How many hexadecimal digits of the hash end a shortened value.
const HASH_DIGITS: usize = 6;

/// Velero's `label.GetValidName` (`pkg/label/label.go`): text of at most 63 bytes stays as it is,
/// longer text keeps its first 57 bytes and gets the first six hexadecimal digits of its SHA-256.
///
/// Velero cuts bytes, not characters. A character that is cut in two becomes one U+FFFD for each
/// byte left of it, which is what Go's JSON encoder makes of such a string on the wire.
#[must_use]
pub fn get_valid_name(text: &str) -> String {
    if text.len() <= MAX_LABEL_VALUE {
        return text.to_owned();
    }
    let keep = MAX_LABEL_VALUE - HASH_DIGITS;
    let whole = (0..=keep)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    let mut name = text.get(..whole).unwrap_or_default().to_owned();
    name.extend(std::iter::repeat_n(
        char::REPLACEMENT_CHARACTER,
        keep - whole,
    ));
    for byte in Sha256::digest(text.as_bytes()).iter().take(HASH_DIGITS / 2) {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Whether the API server accepts `value` as a label value: empty, or at most 63 of
/// `[A-Za-z0-9._-]` that begin and end with a letter or digit.
#[must_use]
pub fn is_valid_label_value(value: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.len() <= MAX_LABEL_VALUE
        && bytes.iter().all(inner)
        && ends(bytes.first())
        && ends(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_value_of_velero_then_its_own_hash_0_2() {
        assert_eq!(
            get_valid_name("this_is_a_very_long_label_value_that_will_be_rejected_by_Kubernetes"),
            "this_is_a_very_long_label_value_that_will_be_rejected_by_8d0722"
        );
    }

    #[test]
    fn backup_name_of_the_field_then_the_label_velero_wrote_f40() {
        assert_eq!(
            get_valid_name("k14-prod-avenirsocial-gs-0-0-6-12-18-ttl-23-hours-20250904201247"),
            "k14-prod-avenirsocial-gs-0-0-6-12-18-ttl-23-hours-2025090f10262"
        );
    }

    #[test]
    fn lengths_around_the_limit_then_only_the_longer_change_f40_f41() {
        for length in [1, 62, 63] {
            let name = "a".repeat(length);
            assert_eq!(get_valid_name(&name), name);
        }
        for length in [64, 84, 253] {
            let name = "a".repeat(length);
            let valid = get_valid_name(&name);
            assert_eq!(valid.len(), 63);
            assert_eq!(valid.get(..57), name.get(..57));
            assert!(is_valid_label_value(&valid));
        }
    }

    #[test]
    fn operation_ids_of_the_field_then_the_ids_velero_wrote_f42() {
        let vectors = [
            (
                "du-eab99b56-a863-4a04-b96d-125b29ac88c4.fa094c8b-8308-488f-af41-d77c2278244f",
                "du-eab99b56-a863-4a04-b96d-125b29ac88c4.fa094c8b-8308-488f5f389",
            ),
            (
                "du-f9ae8db7-0dce-4596-a1a6-0066c35366bc.9115b860-b3f9-4ca4-ae17-4baba8783afb",
                "du-f9ae8db7-0dce-4596-a1a6-0066c35366bc.9115b860-b3f9-4ca2c16e9",
            ),
            (
                "du-699fa0ea-3e1f-43ec-ad7e-0bcfdf13a5b8.c6a6bcb6-71c5-4861-b111-f1d24f0f2dd1",
                "du-699fa0ea-3e1f-43ec-ad7e-0bcfdf13a5b8.c6a6bcb6-71c5-4865f5159",
            ),
            (
                "du-5772df79-0d62-46b3-a387-4f030cae3dcb.90a07b9e-590a-48e1-bffd-c49c050a8bd6",
                "du-5772df79-0d62-46b3-a387-4f030cae3dcb.90a07b9e-590a-48e5653a7",
            ),
        ];
        for (text, expected) in vectors {
            assert_eq!(get_valid_name(text), expected);
        }
    }

    #[test]
    fn character_across_the_cut_then_bytes_are_counted_f40() {
        // 56 bytes, then a three-byte character of which one byte is kept.
        let text = format!("{}€{}", "a".repeat(56), "b".repeat(20));
        let valid = get_valid_name(&text);
        assert!(valid.starts_with(&format!("{}\u{fffd}", "a".repeat(56))));
        assert_eq!(valid.chars().count(), 63);
        // Two of its bytes are kept: Go writes one replacement character for each.
        let text = format!("{}€{}", "a".repeat(55), "b".repeat(20));
        assert!(get_valid_name(&text).contains("a\u{fffd}\u{fffd}"));
    }

    #[test]
    fn label_values_then_the_api_servers_verdict() {
        for value in ["", "a", "A-b_c.9", &"x".repeat(63)] {
            assert!(is_valid_label_value(value), "{value}");
        }
        for value in ["-a", "a.", "_", "a b", "a/b", "ä", &"x".repeat(64)] {
            assert!(!is_valid_label_value(value), "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_object_name_then_the_label_is_valid(name in "[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?") {
            prop_assert!(is_valid_label_value(&get_valid_name(&name)));
        }

        #[test]
        fn any_text_then_no_panic_and_a_fixed_point(text in ".{0,100}") {
            let once = get_valid_name(&text);
            if text.is_ascii() {
                prop_assert!(once.len() <= MAX_LABEL_VALUE);
                prop_assert_eq!(get_valid_name(&once), once);
            }
        }
    }
}
