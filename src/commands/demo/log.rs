//! The plugin's log while it comes: what has been shown of it, and what it says about the wait.
//!
//! May use: launch.

use std::io;

use super::record::Record;
use super::screen::Screen;
use crate::commands::launch::{Ended, Lines};

/// What has been shown.
#[derive(Debug, Default)]
pub struct Log {
    shown: usize,
    waiting_for: String,
}

impl Log {
    /// Shows what is new: warnings and errors always, the rest to those who want it.
    pub fn show_new(&mut self, lines: &Lines, screen: &mut Screen) -> io::Result<()> {
        self.show(&lines.after(self.shown), screen)
    }

    /// The same, once the plugin has ended.
    pub fn show_rest(&mut self, ended: &Ended, screen: &mut Screen) -> io::Result<()> {
        let rest = ended.stderr.get(self.shown..).unwrap_or_default();
        self.show(rest, screen)
    }

    /// What the plugin waits for, in its own words; empty when it has not said.
    pub fn waiting_for(&self) -> &str {
        &self.waiting_for
    }

    /// Another wait begins.
    pub fn forget_wait(&mut self) {
        self.waiting_for.clear();
    }

    fn show(&mut self, lines: &[String], screen: &mut Screen) -> io::Result<()> {
        for line in lines {
            self.shown = self.shown.saturating_add(1);
            let record = Record::read(line);
            if !record.waiting_for().is_empty() {
                record.waiting_for().clone_into(&mut self.waiting_for);
            }
            if record.is_counted() {
                screen.warning(&format!("  plugin {record}"))?;
            } else {
                screen.detail(&format!("  plugin {record}"))?;
            }
        }
        Ok(())
    }
}
