// SPDX-License-Identifier: Apache-2.0
//! The state of one thread of work: device, random numbers, modes, cancellation.

use crate::engine::{c_device, Engine};
use crate::key::Key;
use crate::text::{borrowed, c_path, c_string};
use crate::variable::Variable;
use crate::{Error, Result};
use dlcore_sys as sys;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// The state of one thread of work. It is cheap: give each thread its own.
///
/// A context may move to another thread, but serves one call at a time, so it is `Send` and not `Sync`. What it makes
/// works through it: methods of a tensor run on the tensor's context. Models, optimizers, schedules and loaders keep
/// their context open; tensors do not, for the price of a call. A tensor whose context is closed can go on another one
/// with [`Tensor::on`](crate::Tensor::on).
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<dlcore::Context>(); // a context serves one thread at a time
/// ```
pub struct Context {
    pub(crate) owner: Owner,
    one_thread_at_a_time: PhantomData<Cell<()>>,
}

/// Keeps a context open.
pub(crate) type Owner = Arc<Open>;

pub(crate) struct Open {
    key: Key,
    engine: Engine,
    /// A context that a callback was lent ends with the callback, and not by us.
    lent: bool,
}

impl Open {
    #[inline]
    pub fn key(&self) -> Key {
        self.key
    }

    #[inline]
    pub fn raw(&self) -> *mut sys::dlcore_context {
        self.key.raw()
    }

    pub fn close(&self) {
        if let (Some(raw), false) = (self.key.close(), self.lent) {
            // SAFETY: whoever ends the generation closes, so it happens once. The library waits for a call that runs.
            unsafe { sys::dlcore_context_close(raw) };
        }
    }

    /// Ok when no error sticks.
    pub fn check(&self, status: sys::dlcore_status) -> Result<()> {
        if status == sys::DLCORE_OK {
            Ok(())
        } else {
            Err(Error::taken(self.key))
        }
    }

    /// A new handle, or the error that explains why there is none.
    pub fn made<T>(&self, raw: *mut T) -> Result<ptr::NonNull<T>> {
        ptr::NonNull::new(raw).ok_or_else(|| Error::taken(self.key))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close();
    }
}

impl Context {
    /// Opens an engine with default settings, and a context on one of its devices with seed 0.
    pub fn open(device: &str) -> Result<Context> {
        Engine::open()?.context(device, 0)
    }

    pub(crate) fn opened(engine: &Engine, device: &str, seed: u64, flags: u64) -> Result<Context> {
        let device = c_device(device)?;
        let flags = flags | sys::DLCORE_CONTEXT_MANUAL as u64;
        let mut error = ptr::null_mut();
        // SAFETY: all arguments are valid; the error is ours.
        let (raw, error) = unsafe {
            let raw = sys::dlcore_context_open(engine.raw(), device.as_ptr(), seed, flags, &mut error);
            (raw, Error::owned(error))
        };
        if raw.is_null() {
            return Err(error.unwrap_or_else(|| Error::invalid("context_open: failed")));
        }
        Ok(Context::from_owner(Arc::new(Open { key: Key::open(raw), engine: engine.clone(), lent: false })))
    }

    /// A context that the library lends to a callback.
    ///
    /// # Safety
    /// `raw` is a context for the life of the result and of all that is made through it; `Open::close` ends that.
    pub(crate) unsafe fn lent(raw: *mut sys::dlcore_context) -> Result<Context> {
        let engine = Engine::borrowed_from(sys::dlcore_context_engine(raw))?;
        Ok(Context::from_owner(Arc::new(Open { key: Key::open(raw), engine, lent: true })))
    }

    pub(crate) fn from_owner(owner: Owner) -> Context {
        Context { owner, one_thread_at_a_time: PhantomData }
    }

    #[inline]
    pub(crate) fn key(&self) -> Key {
        self.owner.key
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::dlcore_context {
        self.owner.raw()
    }

    /// Closes it now, also for what still refers to it. Dropping it closes it when nothing else keeps it open.
    ///
    /// ```compile_fail
    /// let dl = dlcore::Context::open("cpu").unwrap();
    /// dl.close();
    /// dl.close(); // there is nothing left to close
    /// ```
    pub fn close(self) {
        self.owner.close();
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> &Engine {
        &self.owner.engine
    }

    /// Name of its device.
    pub fn device(&self) -> &str {
        // SAFETY: the name lives as long as the context, which `self` keeps open.
        unsafe { borrowed(sys::dlcore_context_device(self.raw())) }
    }

    /// Starts its random numbers anew from a seed; for the line that opens it. Its failure, which only a context that
    /// was cancelled knows, is the next call's.
    pub fn seed(self, seed: u64) -> Self {
        // SAFETY: the context is valid or NULL.
        unsafe { sys::dlcore_context_set_seed(self.raw(), seed) };
        self
    }

    /// Starts its random numbers anew from a seed.
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        // SAFETY: the context is valid or NULL.
        self.owner.check(unsafe { sys::dlcore_context_set_seed(self.raw(), seed) })
    }

    /// The state of its random numbers: (seed, generator, next call) as an i64 variable of shape `[3]`.
    pub fn generator(&self) -> Result<Variable> {
        // SAFETY: the context is valid or NULL; the variable is borrowed.
        unsafe { Variable::borrowed(&self.owner, sys::dlcore_context_generator(self.raw())) }
    }

    /// Where `fashion-mnist:` looks for its files first; None for nowhere in particular.
    pub fn set_data_directory(&self, directory: Option<&Path>) -> Result<()> {
        let path = directory.map(c_path).transpose()?;
        let text = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
        // SAFETY: the text lives during the call.
        self.owner.check(unsafe { sys::dlcore_context_set_data_directory(self.raw(), text) })
    }

    /// Waits until the device has done what this context gave it.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the context is valid or NULL.
        self.owner.check(unsafe { sys::dlcore_context_synchronize(self.raw()) })
    }

    /// Switches inference mode on until the result is dropped: no history is kept, and layers do not train.
    pub fn inference(&self) -> ModeGuard<'_> {
        ModeGuard::new(self, Some(false), Some(false))
    }

    /// Keeps no history until the result is dropped; layers go on as in training.
    pub fn no_grad(&self) -> ModeGuard<'_> {
        ModeGuard::new(self, Some(false), None)
    }

    /// Keeps history until the result is dropped, inside [`Context::no_grad`] say.
    pub fn recording(&self) -> ModeGuard<'_> {
        ModeGuard::new(self, Some(true), None)
    }

    /// Whether history for gradients is kept.
    pub fn is_recording(&self) -> bool {
        // SAFETY: the context is valid or NULL.
        unsafe { sys::dlcore_context_is_recording(self.raw()) == 1 }
    }

    /// Whether layers behave as in training.
    pub fn is_training(&self) -> bool {
        // SAFETY: the context is valid or NULL.
        unsafe { sys::dlcore_context_is_training(self.raw()) == 1 }
    }

    /// Cancels calls of this context from any thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.key())
    }

    /// Calls fail with [`Code::DeadlineExceeded`](crate::Code::DeadlineExceeded) once so much time has passed; None for
    /// no deadline.
    pub fn set_deadline(&self, after: Option<Duration>) -> Result<()> {
        let milliseconds = after.map_or(-1, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        // SAFETY: the context is valid or NULL.
        self.owner.check(unsafe { sys::dlcore_context_set_deadline(self.raw(), milliseconds) })
    }

    /// Number of an op of the catalogue, or of a custom op that any language of the process registered on the engine.
    pub fn find_op(&self, name: &str) -> Result<i32> {
        let name = c_string("op", name)?;
        // SAFETY: the name lives during the call.
        let number = unsafe { sys::dlcore_catalogue_find(self.raw(), sys::DLCORE_CATALOGUE_OPS, name.as_ptr()) };
        if number < 0 {
            return Err(Error::taken(self.key()));
        }
        Ok(number)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.device())
    }
}

/// Cancels calls of a context, from any thread.
#[derive(Clone)]
pub struct CancelHandle(Key);

impl CancelHandle {
    /// The call that runs, or else the next one, fails with [`Code::Cancelled`](crate::Code::Cancelled). Does nothing
    /// when the context is closed.
    pub fn cancel(&self) {
        // SAFETY: the context is valid or NULL; this may be called from any thread.
        unsafe { sys::dlcore_context_cancel(self.0.raw()) };
    }
}

/// Restores a context's modes when it is dropped.
#[must_use = "the mode ends when this is dropped"]
pub struct ModeGuard<'a> {
    context: &'a Context,
    recording: Option<i32>,
    training: Option<i32>,
}

impl<'a> ModeGuard<'a> {
    fn new(context: &'a Context, recording: Option<bool>, training: Option<bool>) -> Self {
        let raw = context.raw();
        // SAFETY: the context is valid or NULL.
        unsafe {
            ModeGuard {
                context,
                recording: recording.map(|on| sys::dlcore_context_set_recording(raw, on.into())),
                training: training.map(|on| sys::dlcore_context_set_training(raw, on.into())),
            }
        }
    }
}

impl Drop for ModeGuard<'_> {
    fn drop(&mut self) {
        let raw = self.context.raw();
        // SAFETY: the context is valid or NULL. -1 says that switching failed: nothing is to be restored.
        unsafe {
            if let Some(before @ 0..=1) = self.recording {
                sys::dlcore_context_set_recording(raw, before);
            }
            if let Some(before @ 0..=1) = self.training {
                sys::dlcore_context_set_training(raw, before);
            }
        }
    }
}
