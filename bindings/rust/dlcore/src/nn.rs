// SPDX-License-Identifier: Apache-2.0
//! Layers and models.
//!
//! ```
//! # use dlcore::{nn, Context, Result};
//! # fn main() -> Result<()> {
//! let dl = Context::open("cpu")?.seed(42);
//! let model = nn::Sequential::new(&dl, (
//!     nn::Linear::new(&dl, 4, 8)?,
//!     nn::ReLU::new(&dl)?,
//!     nn::Linear::new(&dl, 8, 2)?,
//! ))?;
//! let scores = model.call(&dl.tensor([0.5f32; 4], [1, 4])?)?;
//! assert_eq!(scores.shape(), [1, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! Every layer of the catalogue is a type that dereferences to [`Module`]. `new` takes what has no default; `with` takes
//! options, too. Initial values follow from the seed of the context, the number of the model among the modules made
//! through it, and the path of the parameter.

pub use crate::generated::layers::*;

use crate::context::{Context, Owner};
use crate::streams;
use crate::text::{borrowed, c_path, c_string, two_calls};
use crate::variable::Variable;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::fmt;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

/// A layer or a model.
///
/// Clones are the same module. It may be used from any number of threads: [`Module::call`] runs on the context of its
/// input, everything else on the context that made the module, or the one that [`Module::on`] names.
pub struct Module {
    raw: NonNull<sys::dlcore_module>,
    owner: Owner,
}

handle!(Module, dlcore_module, dlcore_module_retain, dlcore_module_release);

impl Module {
    pub(crate) fn create(context: &Context, layer: i32, children: Vec<Module>, words: &[i64]) -> Result<Module> {
        let handles: Vec<_> = children.iter().map(Module::raw).collect();
        // SAFETY: arrays go with their lengths; the result is ours.
        unsafe {
            let raw = sys::dlcore_module_create(
                context.raw(),
                layer,
                handles.as_ptr(),
                handles.len() as i64,
                words.as_ptr(),
                words.len() as i64,
            );
            Module::owned(&context.owner, raw)
        }
    }

    /// What it answers to `x`.
    #[inline]
    pub fn call(&self, x: &Tensor) -> Result<Tensor> {
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_module_call(x.key().raw(), self.raw(), x.raw()), x.key()) }
    }

    /// Name of its layer: `Linear`.
    pub fn kind(&self) -> &str {
        // SAFETY: the name lives as long as the module.
        unsafe { borrowed(sys::dlcore_module_kind(self.raw())) }
    }

    /// The modules that it is made of.
    pub fn children(&self) -> Vec<Module> {
        // SAFETY: the handle is valid; children are borrowed.
        unsafe {
            (0..sys::dlcore_module_child_count(self.raw()))
                .filter_map(|i| Module::borrowed(&self.owner, sys::dlcore_module_child(self.raw(), i)).ok())
                .collect()
        }
    }

    /// One of the modules that it is made of.
    pub fn child(&self, index: i64) -> Result<Module> {
        // SAFETY: the handle is valid; the child is borrowed.
        let raw = unsafe { sys::dlcore_module_child(self.raw(), index) };
        if raw.is_null() {
            // SAFETY: the handle is valid.
            let count = unsafe { sys::dlcore_module_child_count(self.raw()) };
            return Err(Error::invalid(format!(
                "{}: no such child: index is {index}, expected 0 to {}",
                self.kind(),
                count - 1
            )));
        }
        // SAFETY: it lives as long as its parent, which `self` holds.
        unsafe { Module::borrowed(&self.owner, raw) }
    }

    /// Its variables and those of everything inside it, with their paths (`0.weight`), in the order of their
    /// definition.
    pub fn variables(&self) -> Result<Vec<(String, Variable)>> {
        let ctx = self.owner.raw();
        // SAFETY: handles are valid; variables are borrowed.
        unsafe {
            (0..sys::dlcore_module_variable_count(self.raw()))
                .map(|i| {
                    let variable = sys::dlcore_module_variable(ctx, self.raw(), i);
                    let variable = Variable::borrowed(&self.owner, variable)?;
                    let path =
                        two_calls(|buffer, size| sys::dlcore_module_variable_path(ctx, self.raw(), i, buffer, size));
                    Ok((path.ok_or_else(|| Error::taken(self.owner.key()))?, variable))
                })
                .collect()
        }
    }

    /// The trainable variables, for an optimizer. Empty when the module's context is closed.
    pub fn parameters(&self) -> Vec<Variable> {
        let all = self.variables().unwrap_or_default();
        all.into_iter().map(|(_, variable)| variable).filter(Variable::is_trainable).collect()
    }

    /// The variable at a path.
    pub fn find(&self, path: &str) -> Result<Variable> {
        let path = c_string("path", path)?;
        // SAFETY: handles are valid; the variable is borrowed.
        unsafe {
            Variable::borrowed(&self.owner, sys::dlcore_module_find(self.owner.raw(), self.raw(), path.as_ptr()))
        }
    }

    /// Switches it and everything inside it to training mode, or back.
    pub fn train(&self, on: bool) -> Result<()> {
        // SAFETY: handles are valid.
        let before = unsafe { sys::dlcore_module_set_training(self.owner.raw(), self.raw(), on.into()) };
        if before < 0 {
            return Err(Error::taken(self.owner.key()));
        }
        Ok(())
    }

    /// A module that answers for ever as this one would now in inference mode, while training goes on. Nothing is
    /// copied; no step is in it by half.
    pub fn snapshot(&self) -> Result<Module> {
        // SAFETY: handles are valid; the result is ours.
        unsafe { Module::owned(&self.owner, sys::dlcore_module_snapshot(self.owner.raw(), self.raw())) }
    }

    /// Saves all variables as safetensors; the file is replaced as a whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_module_save(self.owner.raw(), self.raw(), path.as_ptr()) })
    }

    /// Loads what [`Module::save`] wrote; nothing changes on failure.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_module_load(self.owner.raw(), self.raw(), path.as_ptr()) })
    }

    /// Saves to a stream.
    pub fn save_to(&self, to: &mut dyn io::Write) -> Result<()> {
        streams::write(&self.owner, to, |write, user_data| {
            // SAFETY: handles are valid; the stream lives during the call.
            unsafe { sys::dlcore_module_write(self.owner.raw(), self.raw(), write, user_data) }
        })
    }

    /// Loads from a stream.
    pub fn load_from(&self, from: &mut dyn io::Read) -> Result<()> {
        streams::read(&self.owner, from, |read, user_data| {
            // SAFETY: handles are valid; the stream lives during the call.
            unsafe { sys::dlcore_module_read(self.owner.raw(), self.raw(), read, user_data) }
        })
    }

    /// Loads from memory.
    pub fn load_bytes(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: the pointer goes with its length.
        self.owner.check(unsafe {
            sys::dlcore_module_load_buffer(self.owner.raw(), self.raw(), bytes.as_ptr().cast(), bytes.len() as u64)
        })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple(self.kind());
        self.children().iter().for_each(|child| {
            shown.field(child);
        });
        shown.finish()
    }
}

/// Modules in a row: a tuple of layers, an array, or a `Vec` of them.
pub trait Layers {
    /// The modules.
    fn modules(self) -> Vec<Module>;
}

impl<M: Into<Module>> Layers for Vec<M> {
    fn modules(self) -> Vec<Module> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<M: Into<Module>, const N: usize> Layers for [M; N] {
    fn modules(self) -> Vec<Module> {
        self.into_iter().map(Into::into).collect()
    }
}

impl Layers for () {
    fn modules(self) -> Vec<Module> {
        Vec::new()
    }
}

macro_rules! layers {
    ($($name:ident)*) => {
        layers!(@ $($name)*);
    };
    (@) => {};
    (@ $first:ident $($rest:ident)*) => {
        impl<$first: Into<Module>, $($rest: Into<Module>),*> Layers for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn modules(self) -> Vec<Module> {
                let ($first, $($rest,)*) = self;
                vec![$first.into(), $($rest.into()),*]
            }
        }
        layers!(@ $($rest)*);
    };
}

layers!(A B C D E F G H I J K L M N O P Q R S T);
