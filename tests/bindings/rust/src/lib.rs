// SPDX-License-Identifier: Apache-2.0
//! What the tests share.

use dlcore::{Code, Context, Engine, Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An engine of one's own, and a check that everything is given back at its end.
pub fn engine() -> Counted {
    Counted(Engine::options().threads(2).open().expect("an engine"))
}

/// A context of one's own.
pub fn context(engine: &Counted) -> Context {
    engine.0.context("cpu", 42).expect("a context")
}

/// An engine that holds nothing any more when this is dropped.
pub struct Counted(pub Engine);

impl std::ops::Deref for Counted {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let live = live(self);
        assert!(live.iter().all(|count| *count == 0), "still alive: {live:?}");
    }
}

/// Handles of each type that somebody holds, and bytes of tensors.
pub fn live(engine: &Engine) -> [i64; 9] {
    let s = engine.statistics();
    [
        s.live_tensors,
        s.live_variables,
        s.live_modules,
        s.live_optimizers,
        s.live_loaders,
        s.live_graphs,
        s.live_contexts,
        s.live_bytes as i64,
        s.live_schedules,
    ]
}

/// The error of what has to fail, of this code and with all these words in its message.
#[track_caller]
pub fn failure<T>(result: Result<T>, code: Code, words: &[&str]) -> Error {
    let error = result.err().expect("a failure");
    assert_eq!(error.code(), code, "{error:?}");
    for word in words {
        assert!(error.message().contains(word), "'{}' lacks '{word}'", error.message());
    }
    error
}

/// A file name of one's own, removed when it is dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let unique = format!("dlcore-{}-{}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Scratch(std::env::temp_dir().join(unique))
    }
}

impl AsRef<std::path::Path> for Scratch {
    fn as_ref(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
