//! What a plugin logs, collected line by line while it comes. May use: nothing of ours.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::task::JoinHandle;

/// Longest line; a longer one comes in pieces of this size, as at go-plugin.
const LINE_LIMIT: u64 = 64 * 1024;

/// How many bytes are kept; what comes later is read, so that the plugin can go on, and forgotten.
const KEPT: usize = 64 * 1024 * 1024;

/// The lines so far, without their line feeds.
#[derive(Debug)]
pub struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

impl Lines {
    /// Collects from `stream` until its end, in a task of its own.
    pub fn collect(stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let reader = tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let mut bytes = Vec::new();
            let mut kept = 0_usize;
            while (&mut stream)
                .take(LINE_LIMIT)
                .read_until(b'\n', &mut bytes)
                .await
                .is_ok_and(|read| read > 0)
            {
                kept = kept.saturating_add(bytes.len());
                if kept <= KEPT {
                    let text = String::from_utf8_lossy(&bytes);
                    locked(&sink).push(text.trim_end_matches('\n').to_owned());
                }
                bytes.clear();
            }
        });
        Self { lines, reader }
    }

    /// What has come so far.
    #[must_use]
    pub fn so_far(&self) -> Vec<String> {
        self.after(0)
    }

    /// What has come after the first `count` lines.
    #[must_use]
    pub fn after(&self, count: usize) -> Vec<String> {
        locked(&self.lines)
            .get(count..)
            .map(<[String]>::to_vec)
            .unwrap_or_default()
    }

    /// Everything, once the stream has ended.
    pub async fn all(self) -> Vec<String> {
        // The reader cannot be interrupted; were it to panic, what it has collected is all there is.
        let _ = self.reader.await;
        std::mem::take(&mut locked(&self.lines))
    }
}

fn locked(lines: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_without_line_feeds_and_a_huge_one_in_pieces() {
        let huge = "x".repeat(64 * 1024 + 10);
        let text = format!("one\n\n{huge}\nlast");
        let lines = Lines::collect(std::io::Cursor::new(text.into_bytes()));
        let all = lines.all().await;
        let lengths: Vec<usize> = all.iter().map(String::len).collect();
        assert_eq!(lengths, [3, 0, 64 * 1024, 10, 4]);
    }

    #[tokio::test]
    async fn after_then_only_what_is_new() {
        let lines = Lines::collect(std::io::Cursor::new(b"a\nb\nc\n".to_vec()));
        while lines.so_far().len() < 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(lines.after(1), ["b", "c"]);
        assert!(lines.after(7).is_empty());
    }
}
