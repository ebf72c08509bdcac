// SPDX-License-Identifier: Apache-2.0
//! The types that elements of tensors have in Rust.

use crate::{Bf16, Dtype, F16};

/// A type of elements: what a slice must hold to become a tensor of [`Element::DTYPE`] and back.
///
/// Elements cross with the dtype they have: another one is an error, never a reinterpretation.
pub trait Element: Copy + Default + sealed::Sealed + 'static {
    /// The dtype of these elements.
    const DTYPE: Dtype;
}

pub(crate) mod sealed {
    /// # Safety
    /// The type has the size of its dtype, and all of its bit patterns are valid after `repair`.
    pub unsafe trait Sealed {
        /// Makes what a device wrote valid.
        fn repair(_bytes: &mut [u8]) {}
    }
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {$(
        // SAFETY: a number of the dtype's size; every bit pattern is valid.
        unsafe impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

elements!(u8 => U8, i8 => I8, i16 => I16, i32 => I32, i64 => I64, F16 => F16, Bf16 => Bf16, f32 => F32, f64 => F64);

// SAFETY: one byte, which `repair` makes 0 or 1.
unsafe impl sealed::Sealed for bool {
    fn repair(bytes: &mut [u8]) {
        for byte in bytes {
            *byte = u8::from(*byte != 0);
        }
    }
}

impl Element for bool {
    const DTYPE: Dtype = Dtype::Bool;
}
