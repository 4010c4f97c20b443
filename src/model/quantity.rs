//! Kubernetes' `resource.Quantity`: reading, exact comparison, and the canonical form of bytes.
//!
//! A value is held in whole nanos, the smallest unit Kubernetes knows; what is finer is rounded up
//! (away from zero), as Go does. May use: nothing of this crate.

use std::fmt;
use std::str::FromStr;

/// Nanos in one unit.
const NANOS: i128 = 1_000_000_000;
/// Decimal places of a nano.
const NANO_PLACES: i64 = 9;
/// Go caps a quantity with a binary suffix here (`maxAllowed` in `quantity.go`).
const BINARY_CAP: i128 = (i64::MAX as i128) * NANOS;
/// Powers of ten from here on are larger than any value held (10^29 units); they saturate.
const SATURATED_PLACES: i64 = 40;

/// An amount of something, mostly bytes. Values beyond ±1.7·10^29 saturate and compare equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Quantity {
    nanos: i128,
}

/// A text that Kubernetes would not accept as a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a Kubernetes quantity")]
pub struct QuantityError {
    /// The text that was refused.
    pub text: String,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A whole number of bytes.
    #[must_use]
    pub fn from_bytes(bytes: i64) -> Self {
        Self {
            nanos: i128::from(bytes) * NANOS,
        }
    }

    /// Whether this is zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// Reads `5`, `1.5Gi`, `-3e6`, `100m`, `.5` … as `resource.ParseQuantity` does.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        read(text).ok_or_else(|| QuantityError {
            text: text.to_owned(),
        })
    }
}

/// The text that Go prints for `resource.NewQuantity(bytes, resource.BinarySI)`: divided by 1024 as
/// long as nothing is left over; below 1024 the decimal form, so 1000 is `1k`.
#[must_use]
pub fn binary_si(bytes: i64) -> String {
    let (divisor, suffixes): (i64, &[&str]) = if (-1023..=1023).contains(&bytes) {
        (1000, &["", "k"])
    } else {
        (1024, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
    };
    let mut number = bytes;
    let mut suffix = "";
    if bytes == i64::MIN {
        // Go cannot negate it, and leaves it as it is.
        return bytes.to_string();
    }
    for &next in suffixes.iter().skip(1) {
        if number == 0 || number % divisor != 0 {
            break;
        }
        number /= divisor;
        suffix = next;
    }
    format!("{number}{suffix}")
}

impl fmt::Display for Quantity {
    /// Whole units in plain digits, with nanos behind a point if there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.nanos < 0 { "-" } else { "" };
        let nanos = self.nanos.unsigned_abs();
        let units = nanos / NANOS.unsigned_abs();
        let rest = nanos % NANOS.unsigned_abs();
        if rest == 0 {
            write!(f, "{sign}{units}")
        } else {
            write!(f, "{sign}{units}.{rest:09}")
        }
    }
}

/// What a suffix multiplies with: 10^`ten` · 2^`two`.
struct Factor {
    ten: i64,
    two: u32,
}

fn read(text: &str) -> Option<Quantity> {
    if text.is_empty() {
        return None;
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)?),
        Some(b'+') => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, rest) = split_digits(rest);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    let factor = read_suffix(suffix)?;
    let digits: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|digit| digit - b'0')
        .collect();
    let places = i64::try_from(fraction.len()).ok()?;
    let exponent = factor
        .ten
        .saturating_sub(places)
        .saturating_add(NANO_PLACES);
    let mut nanos = scale(digits, factor.two, exponent);
    if factor.two > 0 {
        nanos = nanos.min(BINARY_CAP);
    }
    Some(Quantity {
        nanos: if negative { -nanos } else { nanos },
    })
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    (
        text.get(..end).unwrap_or_default(),
        text.get(end..).unwrap_or_default(),
    )
}

fn read_suffix(suffix: &str) -> Option<Factor> {
    let ten = |ten| Some(Factor { ten, two: 0 });
    let two = |two| Some(Factor { ten: 0, two });
    match suffix {
        "n" => ten(-9),
        "u" => ten(-6),
        "m" => ten(-3),
        "" => ten(0),
        "k" => ten(3),
        "M" => ten(6),
        "G" => ten(9),
        "T" => ten(12),
        "P" => ten(15),
        "E" => ten(18),
        "Ki" => two(10),
        "Mi" => two(20),
        "Gi" => two(30),
        "Ti" => two(40),
        "Pi" => two(50),
        "Ei" => two(60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            ten(exponent.parse().ok()?)
        }
    }
}

/// `digits` · 2^`two` · 10^`exponent`, rounded up to a whole number; saturates.
fn scale(mut digits: Vec<u8>, two: u32, exponent: i64) -> i128 {
    multiply(&mut digits, 1 << two.min(60));
    let leading = digits.iter().take_while(|&&digit| digit == 0).count();
    digits.drain(..leading);
    let Ok(length) = i64::try_from(digits.len()) else {
        return i128::MAX;
    };
    if length == 0 {
        return 0;
    }
    let whole_places = length.saturating_add(exponent);
    if whole_places > SATURATED_PLACES {
        return i128::MAX;
    }
    let whole_places = usize::try_from(whole_places).unwrap_or(0);
    let mut nanos: i128 = 0;
    for place in 0..whole_places {
        let digit = digits.get(place).copied().unwrap_or(0);
        let next = nanos
            .checked_mul(10)
            .and_then(|nanos| nanos.checked_add(i128::from(digit)));
        match next {
            Some(next) => nanos = next,
            None => return i128::MAX,
        }
    }
    let finer = digits.iter().skip(whole_places).any(|&digit| digit != 0);
    nanos.saturating_add(i128::from(finer))
}

/// Multiplies a number of decimal digits in place.
fn multiply(digits: &mut Vec<u8>, by: u64) {
    let mut carry: u128 = 0;
    for digit in digits.iter_mut().rev() {
        let sum = u128::from(*digit) * u128::from(by) + carry;
        *digit = u8::try_from(sum % 10).unwrap_or(0);
        carry = sum / 10;
    }
    let mut front = Vec::new();
    while carry > 0 {
        front.push(u8::try_from(carry % 10).unwrap_or(0));
        carry /= 10;
    }
    front.reverse();
    digits.splice(..0, front);
}

#[cfg(test)]
mod tests;
