// SPDX-License-Identifier: Apache-2.0
//! Elements shared without a copy: as slices, and with other libraries of the process by
//! [DLPack](https://dmlc.github.io/dlpack/latest/c_api.html).

use crate::context::Context;
use crate::{Code, Dtype, Element, Error, Result, Tensor};
use dlcore_sys as sys;
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::raw::c_void;
use std::ptr::NonNull;

/// `DLManagedTensorVersioned` of DLPack 1.0.
#[repr(C)]
struct Managed {
    version: [u32; 2],
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    data: *mut c_void,
    device: [i32; 2],
    rank: i32,
    dtype: [u8; 4],
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// A `DLManagedTensorVersioned *` that shares a tensor's elements and keeps them alive. They are read-only.
pub struct DlPack(NonNull<Managed>);

// SAFETY: the elements are immutable, and the library lets the deleter run on any thread.
unsafe impl Send for DlPack {}
unsafe impl Sync for DlPack {}

impl DlPack {
    fn of(tensor: &Tensor, flags: i32) -> Result<DlPack> {
        let mut address = 0;
        // SAFETY: handles are valid; the result is ours.
        let status =
            unsafe { sys::dlcore_tensor_to_dlpack(tensor.key().raw(), tensor.raw(), flags as u64, &mut address) };
        match NonNull::new(address as usize as *mut Managed) {
            Some(raw) if status == sys::DLCORE_OK => Ok(DlPack(raw)),
            _ => Err(Error::taken(tensor.key())),
        }
    }

    /// The address, for a library that takes it over and calls its deleter.
    pub fn into_raw(self) -> *mut c_void {
        std::mem::ManuallyDrop::new(self).0.as_ptr().cast()
    }
}

impl Drop for DlPack {
    fn drop(&mut self) {
        // SAFETY: it is ours, and its deleter is called once.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// Elements of a tensor in host memory, without a copy where they lie in row-major order: a slice.
pub struct View<T> {
    managed: DlPack,
    count: usize,
    element: PhantomData<T>,
}

impl<T> Deref for View<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the export is contiguous, of this dtype (Tensor::view checks it), and lives as long as `self`;
        // nobody writes to elements of a tensor.
        unsafe {
            let managed = self.managed.0.as_ref();
            if self.count == 0 {
                return &[];
            }
            let data = managed.data.cast::<u8>().add(managed.byte_offset as usize);
            std::slice::from_raw_parts(data.cast(), self.count)
        }
    }
}

impl Tensor {
    /// The elements as a slice, without a copy where they lie in row-major order. `T` is the tensor's dtype; of
    /// booleans there is no view, since Rust's are no bytes.
    pub fn view<T: Element>(&self) -> Result<View<T>> {
        if self.dtype() != T::DTYPE || T::DTYPE == Dtype::Bool {
            return Err(self.key().failure().unwrap_or_else(|| {
                Error::new(
                    Code::InvalidArgument,
                    format!(
                        "view: elements have another type: dtype is {}, expected {}",
                        self.dtype().name(),
                        T::DTYPE.name()
                    ),
                )
            }));
        }
        let managed = DlPack::of(self, sys::DLCORE_DLPACK_CONTIGUOUS)?;
        Ok(View { managed, count: self.count(), element: PhantomData })
    }

    /// Shares the elements with another library of the process.
    pub fn to_dlpack(&self) -> Result<DlPack> {
        DlPack::of(self, 0)
    }
}

impl Context {
    /// A tensor with a copy of the elements of a `DLManagedTensorVersioned *`, or with the elements themselves when
    /// they are borrowed. It takes the managed tensor over.
    ///
    /// # Safety
    /// `managed` is such an address in host memory, owned by the caller; nobody writes to borrowed elements from now on.
    pub unsafe fn from_dlpack(&self, managed: *mut c_void, borrow: bool) -> Result<Tensor> {
        let flags = if borrow { sys::DLCORE_DLPACK_BORROW as u64 } else { 0 };
        Tensor::made(sys::dlcore_tensor_from_dlpack(self.raw(), managed as usize as u64, flags), self.key())
    }
}
