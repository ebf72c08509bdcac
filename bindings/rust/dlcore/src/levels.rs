// SPDX-License-Identifier: Apache-2.0
//! Levels of a context: forward mode and vectorisation. They nest as a stack.

use crate::key::Key;
use crate::variable::operand_of;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;

struct Level {
    raw: *mut sys::dlcore_transform,
    key: Key,
}

impl Level {
    fn new(raw: *mut sys::dlcore_transform, key: Key) -> Result<Level> {
        if raw.is_null() {
            return Err(Error::taken(key));
        }
        Ok(Level { raw, key })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        // SAFETY: the level is open; the library refuses one that is not the innermost.
        let status = unsafe { sys::dlcore_transform_close(self.key.raw(), self.raw) };
        if status != sys::DLCORE_OK {
            drop(Error::taken(self.key));
        }
    }
}

/// A level of forward mode: tensors lifted into it carry a tangent. It ends when it is dropped.
///
/// [`jvp`](crate::autograd::jvp) is the short form.
pub struct Forward(Level);

impl Forward {
    pub(crate) fn open(key: Key) -> Result<Forward> {
        // SAFETY: the context is valid or NULL.
        Level::new(unsafe { sys::dlcore_jvp_open(key.raw()) }, key).map(Forward)
    }

    /// Opens a level on a context.
    pub fn new(context: &crate::Context) -> Result<Forward> {
        Forward::open(context.key())
    }

    /// `primal` moving along `tangent`, which has the same dtype and shape.
    pub fn lift(&self, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
        operand_of(self.0.key, primal)?;
        let ctx = operand_of(self.0.key, tangent)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_jvp_lift(ctx, self.0.raw, primal.raw(), tangent.raw()), self.0.key) }
    }

    /// The value of a result.
    pub fn primal(&self, tensor: &Tensor) -> Result<Tensor> {
        let ctx = operand_of(self.0.key, tensor)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_jvp_primal(ctx, self.0.raw, tensor.raw()), self.0.key) }
    }

    /// How fast a result changes; zeros when it does not depend on a lifted tensor.
    pub fn tangent(&self, tensor: &Tensor) -> Result<Tensor> {
        let ctx = operand_of(self.0.key, tensor)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_jvp_tangent(ctx, self.0.raw, tensor.raw()), self.0.key) }
    }
}

/// A level over independent examples: tensors lifted into it have one axis more, which ops do not see. It ends when it
/// is dropped.
///
/// [`vmap`](crate::autograd::vmap) is the short form.
pub struct Vectorised(Level);

impl Vectorised {
    pub(crate) fn open(key: Key, size: i64) -> Result<Vectorised> {
        // SAFETY: the context is valid or NULL.
        Level::new(unsafe { sys::dlcore_vmap_open(key.raw(), size) }, key).map(Vectorised)
    }

    /// Opens a level over `size` examples on a context.
    pub fn new(context: &crate::Context, size: i64) -> Result<Vectorised> {
        Vectorised::open(context.key(), size)
    }

    /// `tensor` seen without its axis `axis`, along which the examples are.
    pub fn lift(&self, tensor: &Tensor, axis: i64) -> Result<Tensor> {
        let ctx = operand_of(self.0.key, tensor)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_vmap_lift(ctx, self.0.raw, tensor.raw(), axis), self.0.key) }
    }

    /// A result with the examples put back as axis `axis`.
    pub fn lower(&self, tensor: &Tensor, axis: i64) -> Result<Tensor> {
        let ctx = operand_of(self.0.key, tensor)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_vmap_lower(ctx, self.0.raw, tensor.raw(), axis), self.0.key) }
    }
}
