//! Quantities against the values that `resource.ParseQuantity` gives.

use super::*;
use proptest::prelude::*;

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_suffix_then_its_value() {
    let table = [
        ("1n", 1),
        ("1u", 1_000),
        ("1m", 1_000_000),
        ("1", NANOS),
        ("1k", 1_000 * NANOS),
        ("1M", 1_000_000 * NANOS),
        ("1G", 1_000_000_000 * NANOS),
        ("1T", 1_000_000_000_000 * NANOS),
        ("1P", 1_000_000_000_000_000 * NANOS),
        ("1E", 1_000_000_000_000_000_000 * NANOS),
        ("1Ki", (1 << 10) * NANOS),
        ("1Mi", (1 << 20) * NANOS),
        ("1Gi", (1 << 30) * NANOS),
        ("1Ti", (1 << 40) * NANOS),
        ("1Pi", (1 << 50) * NANOS),
        ("1Ei", (1 << 60) * NANOS),
    ];
    for (text, nanos) in table {
        assert_eq!(quantity(text).nanos, nanos, "{text}");
    }
}

#[test]
fn the_same_amount_written_differently_then_equal() {
    let table = [
        ("1.5Gi", "1536Mi"),
        ("1e3", "1k"),
        ("1E3", "1000"),
        ("1e+3", "1k"),
        ("12e-1", "1200m"),
        ("+5", "5"),
        ("005", "5"),
        (".5", "500m"),
        ("1.", "1"),
        ("0.5Ki", "512"),
        ("-1.5Gi", "-1536Mi"),
        ("1E", "1000P"),
        ("Ki", "0"),
    ];
    for (left, right) in table {
        assert_eq!(quantity(left), quantity(right), "{left} {right}");
    }
}

#[test]
fn finer_than_a_nano_then_rounded_away_from_zero() {
    assert_eq!(quantity("0.1n").nanos, 1);
    assert_eq!(quantity("1.0000000001").nanos, NANOS + 1);
    assert_eq!(quantity("-0.1n").nanos, -1);
    assert_eq!(quantity("1e-999").nanos, 1);
    assert_eq!(quantity("0e-999").nanos, 0);
    assert_eq!(quantity("0.00000000000000000000000000000001Ei").nanos, 1);
}

#[test]
fn absurd_values_then_they_saturate_without_a_panic() {
    assert_eq!(quantity("1e999999999").nanos, i128::MAX);
    assert_eq!(quantity("-1e9223372036854775807").nanos, -i128::MAX);
    assert_eq!(quantity(&"9".repeat(5_000)).nanos, i128::MAX);
    assert_eq!(quantity("99999999999Ei").nanos, BINARY_CAP);
    assert_eq!(
        quantity(&format!("{}e-5000", "9".repeat(5_000))).nanos,
        NANOS
    );
}

#[test]
fn not_a_quantity_then_refused() {
    for text in [
        "",
        " ",
        "1 Gi",
        "Gib",
        "1gi",
        "1K",
        "1i",
        "--1",
        "1e",
        "1e+",
        "1e1.5",
        "1.5.5",
        "0x10",
        "1Gi ",
        "1_000",
        "five",
        "1e99999999999999999999",
        "٣",
    ] {
        assert!(text.parse::<Quantity>().is_err(), "{text:?}");
    }
    let error = "1 Gi".parse::<Quantity>().unwrap_err();
    assert_eq!(error.to_string(), r#""1 Gi" is not a Kubernetes quantity"#);
}

#[test]
fn comparison_then_exact_beyond_floating_point() {
    assert!(quantity("9223372036854775807") > quantity("9223372036854775806"));
    assert!(quantity("10G") < quantity("10Gi"));
    assert!(quantity("1.5") < quantity("2"));
    assert!(quantity("-1") < Quantity::ZERO);
    assert!(quantity("0Gi").is_zero());
}

#[test]
fn whole_bytes_then_the_canonical_binary_form_r35() {
    let table = [
        (2_147_483_648, "2Gi"),
        (1_610_612_736, "1536Mi"),
        (1_500_000_000, "1500000000"),
        (1_024, "1Ki"),
        (1_023, "1023"),
        (1_000, "1k"),
        (999, "999"),
        (0, "0"),
        (-1_000, "-1k"),
        (-2_048, "-2Ki"),
        (1 << 60, "1Ei"),
        (1 << 62, "4Ei"),
        (i64::MAX, "9223372036854775807"),
        (i64::MIN, "-9223372036854775808"),
    ];
    for (bytes, text) in table {
        assert_eq!(binary_si(bytes), text);
    }
}

#[derive(serde::Deserialize)]
struct Recorded {
    quantities: Vec<(String, Option<String>)>,
    bytes: Vec<(i64, String)>,
}

/// `go.json` was written by k8s.io/apimachinery 0.33: text and its decimal value or null if it is
/// refused, then bytes and the text of `NewQuantity(bytes, BinarySI)`.
#[test]
fn texts_and_bytes_then_what_go_makes_of_them() {
    let recorded: Recorded = serde_json::from_str(include_str!("go.json")).unwrap();
    for (text, decimal) in recorded.quantities {
        let expected = decimal.map(|decimal| quantity(&decimal));
        assert_eq!(text.parse().ok(), expected, "{text:?}");
    }
    for (bytes, text) in recorded.bytes {
        assert_eq!(binary_si(bytes), text);
    }
}

#[test]
fn display_then_plain_units() {
    assert_eq!(quantity("1.5").to_string(), "1.500000000");
    assert_eq!(quantity("-2Ki").to_string(), "-2048");
}

proptest! {
    #[test]
    fn any_bytes_then_their_text_reads_back(bytes: i64) {
        prop_assert_eq!(quantity(&binary_si(bytes)), Quantity::from_bytes(bytes));
    }

    #[test]
    fn any_two_integers_then_ordered_alike(left: i64, right: i64) {
        let (a, b) = (quantity(&left.to_string()), quantity(&right.to_string()));
        prop_assert_eq!(a.cmp(&b), left.cmp(&right));
    }

    #[test]
    fn any_text_then_no_panic(text in "[-+]?[0-9.]{0,40}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,20}") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn any_decimal_then_the_same_as_shifted_nanos(units in 0_u32.., nanos in 0_u32..1_000_000_000) {
        let text = format!("{units}.{nanos:09}");
        let expected = i128::from(units) * NANOS + i128::from(nanos);
        prop_assert_eq!(quantity(&text).nanos, expected);
    }
}
