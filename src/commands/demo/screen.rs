//! What a person sees while the demo runs: lines that stay, and on a terminal one line that changes.
//!
//! May use: nothing of ours.

use std::io::{self, Write};

/// Back to the first column, and nothing to the right of it.
const CLEAR: &str = "\r\x1b[2K";
/// A line longer than the terminal is cut instead of wrapped, so that it can be cleared.
const CUT: &str = "\x1b[?7l";
/// Lines are wrapped again.
const WRAP: &str = "\x1b[?7h";

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// What must not be missed.
    Warnings,
    /// And how far it is.
    Progress,
    /// And every detail.
    Everything,
}

/// Where progress goes.
pub struct Screen {
    out: Box<dyn Write + Send>,
    live: bool,
    shown: Shown,
    /// The changing line is there.
    changing: bool,
}

impl Screen {
    /// `live`: `out` is a terminal.
    pub fn new(out: Box<dyn Write + Send>, live: bool, shown: Shown) -> Self {
        Self {
            out,
            live,
            shown,
            changing: false,
        }
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.write(Shown::Progress, text)
    }

    /// A line for those who want to know everything.
    pub fn detail(&mut self, text: &str) -> io::Result<()> {
        self.write(Shown::Everything, text)
    }

    /// A line that must not be missed.
    pub fn warning(&mut self, text: &str) -> io::Result<()> {
        self.write(Shown::Warnings, text)
    }

    /// Replaces the changing line.
    pub fn change(&mut self, text: &str) -> io::Result<()> {
        if !self.live {
            return Ok(());
        }
        self.changing = true;
        write!(self.out, "{CLEAR}{CUT}{text}{WRAP}")?;
        self.out.flush()
    }

    /// Takes the changing line away.
    fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.changing) {
            self.out.write_all(CLEAR.as_bytes())?;
        }
        self.out.flush()
    }

    fn write(&mut self, shown: Shown, text: &str) -> io::Result<()> {
        if shown > self.shown {
            return Ok(());
        }
        self.clear()?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The shell's prompt must not follow our line; an error has nobody to go to.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(use_it: impl FnOnce(Sink) -> Screen) -> String {
        let sink = Sink::default();
        let mut screen = use_it(sink.clone());
        screen.line("one").unwrap();
        screen.change("at work").unwrap();
        screen.detail("detail").unwrap();
        screen.warning("careful").unwrap();
        screen.change("at work").unwrap();
        drop(screen);
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn terminal_then_the_changing_line_never_stays() {
        let live = format!("{CLEAR}{CUT}at work{WRAP}");
        let text = written(|sink| Screen::new(Box::new(sink), true, Shown::Progress));
        assert_eq!(text, format!("one\n{live}{CLEAR}careful\n{live}{CLEAR}"));
    }

    #[test]
    fn file_then_plain_lines_only() {
        let text = written(|sink| Screen::new(Box::new(sink), false, Shown::Everything));
        assert_eq!(text, "one\ndetail\ncareful\n");
    }

    #[test]
    fn json_then_warnings_only() {
        let text = written(|sink| Screen::new(Box::new(sink), false, Shown::Warnings));
        assert_eq!(text, "careful\n");
    }
}
