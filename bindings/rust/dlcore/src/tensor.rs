// SPDX-License-Identifier: Apache-2.0
//! Immutable values.

use crate::context::Context;
use crate::key::Key;
use crate::text::{borrowed, two_calls};
use crate::{Dtype, Error, Result};
use dlcore_sys as sys;
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::ops::Deref;
use std::ptr::NonNull;

/// An immutable value: dtype, shape, strides, device, elements.
///
/// Cloning, and sending to other threads, share the elements. Methods run on the context that made the tensor; another
/// thread takes it over with [`Tensor::on`]. Every op of the catalogue whose first operand is a tensor is a method:
/// `x.sum()` with defaults, `x.sum_with(SumOptions::new().axes([1]))` with options.
pub struct Tensor {
    raw: NonNull<sys::dlcore_tensor>,
    key: Key,
}

// SAFETY: the library lets any thread use and release a tensor; that a context serves one call at a time it checks
// itself, and answers with an error.
unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Drop for Tensor {
    #[inline]
    fn drop(&mut self) {
        if self.key.is_failed() {
            self.key.let_go();
        } else {
            // SAFETY: gives up the reference that `raw` is.
            unsafe { sys::dlcore_tensor_release(self.raw.as_ptr()) };
        }
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        // SAFETY: the handle is valid; the clone owns what retain adds.
        unsafe { sys::dlcore_tensor_retain(self.raw.as_ptr()) };
        Tensor { raw: self.raw, key: self.key.shared() }
    }
}

impl Tensor {
    /// A tensor of a context, or the error that explains why there is none.
    ///
    /// # Safety
    /// `raw` is NULL or a reference that the caller owns.
    #[inline]
    pub(crate) unsafe fn made(raw: *mut sys::dlcore_tensor, key: Key) -> Result<Tensor> {
        match NonNull::new(raw) {
            Some(raw) => Ok(Tensor { raw, key }),
            None => Err(Error::taken(key)),
        }
    }

    /// # Safety
    /// `raw` is a reference that the caller owns.
    #[inline]
    pub(crate) unsafe fn owned(raw: NonNull<sys::dlcore_tensor>, key: Key) -> Tensor {
        Tensor { raw, key }
    }

    /// A reference of its own to a borrowed tensor.
    ///
    /// # Safety
    /// `raw` is NULL or a tensor that lives during the call.
    pub(crate) unsafe fn retained(raw: *mut sys::dlcore_tensor, key: Key) -> Option<Tensor> {
        let raw = NonNull::new(raw)?;
        sys::dlcore_tensor_retain(raw.as_ptr());
        Some(Tensor { raw, key })
    }

    /// What an operator gives that failed: the error travels in it to the next call that returns a Result.
    pub(crate) fn failed(error: Error) -> Tensor {
        // SAFETY: a static address, never NULL.
        let raw = unsafe { NonNull::new_unchecked(sys::dlcore_tensor_none()) };
        Tensor { raw, key: Key::failed(error) }
    }

    /// Gives up the reference without releasing it: it becomes the library's.
    pub(crate) fn into_raw(self) -> *mut sys::dlcore_tensor {
        std::mem::ManuallyDrop::new(self).raw()
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::dlcore_tensor {
        self.raw.as_ptr()
    }

    #[inline]
    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// Itself, or the error of the operator that made it. See [operators](crate::operators).
    pub fn check(self) -> Result<Tensor> {
        match self.key.failure() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The same tensor for use on another context: that of another thread, say.
    pub fn on(&self, context: &Context) -> Tensor {
        let mut other = self.clone();
        if !self.key.is_failed() {
            other.key = context.key();
        }
        other
    }

    /// Its dtype; [`Dtype::None`] only of a failed operator's result.
    pub fn dtype(&self) -> Dtype {
        // SAFETY: the handle is valid.
        Dtype::from_raw(unsafe { sys::dlcore_tensor_dtype(self.raw()) })
    }

    /// Number of its axes.
    pub fn rank(&self) -> usize {
        // SAFETY: the handle is valid.
        usize::try_from(unsafe { sys::dlcore_tensor_rank(self.raw()) }).unwrap_or(0)
    }

    /// Number of its elements; 0 also when that is not known yet, in a capture.
    pub fn count(&self) -> usize {
        // SAFETY: the handle is valid.
        usize::try_from(unsafe { sys::dlcore_tensor_count(self.raw()) }).unwrap_or(0)
    }

    /// Size along an axis, which counts from the end when negative; -1 when there is no such axis, or its size is not
    /// known yet.
    pub fn dim(&self, axis: i32) -> i64 {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_tensor_dim(self.raw(), axis) }
    }

    /// Its sizes.
    pub fn shape(&self) -> Shape {
        let mut shape = Shape { sizes: [0; 16], rank: self.rank() };
        for axis in 0..shape.rank {
            shape.sizes[axis] = self.dim(axis as i32);
        }
        shape
    }

    /// All that is known of it.
    pub fn describe(&self) -> Result<Description> {
        let mut raw = MaybeUninit::<sys::dlcore_tensor_description>::zeroed();
        // SAFETY: plain data, for which zeros are valid; the library fills in as much as struct_size says.
        let (status, d) = unsafe {
            (*raw.as_mut_ptr()).struct_size = size_of::<sys::dlcore_tensor_description>() as u32;
            let status = sys::dlcore_tensor_describe(self.key.raw(), self.raw(), raw.as_mut_ptr());
            (status, raw.assume_init())
        };
        if status != sys::DLCORE_OK {
            return Err(Error::taken(self.key));
        }
        let rank = d.rank as usize;
        Ok(Description {
            dtype: Dtype::from_raw(d.dtype),
            shape: d.shape[..rank].to_vec(),
            strides: d.strides[..rank].to_vec(),
            bytes: d.bytes,
            is_weak: d.is_weak != 0,
            is_contiguous: d.is_contiguous != 0,
            requires_grad: d.requires_grad != 0,
            is_symbolic: d.is_symbolic != 0,
            // SAFETY: a C string within the description.
            device: unsafe { borrowed(d.device.as_ptr()) }.to_string(),
        })
    }

    /// The same values on another device of the engine; itself when it is there already.
    pub fn to_device(&self, device: &str) -> Result<Tensor> {
        let device = crate::engine::c_device(device)?;
        // SAFETY: all arguments are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_tensor_to_device(self.key.raw(), self.raw(), device.as_ptr()), self.key) }
    }
}

/// Sizes of a tensor; a slice of `i64`.
#[derive(Clone, Copy)]
pub struct Shape {
    sizes: [i64; 16],
    rank: usize,
}

impl Deref for Shape {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.sizes[..self.rank]
    }
}

impl AsRef<[i64]> for Shape {
    fn as_ref(&self) -> &[i64] {
        self
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: AsRef<[i64]>> PartialEq<T> for Shape {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

/// What [`Tensor::describe`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Type of its elements.
    pub dtype: Dtype,
    /// A size that is not known yet, in a capture, is -1.
    pub shape: Vec<i64>,
    /// In elements.
    pub strides: Vec<i64>,
    /// Bytes of its elements.
    pub bytes: u64,
    /// A scalar that takes the dtype of what it meets.
    pub is_weak: bool,
    /// Row-major without gaps.
    pub is_contiguous: bool,
    /// Has history, or is a leaf.
    pub requires_grad: bool,
    /// A value of a graph that is being captured: it has no elements.
    pub is_symbolic: bool,
    /// Name of the device that it is on.
    pub device: String,
}

/// Dtype, shape, device and the first elements.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the buffer has the size that is told.
        let text = two_calls(|buffer, size| unsafe {
            sys::dlcore_tensor_to_string(self.key.raw(), self.raw(), buffer, size)
        });
        match text {
            Some(text) => f.write_str(&text),
            None => write!(f, "Tensor({})", Error::taken(self.key)),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
