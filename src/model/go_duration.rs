//! Go's `time.Duration` as text: `time.ParseDuration` and `Duration.String` (P-19).
//!
//! Velero prints every duration of a Backup in this form, and users write settings in it.
//! Behaviour, down to rounding of fractions and overflow, follows Go's `time/format.go` and
//! `time/time.go`.

use std::fmt;
use std::time::Duration;

/// Signed nanoseconds, about ±292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// Why a text is no Go duration; the texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not of the form, or out of range.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A unit that Go does not know.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// What stood in the unit's place.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// One more than the largest value: the magnitude of Go's smallest duration.
const LIMIT: u64 = 1 << 63;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

impl GoDuration {
    /// A duration of so many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// From a standard duration; what does not fit becomes Go's largest duration.
    #[must_use]
    pub fn from_std(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }

    /// As a standard duration; `None` when negative.
    #[must_use]
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }

    /// Go's `time.ParseDuration`: an optional sign, then decimal numbers, each with optional
    /// fraction and a unit (`ns us µs μs ms s m h`); `0` needs no unit.
    ///
    /// # Errors
    /// As Go's: not of that form, no unit, an unknown unit, or more than ±2^63 ns.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let invalid = || ParseError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            if !rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
                return Err(invalid());
            }
            let (digits, after) = split_digits(rest);
            let whole = leading_int(digits).ok_or_else(invalid)?;
            let mut fraction = Fraction::NONE;
            let mut fraction_digits = "";
            rest = after;
            if let Some(after_point) = after.strip_prefix('.') {
                (fraction_digits, rest) = split_digits(after_point);
                fraction = leading_fraction(fraction_digits);
            }
            if digits.is_empty() && fraction_digits.is_empty() {
                return Err(invalid());
            }
            let end = rest
                .find(|c: char| c == '.' || c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (name, after_unit) = rest.split_at(end);
            if name.is_empty() {
                return Err(ParseError::MissingUnit(text.to_owned()));
            }
            let unit = unit_of(name).ok_or_else(|| ParseError::UnknownUnit {
                unit: name.to_owned(),
                text: text.to_owned(),
            })?;
            rest = after_unit;
            let value = whole
                .checked_mul(unit)
                .and_then(|value| value.checked_add(fraction.of(unit)))
                .filter(|value| *value <= LIMIT)
                .ok_or_else(invalid)?;
            total = total
                .checked_add(value)
                .filter(|total| *total <= LIMIT)
                .ok_or_else(invalid)?;
        }
        if negative {
            // Two's complement: 2^63 negated is the smallest value, as in Go.
            return Ok(Self(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }
}

/// Go's `Duration.String`: `72h3m0.5s`, with `ns`, `µs` or `ms` under one second, and `0s`.
/// The text of a length of time that was measured, in whole milliseconds: `1.402s`, `10m0s`.
#[must_use]
pub fn short(elapsed: Duration) -> String {
    let millis = elapsed.as_millis().saturating_mul(1_000_000);
    GoDuration(i64::try_from(millis).unwrap_or(i64::MAX)).to_string()
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            ..MICROSECOND => write!(f, "{nanos}ns"),
            MICROSECOND..MILLISECOND => write_decimal(f, nanos, MICROSECOND, 3, "µs"),
            MILLISECOND..SECOND => write_decimal(f, nanos, MILLISECOND, 6, "ms"),
            _ => {
                let minutes = nanos / (60 * SECOND);
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write_decimal(f, nanos % (60 * SECOND), SECOND, 9, "s")
            }
        }
    }
}

impl std::str::FromStr for GoDuration {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    nanos: u64,
    unit: u64,
    width: usize,
    name: &str,
) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    let fraction = format!("{:0width$}", nanos % unit);
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        write!(f, ".{fraction}")?;
    }
    f.write_str(name)
}

fn unit_of(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

/// The number, `None` over 2^63. No digits are 0.
fn leading_int(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))
            .filter(|value| *value <= LIMIT)
    })
}

/// Digits after the point, as `value / scale`.
struct Fraction {
    value: u64,
    scale: f64,
}

impl Fraction {
    const NONE: Self = Self {
        value: 0,
        scale: 1.0,
    };

    /// The fraction of a unit, truncated. In floating point, since Go computes it so and the
    /// result must be the same to the nanosecond.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the rounding of Go's own expression is wanted"
    )]
    fn of(&self, unit: u64) -> u64 {
        (self.value as f64 * (unit as f64 / self.scale)) as u64
    }
}

/// Digits that no longer fit are dropped, as in Go.
fn leading_fraction(digits: &str) -> Fraction {
    let mut fraction = Fraction::NONE;
    for digit in digits.bytes() {
        let next = fraction
            .value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .filter(|value| *value <= LIMIT);
        let Some(next) = next else { break };
        fraction = Fraction {
            value: next,
            scale: fraction.scale * 10.0,
        };
    }
    fraction
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: i64 = 1_000_000_000;

    /// From Go's own `time_test.go`.
    #[test]
    fn go_test_table_parses_alike() {
        let table = [
            ("0", 0),
            ("5s", 5 * S),
            ("30s", 30 * S),
            ("1478s", 1478 * S),
            ("-5s", -5 * S),
            ("+5s", 5 * S),
            ("-0", 0),
            ("+0", 0),
            ("5.0s", 5 * S),
            ("5.6s", 5_600_000_000),
            ("5.s", 5 * S),
            (".5s", S / 2),
            ("1.0s", S),
            ("1.00s", S),
            ("1.004s", 1_004_000_000),
            ("1.0040s", 1_004_000_000),
            ("100.00100s", 100_001_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("13ms", 13_000_000),
            ("14s", 14 * S),
            ("15m", 900 * S),
            ("16h", 57_600 * S),
            ("3h30m", 12_600 * S),
            ("10.5s4m", 250_500_000_000),
            ("-2m3.4s", -123_400_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("39h9m14.425s", 140_954_425_000_000),
            ("52763797000ns", 52_763_797_000),
            ("0.3333333333333333333h", 1_200 * S),
            ("9007199254740993ns", 9_007_199_254_740_993),
            ("9223372036854775807ns", i64::MAX),
            ("9223372036854775.807us", i64::MAX),
            ("9223372036s854ms775us807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("-9223372036854775.808us", i64::MIN),
            ("-9223372036s854ms775us808ns", i64::MIN),
            ("-2562047h47m16.854775808s", i64::MIN),
            ("0.100000000000000000000h", 360 * S),
            ("0.830103483285477580700h", 2_988_372_539_827),
        ];
        for (text, nanos) in table {
            assert_eq!(GoDuration::parse(text), Ok(GoDuration(nanos)), "{text}");
        }
    }

    #[test]
    fn go_error_table_fails_alike() {
        for text in [
            "",
            "3",
            "-",
            "s",
            ".",
            "-.",
            ".s",
            "+.s",
            "1d",
            "\u{85}\u{85}",
            "\u{ffff}",
            "hello \u{ffff} world",
            "9223372036854775810ns",
            "9223372036854775808ns",
            "-9223372036854775809ns",
            "9223372036854776us",
            "3000000h",
            "9223372036854775.808us",
            "9223372036854ms775us808ns",
            " 1s",
            "1s ",
            "1 s",
            "--1s",
            "+-1s",
            "1e3s",
            "1H",
            "1MS",
            "1,5s",
            "1.2.3s",
            "١s",
        ] {
            assert!(GoDuration::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_say_what_is_missing() {
        assert_eq!(
            GoDuration::parse("3").unwrap_err().to_string(),
            "time: missing unit in duration \"3\""
        );
        assert_eq!(
            GoDuration::parse("1d").unwrap_err().to_string(),
            "time: unknown unit \"d\" in duration \"1d\""
        );
    }

    /// From Go's own `time_test.go`, and the forms in a Backup (A 5.2).
    #[test]
    fn go_format_table_prints_alike() {
        let table = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245 * S, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (600 * S, "10m0s"),
            (2_592_000 * S, "720h0m0s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanos, text) in table {
            assert_eq!(GoDuration(nanos).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn printed_duration_parses_to_itself(nanos in any::<i64>()) {
            let printed = GoDuration(nanos).to_string();
            prop_assert_eq!(GoDuration::parse(&printed), Ok(GoDuration(nanos)));
        }

        #[test]
        fn any_text_is_answered_without_panic(text in "\\PC{0,40}") {
            let _ = GoDuration::parse(&text);
        }

        #[test]
        fn duration_like_text_is_answered_without_panic(text in "[-+]?([0-9]{0,22}(\\.[0-9]{0,25})?(ns|us|µs|ms|s|m|h|d)?){0,4}") {
            let _ = GoDuration::parse(&text);
        }
    }
}
