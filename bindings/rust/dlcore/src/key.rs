// SPDX-License-Identifier: Apache-2.0
//! How tensors refer to their context, at no cost per call.
//!
//! A tensor does not count as an owner of its context: an atomic count for each result would cost more than the call.
//! Instead contexts have cells, which live as long as the process and are used again. A key is a cell and the
//! generation it had; closing a context starts a new generation, so that older keys find nothing. The library itself
//! recognises a context that is closed while a call with it starts.

use crate::Error;
use dlcore_sys as sys;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Cell {
    raw: AtomicPtr<sys::dlcore_context>,
    generation: AtomicU64,
    /// Only in the cell of a failed value (see operators.rs), which is no context's.
    failure: Option<Error>,
}

/// No context's cell has this generation.
const FAILED: u64 = 0;

static FREE: Mutex<Vec<&'static Cell>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Key {
    cell: NonNull<Cell>,
    generation: u64,
}

// SAFETY: cells hold atomics, and an error that nobody changes.
unsafe impl Send for Key {}
unsafe impl Sync for Key {}

impl Key {
    /// The key of a context that has been opened.
    pub fn open(raw: *mut sys::dlcore_context) -> Key {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let cell = free.unwrap_or_else(|| {
            Box::leak(Box::new(Cell {
                raw: AtomicPtr::new(ptr::null_mut()),
                generation: AtomicU64::new(FAILED + 1),
                failure: None,
            }))
        });
        cell.raw.store(raw, Ordering::Release);
        Key { cell: NonNull::from(cell), generation: cell.generation.load(Ordering::Acquire) }
    }

    #[inline]
    fn cell(&self) -> &Cell {
        // SAFETY: cells of contexts live for ever, those of failed keys until `let_go`.
        unsafe { self.cell.as_ref() }
    }

    /// Ends the generation; gives the context to the one caller that may close it.
    pub fn close(self) -> Option<*mut sys::dlcore_context> {
        let next = self.generation + 1;
        self.cell().generation.compare_exchange(self.generation, next, Ordering::AcqRel, Ordering::Acquire).ok()?;
        // SAFETY: the cell of a context, whose generation is never FAILED.
        let cell: &'static Cell = unsafe { &*self.cell.as_ptr() };
        let raw = cell.raw.swap(ptr::null_mut(), Ordering::AcqRel);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
        Some(raw)
    }

    /// The context, NULL when it is closed. The generation is looked at last: an address that was read before is the
    /// one of that generation.
    #[inline]
    pub fn raw(self) -> *mut sys::dlcore_context {
        let raw = self.cell().raw.load(Ordering::Acquire);
        if self.cell().generation.load(Ordering::Acquire) == self.generation {
            raw
        } else {
            ptr::null_mut()
        }
    }

    /// A key that carries an error in place of a context.
    pub fn failed(error: Error) -> Key {
        let cell = Arc::new(Cell {
            raw: AtomicPtr::new(ptr::null_mut()),
            generation: AtomicU64::new(FAILED + 1),
            failure: Some(error),
        });
        // SAFETY: an Arc is no NULL. Whoever holds the key holds the reference, until `let_go`.
        let cell = unsafe { NonNull::new_unchecked(Arc::into_raw(cell) as *mut Cell) };
        Key { cell, generation: FAILED }
    }

    #[inline]
    pub fn is_failed(self) -> bool {
        self.generation == FAILED
    }

    pub fn failure(self) -> Option<Error> {
        if self.is_failed() {
            self.cell().failure.clone()
        } else {
            None
        }
    }

    /// A copy that is let go on its own.
    pub fn shared(self) -> Key {
        if self.is_failed() {
            // SAFETY: the cell of a failed key comes from Arc::into_raw and is held by `self`.
            unsafe { Arc::increment_strong_count(self.cell.as_ptr() as *const Cell) };
        }
        self
    }

    /// Gives up the reference of a failed key.
    #[cold]
    pub fn let_go(self) {
        debug_assert!(self.is_failed());
        // SAFETY: as in `shared`; the holder does not use the key any more.
        unsafe { Arc::decrement_strong_count(self.cell.as_ptr() as *const Cell) };
    }
}
