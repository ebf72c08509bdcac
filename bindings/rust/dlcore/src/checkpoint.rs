// SPDX-License-Identifier: Apache-2.0
//! The whole state of a training in one file.

use crate::context::{Context, Owner};
use crate::data::Loader;
use crate::nn::Module;
use crate::optim::Optimizer;
use crate::schedule::Schedule;
use crate::streams;
use crate::text::{borrowed, c_path, c_string};
use crate::variable::Variable;
use crate::Result;
use dlcore_sys as sys;
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

/// The whole state of a training in one file, from which it goes on as if nothing had happened: the bits of losses,
/// weights, batches and dropout.
///
/// It is told once what belongs to it, each part under a name; the generator of its context belongs to it always.
/// Gradients are not kept: save between a step and the next backward.
pub struct Checkpoint {
    raw: NonNull<sys::dlcore_checkpoint>,
    owner: Owner,
}

handle!(Checkpoint, dlcore_checkpoint, dlcore_checkpoint_retain, dlcore_checkpoint_release);

macro_rules! add {
    ($(#[$doc:meta])* $name:ident, $kind:ty, $call:ident) => {
        $(#[$doc])*
        pub fn $name(&self, name: &str, part: &$kind) -> Result<&Self> {
            let name = c_string("name", name)?;
            // SAFETY: handles are valid.
            self.owner.check(unsafe { sys::$call(self.owner.raw(), self.raw(), name.as_ptr(), part.raw()) })?;
            Ok(self)
        }
    };
}

impl Checkpoint {
    /// One to which nothing but the generator of the context belongs yet.
    pub fn new(context: &Context) -> Result<Checkpoint> {
        // SAFETY: the context is valid or NULL; the result is ours.
        unsafe { Checkpoint::owned(&context.owner, sys::dlcore_checkpoint_create(context.raw())) }
    }

    add! {
        /// A model belongs to it.
        add_module, Module, dlcore_checkpoint_add_module
    }
    add! {
        /// An optimizer belongs to it.
        add_optimizer, Optimizer, dlcore_checkpoint_add_optimizer
    }
    add! {
        /// A schedule belongs to it: its count and base rates. The learning rates are the optimizer's.
        add_schedule, Schedule, dlcore_checkpoint_add_schedule
    }
    add! {
        /// A loader's position belongs to it.
        add_loader, Loader, dlcore_checkpoint_add_loader
    }
    add! {
        /// A variable belongs to it: a program's own state, the generator of another context.
        add_variable, Variable, dlcore_checkpoint_add_variable
    }

    /// Sets a text of the program's, which is saved with the rest, or takes it out.
    pub fn set_text(&self, key: &str, text: Option<&str>) -> Result<()> {
        let key = c_string("key", key)?;
        let text = text.map(|text| c_string("text", text)).transpose()?;
        let raw = text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        // SAFETY: both texts live during the call.
        self.owner.check(unsafe { sys::dlcore_checkpoint_set_text(self.owner.raw(), self.raw(), key.as_ptr(), raw) })
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<String> {
        let key = c_string("key", key).ok()?;
        // SAFETY: the text is copied at once.
        unsafe {
            let text = sys::dlcore_checkpoint_text(self.raw(), key.as_ptr());
            if text.is_null() {
                None
            } else {
                Some(borrowed(text).to_string())
            }
        }
    }

    /// Saves everything, of one moment; the file is replaced as a whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_checkpoint_save(self.owner.raw(), self.raw(), path.as_ptr()) })
    }

    /// Loads everything; nothing changes on failure.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_checkpoint_load(self.owner.raw(), self.raw(), path.as_ptr()) })
    }

    /// Saves to a stream.
    pub fn save_to(&self, to: &mut dyn io::Write) -> Result<()> {
        streams::write(&self.owner, to, |write, user_data| {
            // SAFETY: handles are valid; the stream lives during the call.
            unsafe { sys::dlcore_checkpoint_write(self.owner.raw(), self.raw(), write, user_data) }
        })
    }

    /// Loads from a stream.
    pub fn load_from(&self, from: &mut dyn io::Read) -> Result<()> {
        streams::read(&self.owner, from, |read, user_data| {
            // SAFETY: handles are valid; the stream lives during the call.
            unsafe { sys::dlcore_checkpoint_read(self.owner.raw(), self.raw(), read, user_data) }
        })
    }

    /// Loads from memory.
    pub fn load_bytes(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: the pointer goes with its length.
        self.owner.check(unsafe {
            sys::dlcore_checkpoint_load_buffer(
                self.owner.raw(),
                self.raw(),
                bytes.as_ptr().cast(),
                bytes.len() as u64,
            )
        })
    }

    /// After a load: why what follows may differ from the training that was saved; "" when it does not.
    pub fn warning(&self) -> String {
        // SAFETY: the text is copied at once.
        unsafe { borrowed(sys::dlcore_checkpoint_warning(self.raw())).to_string() }
    }
}
