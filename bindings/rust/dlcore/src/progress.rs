// SPDX-License-Identifier: Apache-2.0
//! How far a loop is.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::time::{Duration, Instant};

const WIDTH: usize = 24;
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(100);

/// Shows how far a loop is: a live bar where standard output is a terminal, one line at the end elsewhere.
///
/// ```
/// use dlcore::Progress;
///
/// let bar = Progress::new("summing");
/// let mut sum = 0;
/// for number in bar.over(0..1000) {
///     sum += number;
///     bar.note(format_args!("sum {sum}"));
/// }
/// ```
pub struct Progress {
    title: String,
    note: RefCell<String>,
    start: Instant,
    drawn: Cell<Option<Instant>>,
    live: bool,
}

impl Progress {
    /// A bar with a title.
    pub fn new(title: impl Into<String>) -> Progress {
        Progress {
            title: title.into(),
            note: RefCell::default(),
            start: Instant::now(),
            drawn: Cell::new(None),
            live: is_terminal(),
        }
    }

    /// The same items, counted. The loop's end, by exhaustion or `break`, ends the bar.
    pub fn over<I: IntoIterator>(&self, items: I) -> Counted<'_, I::IntoIter> {
        let items = items.into_iter();
        let (least, most) = items.size_hint();
        Counted { bar: self, total: most.unwrap_or(least), items, done: 0 }
    }

    /// What to show beside the bar from now on: the loss, say.
    pub fn note(&self, note: impl std::fmt::Display) {
        // Formatting costs more than a look at the clock.
        if !self.live || self.is_due() {
            use std::fmt::Write;
            let mut text = self.note.borrow_mut();
            text.clear();
            let _ = write!(text, "{note}");
        }
    }

    fn is_due(&self) -> bool {
        self.drawn.get().map_or(true, |drawn| drawn.elapsed() >= BETWEEN_DRAWINGS)
    }

    fn draw(&self, done: usize, total: usize) {
        self.drawn.set(Some(Instant::now()));
        let share = if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) };
        let filled = (share * WIDTH as f64) as usize;
        let rate = done as f64 / (self.start.elapsed().as_secs_f64() + 1e-9);
        let left = total.saturating_sub(done) as f64 / (rate + 1e-9);
        let bar = "=".repeat(filled);
        let text = format!(
            "\r{} [{bar:<WIDTH$}] {:3.0}%  {rate:.0}/s  {}  {left:.0} s left \x1b[K",
            self.title,
            100.0 * share,
            self.note.borrow()
        );
        show(&text);
    }

    fn end(&self, done: usize) {
        let clear = if self.live { "\r\x1b[K" } else { "" };
        let note = self.note.borrow();
        let gap = if note.is_empty() { "" } else { "  " };
        let taken = self.start.elapsed().as_secs_f64();
        let rate = done as f64 / (taken + 1e-9);
        show(&format!("{clear}{}{gap}{note}  {rate:.0}/s  {taken:.1} s\n", self.title));
    }
}

/// A closed pipe is no reason to stop the work.
fn show(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Items that a [`Progress`] counts.
pub struct Counted<'a, I> {
    bar: &'a Progress,
    items: I,
    total: usize,
    done: usize,
}

impl<I: Iterator> Iterator for Counted<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.bar.live && self.done > 0 && self.bar.is_due() {
            self.bar.draw(self.done, self.total);
        }
        let item = self.items.next()?;
        self.done += 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I> Drop for Counted<'_, I> {
    fn drop(&mut self) {
        self.bar.end(self.done);
    }
}

#[cfg(unix)]
fn is_terminal() -> bool {
    extern "C" {
        fn isatty(descriptor: i32) -> i32;
    }
    // SAFETY: any number is answered.
    unsafe { isatty(1) == 1 }
}

#[cfg(not(unix))]
fn is_terminal() -> bool {
    false
}
