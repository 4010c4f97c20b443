//! Foreign text, such as a driver's error, made fit for one line of log or status (F14).
//!
//! May use: nothing of this crate.

/// Longest foreign text that is passed on, in characters; the rest adds nothing to a diagnosis.
pub const MAX_CHARACTERS: usize = 1_000;

/// `text` with each run of blanks, line breaks and control characters as one blank, at most
/// [`MAX_CHARACTERS`] long; what was cut is shown by `…`.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut gap = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = length > 0;
            continue;
        }
        let needed = if gap { 2 } else { 1 };
        if length + needed >= MAX_CHARACTERS {
            line.push('…');
            break;
        }
        if gap {
            line.push(' ');
            gap = false;
        }
        line.push(character);
        length += needed;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_error_with_lines_and_quotes_then_one_line_f14() {
        assert_eq!(
            one_line("  rpc error:\n\tdesc = \"no\"\r\n %!q(<nil>)\u{0} \n"),
            "rpc error: desc = \"no\" %!q(<nil>)"
        );
    }

    #[test]
    fn three_kilobytes_then_capped_f14() {
        let line = one_line(&"äb ".repeat(1_000));
        assert!(line.chars().count() <= MAX_CHARACTERS);
        assert!(line.ends_with('…'));
    }

    #[test]
    fn nothing_then_nothing() {
        assert_eq!(one_line(" \n "), "");
    }
}
