// SPDX-License-Identifier: Apache-2.0
//! Named cells that hold a tensor.

use crate::context::{Context, Owner};
use crate::key::Key;
use crate::text::{borrowed, c_string};
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::fmt;
use std::ptr::{self, NonNull};

/// A named, mutable cell that holds a tensor: a parameter, a running statistic, a learning rate.
///
/// Reading, assigning and accumulating are atomic, from any thread. Clones are the same cell.
pub struct Variable {
    raw: NonNull<sys::dlcore_variable>,
    owner: Owner,
}

handle!(Variable, dlcore_variable, dlcore_variable_retain, dlcore_variable_release);

impl Variable {
    /// A variable that starts with `value`.
    pub fn new(context: &Context, name: &str, value: &Tensor) -> Result<Variable> {
        Variable::create(context, name, value, 0)
    }

    /// The same, but gradients are accumulated in it and optimizers change it.
    pub fn trainable(context: &Context, name: &str, value: &Tensor) -> Result<Variable> {
        Variable::create(context, name, value, sys::DLCORE_VARIABLE_TRAINABLE as u64)
    }

    fn create(context: &Context, name: &str, value: &Tensor, flags: u64) -> Result<Variable> {
        let name = c_string("variable", name)?;
        let ctx = operand_of(context.key(), value)?;
        // SAFETY: all arguments are valid; the result is ours.
        let raw =
            context.owner.made(unsafe { sys::dlcore_variable_create(ctx, name.as_ptr(), value.raw(), flags) })?;
        Ok(Variable { raw, owner: context.owner.clone() })
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        // SAFETY: the name lives as long as the variable.
        unsafe { borrowed(sys::dlcore_variable_name(self.raw.as_ptr())) }
    }

    /// Whether gradients are accumulated in it and optimizers change it.
    pub fn is_trainable(&self) -> bool {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_variable_is_trainable(self.raw.as_ptr()) == 1 }
    }

    /// Freezes it, or lets it train again.
    pub fn set_trainable(&self, trainable: bool) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe {
            sys::dlcore_variable_set_trainable(self.owner.raw(), self.raw.as_ptr(), trainable.into())
        })
    }

    /// Its value. While recording, that of a trainable variable is a leaf of the history.
    pub fn value(&self) -> Result<Tensor> {
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_variable_read(self.owner.raw(), self.raw.as_ptr()), self.owner.key()) }
    }

    /// Stores a value of the same dtype and shape, without its history.
    pub fn assign(&self, value: &Tensor) -> Result<()> {
        let ctx = operand_of(self.owner.key(), value)?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_variable_assign(ctx, self.raw.as_ptr(), value.raw()) })
    }

    /// Adds to the value.
    pub fn accumulate(&self, value: &Tensor) -> Result<()> {
        let ctx = operand_of(self.owner.key(), value)?;
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_variable_accumulate(ctx, self.raw.as_ptr(), value.raw()) })
    }

    /// The gradient that [`Tensor::backward`] accumulated, if there is one.
    pub fn gradient(&self) -> Result<Option<Tensor>> {
        let ctx = self.owner.raw();
        // SAFETY: handles are valid; the result is ours.
        unsafe {
            let raw = sys::dlcore_variable_gradient(ctx, self.raw.as_ptr());
            if raw.is_null() && !ctx.is_null() && sys::dlcore_ok(ctx) == 1 {
                return Ok(None);
            }
            Tensor::made(raw, self.owner.key()).map(Some)
        }
    }

    /// Sets the gradient, or forgets it.
    pub fn set_gradient(&self, gradient: Option<&Tensor>) -> Result<()> {
        let (ctx, raw) = match gradient {
            Some(gradient) => (operand_of(self.owner.key(), gradient)?, gradient.raw()),
            None => (self.owner.raw(), ptr::null_mut()),
        };
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_variable_set_gradient(ctx, self.raw.as_ptr(), raw) })
    }
}

/// The context of a call that takes a tensor beside its receiver, or why they do not go together.
pub(crate) fn operand_of(key: Key, tensor: &Tensor) -> Result<*mut sys::dlcore_context> {
    if tensor.key() == key {
        return Ok(key.raw());
    }
    Err(tensor.key().failure().unwrap_or_else(|| {
        Error::invalid("the tensor belongs to another context than what it is given to; use t.on(&context)")
    }))
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variable({:?})", self.name())
    }
}
