// SPDX-License-Identifier: Apache-2.0
//! Elements from slices, and back.

use crate::context::Context;
use crate::element::sealed::Sealed;
use crate::{Dtype, Element, Error, Result, Tensor};
use dlcore_sys as sys;
use std::mem::size_of_val;

impl Context {
    /// A tensor with a copy of `data`, in row-major order.
    ///
    /// ```
    /// # use dlcore::{Context, Result};
    /// # fn main() -> Result<()> {
    /// let dl = Context::open("cpu")?;
    /// let x = dl.tensor([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    /// assert_eq!(x.permute_dims([1, 0])?.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tensor<T: Element>(&self, data: impl AsRef<[T]>, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let data = data.as_ref();
        // SAFETY: the elements of a slice are initialised, and have no padding.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) };
        self.tensor_from_bytes(T::DTYPE, shape, bytes)
    }

    /// A tensor of any dtype with a copy of its bytes, in row-major order.
    pub fn tensor_from_bytes(&self, dtype: Dtype, shape: impl AsRef<[i64]>, bytes: &[u8]) -> Result<Tensor> {
        let shape = shape.as_ref();
        // SAFETY: pointers go with their lengths; the result is ours.
        unsafe {
            let raw = sys::dlcore_tensor_create(
                self.raw(),
                dtype.number(),
                shape.as_ptr(),
                rank(shape),
                bytes.as_ptr().cast(),
                bytes.len() as u64,
            );
            Tensor::made(raw, self.key())
        }
    }

    /// A tensor from data laid out with strides (in elements; 0 repeats, negative ones go back): element (i, j, ...) is
    /// `data[offset + i * strides[0] + j * strides[1] + ...]`.
    pub fn tensor_strided<T: Element>(
        &self,
        data: &[T],
        shape: impl AsRef<[i64]>,
        strides: impl AsRef<[i64]>,
        offset: i64,
    ) -> Result<Tensor> {
        let (shape, strides) = (shape.as_ref(), strides.as_ref());
        if shape.len() != strides.len() {
            return Err(Error::invalid(format!(
                "tensor_strided: as many strides as sizes are needed: strides is {strides:?}, expected {} of them",
                shape.len()
            )));
        }
        // SAFETY: pointers go with their lengths; the library checks that every read lies within them.
        unsafe {
            let raw = sys::dlcore_tensor_create_strided(
                self.raw(),
                T::DTYPE.number(),
                shape.as_ptr(),
                strides.as_ptr(),
                rank(shape),
                data.as_ptr().cast(),
                data.len() as u64,
                offset,
            );
            Tensor::made(raw, self.key())
        }
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(&self, value: T) -> Result<Tensor> {
        self.tensor([value], [])
    }

    /// A tensor of rank 0 that takes the dtype of the operand it meets, as numbers beside tensors do.
    pub fn weak(&self, value: impl Into<Weak>) -> Result<Tensor> {
        // SAFETY: the context is valid or NULL; the result is ours.
        unsafe {
            let raw = match value.into() {
                Weak::I64(value) => sys::dlcore_tensor_weak_i64(self.raw(), value),
                Weak::F64(value) => sys::dlcore_tensor_weak_f64(self.raw(), value),
                Weak::Bool(value) => sys::dlcore_tensor_weak_bool(self.raw(), value.into()),
            };
            Tensor::made(raw, self.key())
        }
    }
}

/// A number of the language, which takes the dtype of the tensor it meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weak {
    /// An integer.
    I64(i64),
    /// A real.
    F64(f64),
    /// A truth value.
    Bool(bool),
}

macro_rules! weak {
    ($($rust:ty => $kind:ident),*) => {$(
        impl From<$rust> for Weak {
            #[inline]
            fn from(value: $rust) -> Weak {
                Weak::$kind(value.into())
            }
        }
    )*};
}

weak!(i64 => I64, i32 => I64, f64 => F64, f32 => F64, bool => Bool);

impl Tensor {
    /// All elements in row-major order, whatever the strides. `T` is the tensor's dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let mut data = vec![T::default(); self.count()];
        self.read_into(&mut data)?;
        Ok(data)
    }

    /// The same into a slice of exactly that many elements.
    pub fn read_into<T: Element>(&self, data: &mut [T]) -> Result<()> {
        // SAFETY: whatever is written is made valid for T, by `repair`, before the slice is used as elements again;
        // until then this is its only borrow.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u8>(), size_of_val(data));
            let done = self.read_bytes(T::DTYPE, bytes);
            <T as Sealed>::repair(bytes);
            done
        }
    }

    /// The bytes of all elements in row-major order. `dtype` is the tensor's.
    pub fn read_bytes(&self, dtype: Dtype, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the pointer goes with its length.
        let status = unsafe {
            sys::dlcore_tensor_read(
                self.key().raw(),
                self.raw(),
                dtype.number(),
                bytes.as_mut_ptr().cast(),
                bytes.len() as u64,
            )
        };
        if status == sys::DLCORE_OK {
            Ok(())
        } else {
            Err(Error::taken(self.key()))
        }
    }

    /// The element of a tensor that has one.
    pub fn item<T: Element>(&self) -> Result<T> {
        let mut value = [T::default()];
        self.read_into(&mut value)?;
        Ok(value[0])
    }
}

/// The library refuses what is too much.
fn rank(shape: &[i64]) -> i32 {
    i32::try_from(shape.len()).unwrap_or(i32::MAX)
}
