//! The condition `capacity: LOW,HIGH`.

use super::fault::Fault;
use crate::model::quantity::Quantity;

/// An inclusive range; zero on either side means no limit there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Capacity {
    low: Quantity,
    high: Quantity,
}

impl Capacity {
    /// Reads `LOW,HIGH`; either side may be empty, and so may the whole.
    pub(super) fn read(line: usize, text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let sides: Vec<&str> = text.split(',').map(str::trim).collect();
        let &[low, high] = sides.as_slice() else {
            let fault = format!("wrong format of Capacity {text}");
            return Err(Fault::at(line, fault));
        };
        let side = |side: &str| {
            if side.is_empty() {
                return Ok(Quantity::ZERO);
            }
            side.parse().map_err(|error| {
                Fault::at(line, format!("wrong format of Capacity {text}: {error}"))
            })
        };
        Ok(Self {
            low: side(low)?,
            high: side(high)?,
        })
    }

    /// Whether the range is one: not upside down, unless open at the top.
    pub(super) fn is_valid(self) -> bool {
        self.high >= self.low || (!self.low.is_zero() && self.high.is_zero())
    }

    /// Whether a volume of this size is in the range.
    pub(super) fn holds(self, size: Quantity) -> bool {
        (self.low.is_zero() && size <= self.high)
            || (self.high.is_zero() && self.low <= size)
            || (!self.low.is_zero()
                && !self.high.is_zero()
                && self.low <= size
                && size <= self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Capacity {
        Capacity::read(1, text).unwrap()
    }

    fn size(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_then_in_or_out_of_the_range_7_6() {
        let table = [
            ("0,10Gi", "5Gi", true),
            ("0,10Gi", "15Gi", false),
            ("20Gi,0", "25Gi", true),
            ("20Gi,0", "15Gi", false),
            ("10Gi,20Gi", "15Gi", true),
            ("10Gi,20Gi", "5Gi", false),
            ("10Gi,20Gi", "25Gi", false),
            ("10Gi,20Gi", "10Gi", true),
            ("10Gi,20Gi", "20Gi", true),
            ("0,0", "5Gi", true),
            ("", "5Gi", true),
            (",10Gi", "0", true),
            ("1,10Gi", "0", false),
        ];
        for (text, volume, expected) in table {
            assert_eq!(range(text).holds(size(volume)), expected, "{text} {volume}");
        }
    }

    #[test]
    fn texts_of_users_then_velero_s_verdict_f50() {
        for text in [
            "4Gi,",
            ",100Gi",
            "0,100Gi",
            " 10Gi , 20Gi ",
            ",",
            " , ",
            "0,0",
            "100,100",
            "100,0",
        ] {
            assert!(range(text).is_valid(), "{text}");
        }
        for text in ["100Gi,10Gi", "100,50", "200,100", "1,-1"] {
            assert!(!range(text).is_valid(), "{text}");
        }
        for text in ["10Gi", "1,2,3", "a,b", "10 Gi,", "invalid-capacity", " "] {
            let fault = Capacity::read(7, text).unwrap_err().to_string();
            assert!(
                fault.starts_with(&format!("line 7: wrong format of Capacity {text}")),
                "{fault}"
            );
        }
    }
}
