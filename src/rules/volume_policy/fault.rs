//! What is wrong with a policy text, and where.

use std::fmt;

/// A fault in a policy text. Prints as `line 3: field x not found in type y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, counted from 1; 0 if the fault is the text as a whole.
    pub line: usize,
    /// What is wrong.
    pub text: String,
}

impl Fault {
    /// A fault on a line.
    pub(super) fn at(line: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.text)
    }
}
