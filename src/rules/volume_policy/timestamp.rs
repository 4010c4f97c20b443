//! Plain scalars that yaml.v3 takes for a date or time.

/// `text` as RFC 3339 if it has one of the four forms of yaml.v3: a date; a date and time apart by
/// a blank, without zone; a date and time apart by `T` or `t`, with zone. Month, day, hour, minute
/// and second may have one digit.
pub(super) fn rfc3339(text: &str) -> Option<String> {
    let (year, rest) = text.split_once('-')?;
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let year: u32 = year.parse().ok()?;
    let mut rest = rest;
    let month = number(&mut rest, 1..=12)?;
    eat(&mut rest, '-')?;
    let day = number(&mut rest, 1..=days_of(year, month))?;
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let zoned = eat(&mut rest, 'T')
        .or_else(|| eat(&mut rest, 't'))
        .is_some();
    if !zoned {
        eat(&mut rest, ' ')?;
    }
    let hour = number(&mut rest, 0..=23)?;
    eat(&mut rest, ':')?;
    let minute = number(&mut rest, 0..=59)?;
    eat(&mut rest, ':')?;
    let second = number(&mut rest, 0..=59)?;
    let fraction = fraction(&mut rest)?;
    let zone = if zoned {
        zone(&mut rest)?
    } else {
        "Z".to_owned()
    };
    rest.is_empty()
        .then(|| format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

fn eat(rest: &mut &str, wanted: char) -> Option<()> {
    *rest = rest.strip_prefix(wanted)?;
    Some(())
}

/// One or two digits within a range.
fn number(rest: &mut &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?.parse().ok()?;
    *rest = rest.get(digits..)?;
    range.contains(&number).then_some(number)
}

/// The fraction of a second with its point, to the nanosecond and without trailing zeros.
fn fraction(rest: &mut &str) -> Option<String> {
    let Some(after) = rest.strip_prefix(['.', ',']) else {
        return Some(String::new());
    };
    let length = after.bytes().take_while(u8::is_ascii_digit).count();
    let digits = after.get(..length).filter(|digits| !digits.is_empty())?;
    *rest = after.get(length..)?;
    let digits = digits.get(..9).unwrap_or(digits).trim_end_matches('0');
    Some(if digits.is_empty() {
        String::new()
    } else {
        format!(".{digits}")
    })
}

/// `Z` or an offset of hours and minutes.
fn zone(rest: &mut &str) -> Option<String> {
    if eat(rest, 'Z').is_some() {
        return Some("Z".to_owned());
    }
    let sign = rest
        .chars()
        .next()
        .filter(|sign| matches!(sign, '+' | '-'))?;
    let offset = rest.get(1..6)?;
    let (hours, minutes) = offset.split_once(':')?;
    let two = |part: &str, limit: u32| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| part.parse().ok())
            .flatten()
            .filter(|number: &u32| *number <= limit)
    };
    let (hours, minutes) = (two(hours, 24)?, two(minutes, 59)?);
    *rest = rest.get(6..)?;
    Some(if hours + minutes == 0 {
        "Z".to_owned()
    } else {
        format!("{sign}{hours:02}:{minutes:02}")
    })
}

fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
