//! The magic cookie: a variable by which a host says "I am starting a plugin" (P-2).

/// Name and value of a host's cookie. It guards against mistakes, not against attackers.
#[derive(Clone, Copy, Debug)]
pub struct Cookie {
    /// Environment variable.
    pub key: &'static str,
    /// Its only right value.
    pub value: &'static str,
}

impl Cookie {
    /// Whether a host started us: the variable is there and exactly right.
    #[must_use]
    pub fn is_given(&self, found: Option<&std::ffi::OsStr>) -> bool {
        found.is_some_and(|found| found == self.value)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn only_the_exact_value_is_a_cookie() {
        let cookie = Cookie {
            key: "APP_PLUGIN",
            value: "hello",
        };
        assert!(cookie.is_given(Some(OsStr::new("hello"))));
        for wrong in ["", "Hello", "hello ", "hell", "hello\n"] {
            assert!(!cookie.is_given(Some(OsStr::new(wrong))), "{wrong:?}");
        }
        assert!(!cookie.is_given(None));
    }
}
