//! Lengths of time for people: seconds, cut to as many digits as they mean something. Pure.

use std::time::Duration;

/// Two digits, for columns of measured times: `12.04 s`.
pub fn measured(time: Duration) -> String {
    let hundredths = rounded(time, 10);
    format!("{}.{:02} s", hundredths / 100, hundredths % 100)
}

/// As few digits as possible, at most one: `20 s`, `1.2 s`; under a second whole milliseconds: `300 ms`.
pub fn plain(time: Duration) -> String {
    if time < Duration::from_secs(1) && !time.is_zero() {
        return format!("{} ms", rounded(time, 1));
    }
    let tenths = rounded(time, 100);
    match tenths % 10 {
        0 => format!("{} s", tenths / 10),
        rest => format!("{}.{rest} s", tenths / 10),
    }
}

/// In units of so many milliseconds, to the nearest.
fn rounded(time: Duration, millis: u128) -> u128 {
    let unit = millis.saturating_mul(1_000_000).max(1);
    time.as_nanos().saturating_add(unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_their_digits() {
        for (micros, long, short) in [
            (0, "0.00 s", "0 s"),
            (4_000, "0.00 s", "4 ms"),
            (300_400, "0.30 s", "300 ms"),
            (1_000_000, "1.00 s", "1 s"),
            (1_204_999, "1.20 s", "1.2 s"),
            (9_995_000, "10.00 s", "10 s"),
            (20_040_000, "20.04 s", "20 s"),
            (90_000_000, "90.00 s", "90 s"),
        ] {
            let time = Duration::from_micros(micros);
            assert_eq!(measured(time), long);
            assert_eq!(plain(time), short);
        }
    }
}
