// SPDX-License-Identifier: Apache-2.0
//! What the engine has to say that is no error.
//!
//! Records wait in a ring of the engine until somebody takes them: [`Engine::next_log`] takes one,
//! [`Engine::forward_logs`] hands all to a function, on a thread of its own. The crate `dlcore-log` hands them to the
//! `log` crate.

use crate::engine::Engine;
use crate::text::borrowed;
use crate::{Error, Result};
use dlcore_sys as sys;
use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::thread;
use std::time::{Duration, SystemTime};

/// How much a record matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// For those who look for a fault.
    Debug,
    /// For those who want to know.
    Info,
    /// Something may not be as intended.
    Warning,
    /// Something went wrong that no call could tell.
    Error,
}

impl Level {
    fn from_raw(raw: i32) -> Level {
        match raw {
            sys::DLCORE_LOG_ERROR => Level::Error,
            sys::DLCORE_LOG_WARNING => Level::Warning,
            sys::DLCORE_LOG_INFO => Level::Info,
            _ => Level::Debug,
        }
    }

    fn raw(self) -> i32 {
        match self {
            Level::Error => sys::DLCORE_LOG_ERROR,
            Level::Warning => sys::DLCORE_LOG_WARNING,
            Level::Info => sys::DLCORE_LOG_INFO,
            Level::Debug => sys::DLCORE_LOG_DEBUG,
        }
    }
}

/// One thing that was said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// How much it matters.
    pub level: Level,
    /// When.
    pub time: SystemTime,
    /// Records that were dropped just before this one, because nobody took them.
    pub lost: i64,
    /// Who: "checkpoint", "cpu", the name of a plug-in.
    pub source: String,
    /// What, in one line.
    pub message: String,
}

/// Takes the oldest record; waits for one if need be.
///
/// # Safety
/// `engine` is an engine that is held.
unsafe fn next(engine: *mut sys::dlcore_engine, milliseconds: i64) -> Option<Record> {
    let mut raw = MaybeUninit::<sys::dlcore_log_record>::zeroed();
    (*raw.as_mut_ptr()).struct_size = size_of::<sys::dlcore_log_record>() as u32;
    if sys::dlcore_engine_next_log(engine, raw.as_mut_ptr(), milliseconds) != 1 {
        return None;
    }
    let record = raw.assume_init();
    Some(Record {
        level: Level::from_raw(record.level),
        time: SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(record.time).unwrap_or(0)),
        lost: record.lost,
        source: borrowed(record.source.as_ptr()).to_string(),
        message: borrowed(record.message.as_ptr()).to_string(),
    })
}

/// An engine's handle on the thread that takes its records; it does not keep the engine open.
struct Taker(*mut sys::dlcore_engine);

// SAFETY: an engine may be used from any thread.
unsafe impl Send for Taker {}

impl Taker {
    fn run(self, mut each: impl FnMut(Record)) {
        // SAFETY: the handle is held until the end of this function. None without end says that the engine is closed.
        while let Some(record) = unsafe { next(self.0, -1) } {
            each(record);
        }
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that forward_logs added.
        unsafe { sys::dlcore_engine_release(self.0) };
    }
}

impl Engine {
    /// Takes the oldest record, waiting up to `wait` for one.
    pub fn next_log(&self, wait: Duration) -> Option<Record> {
        // SAFETY: the engine is held.
        unsafe { next(self.raw(), i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)) }
    }

    /// Hands every record to a function, on a thread that ends with the engine.
    pub fn forward_logs(&self, each: impl FnMut(Record) + Send + 'static) -> Result<()> {
        // SAFETY: the engine is held; the taker owns what retain adds.
        let taker = unsafe {
            sys::dlcore_engine_retain(self.raw());
            Taker(self.raw())
        };
        let started = thread::Builder::new().name("dlcore-log".into()).spawn(move || taker.run(each));
        started.map(drop).map_err(Error::from)
    }

    /// Adds a record.
    pub fn log(&self, level: Level, source: &str, message: &str) {
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let (source, message) = (text(source), text(message));
        // SAFETY: texts live during the call.
        unsafe { sys::dlcore_engine_log(self.raw(), level.raw(), source.as_ptr(), message.as_ptr()) };
    }

    /// Records below this level are not kept; [`Level::Info`] at first.
    pub fn set_log_level(&self, level: Level) {
        // SAFETY: the engine is held.
        unsafe { sys::dlcore_engine_set_log_level(self.raw(), level.raw()) };
    }
}
