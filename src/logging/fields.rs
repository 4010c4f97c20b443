//! The fields of a span or event, as they will stand in a line.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

use crate::error::chain;

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Text.
    Text(String),
    /// A number that a double holds exactly: that is what Velero reads numbers as.
    Number(i64),
    /// A truth value.
    Bool(bool),
}

/// Largest magnitude of integers that a double holds exactly.
const EXACT: i64 = 1 << 53;

/// Fields in the order of recording; a name occurs once, the last value stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// The `message` field.
    pub(super) message: Option<String>,
    /// Everything else.
    pub(super) others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        if name == "message" {
            self.message = Some(match value {
                Value::Text(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
            });
            return;
        }
        let name = name.strip_prefix("r#").unwrap_or(name);
        match self.others.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, Value::Text(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Value::Text(value.to_owned()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.set(field, Value::Text(chain(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        let exact = (-EXACT..=EXACT).contains(&value);
        let value = if exact {
            Value::Number(value)
        } else {
            Value::Text(value.to_string())
        };
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.record_i64(field, value),
            Err(_) => self.set(field, Value::Text(value.to_string())),
        }
    }
}
