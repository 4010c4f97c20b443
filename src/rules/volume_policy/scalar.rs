//! What a plain YAML scalar means to yaml.v3, and how it prints that again (VP-12).
//!
//! Velero decodes `conditions` into free values, prints them and decodes the print into strings,
//! so `1.10` is compared as `1.1` and `0x10` as `16`. The rules are those of yaml.v3's
//! `resolve.go`; its quirks are kept on purpose.

use super::timestamp;

/// What a scalar is, apart from its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// `~`, `null`, or nothing.
    Null,
    /// `true` or `false` in three spellings; not `yes` or `on`.
    Bool(bool),
    /// An integer in the range of i64 or u64.
    Int(i128),
    /// A number with point or exponent.
    Float(f64),
    /// A date or time, as RFC 3339 text.
    Time(String),
    /// Anything else, and everything quoted.
    Text,
}

impl Value {
    /// The text after printing and reading again.
    pub(super) fn print(&self, text: &str) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => print_float(*number),
            Self::Time(time) => time.clone(),
            Self::Text => text.to_owned(),
        }
    }

    /// Go's type of the value, as `%T` prints it.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(number) if i64::try_from(*number).is_err() => "uint64",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Time(_) => "time.Time",
            Self::Text => "string",
        }
    }

    /// YAML's short tag of the value.
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Time(_) => "!!timestamp",
            Self::Text => "!!str",
        }
    }
}

/// An integer that carries the tag `!!float`.
#[expect(
    clippy::cast_precision_loss,
    reason = "Go converts int64 to float64 in the same way"
)]
pub(super) fn float_of(number: i128) -> Value {
    Value::Float(number as f64)
}

/// The meaning of a plain, untagged scalar.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Value::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => float(text).unwrap_or(Value::Text),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            if let Some(time) = timestamp::rfc3339(text) {
                return Value::Time(time);
            }
            let plain = text.replace('_', "");
            integer(&plain)
                .or_else(|| float(&plain))
                .unwrap_or(Value::Text)
        }
        _ => Value::Text,
    }
}

/// Go's `ParseInt` and `ParseUint` with base 0: a prefix chooses the base, a lone leading zero
/// means octal.
fn integer(text: &str) -> Option<Value> {
    let (negative, signed, digits) = match text.as_bytes().first()? {
        b'-' => (true, true, text.get(1..)?),
        b'+' => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let prefix = digits.get(..2).unwrap_or_default().to_ascii_lowercase();
    let (radix, digits) = match prefix.as_str() {
        "0x" => (16, digits.get(2..)?),
        "0b" => (2, digits.get(2..)?),
        "0o" => (8, digits.get(2..)?),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if negative { -number } else { number };
    let highest = if signed {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    (i128::from(i64::MIN)..=highest)
        .contains(&number)
        .then_some(Value::Int(number))
}

/// A decimal number with optional point and exponent; out of range is text.
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    if whole.len() + fraction.len() == 0
        || !all_digits(whole)
        || !all_digits(fraction)
        || !exponent_fits
    {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Value::Float(number))
}

/// Go's `strconv.FormatFloat(number, 'g', -1, 64)`, with YAML's words for the special values.
fn print_float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // With the shortest digits Go changes to the exponent form at 10^6.
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/scalars.json` was written by yaml.v3 3.0.4: a plain scalar, and the string it is
    /// after decoding it freely, printing it and decoding that into a string.
    #[test]
    fn plain_scalars_then_what_yaml_v3_makes_of_them_vp12() {
        let recorded: Vec<(String, String)> =
            serde_json::from_str(include_str!("tests/scalars.json")).unwrap();
        for (text, expected) in recorded {
            assert_eq!(resolve(&text).print(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn values_then_go_s_types_and_tags() {
        for (text, go_type, tag) in [
            ("~", "<nil>", "!!null"),
            ("true", "bool", "!!bool"),
            ("1", "int", "!!int"),
            ("18446744073709551615", "uint64", "!!int"),
            ("1.5", "float64", "!!float"),
            ("2024-01-02", "time.Time", "!!timestamp"),
            ("yes", "string", "!!str"),
        ] {
            let value = resolve(text);
            assert_eq!((value.go_type(), value.tag()), (go_type, tag), "{text}");
        }
    }
}
