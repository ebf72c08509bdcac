// SPDX-License-Identifier: Apache-2.0
//! Tensors in files and buffers, in the safetensors format.

use crate::context::{Context, Owner};
use crate::streams;
use crate::text::{borrowed, c_path, c_string};
use crate::variable::operand_of;
use crate::{Result, Tensor};
use dlcore_sys as sys;
use std::ffi::CString;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

/// A safetensors file, or a copy of a buffer.
pub struct Archive {
    raw: NonNull<sys::dlcore_archive>,
    owner: Owner,
}

handle!(Archive, dlcore_archive, dlcore_archive_retain, dlcore_archive_release);

impl Archive {
    /// Opens a file.
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Archive> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the path lives during the call; the result is ours.
        unsafe { Archive::owned(&context.owner, sys::dlcore_archive_open(context.raw(), path.as_ptr())) }
    }

    /// Opens a copy of a buffer.
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Archive> {
        // SAFETY: the pointer goes with its length; the result is ours.
        unsafe {
            let raw = sys::dlcore_archive_open_buffer(context.raw(), bytes.as_ptr().cast(), bytes.len() as u64);
            Archive::owned(&context.owner, raw)
        }
    }

    /// Reads a stream to its end.
    pub fn read_from(context: &Context, from: &mut dyn io::Read) -> Result<Archive> {
        streams::read_with(from, |read, user_data| {
            // SAFETY: the stream lives during the call; the result is ours.
            unsafe {
                let raw = sys::dlcore_archive_open_stream(context.raw(), read, user_data);
                Archive::owned(&context.owner, raw)
            }
        })
    }

    /// Names of its tensors, sorted.
    pub fn names(&self) -> Vec<String> {
        // SAFETY: names live as long as the archive, and are copied.
        unsafe {
            let count = sys::dlcore_archive_count(self.raw());
            (0..count).map(|i| borrowed(sys::dlcore_archive_name(self.raw(), i)).to_string()).collect()
        }
    }

    /// A tensor, on the context's device.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let name = c_string("name", name)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe {
            let raw = sys::dlcore_archive_tensor(self.owner.raw(), self.raw(), name.as_ptr());
            Tensor::made(raw, self.owner.key())
        }
    }

    /// Writes tensors under their names; the file is replaced as a whole or not at all.
    pub fn save(context: &Context, path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
        let path = c_path(path.as_ref())?;
        with_arrays(context, tensors, |names, handles, count| {
            // SAFETY: arrays go with their length.
            let saved = unsafe { sys::dlcore_archive_save(context.raw(), path.as_ptr(), names, handles, count) };
            context.owner.check(saved)
        })
    }

    /// Writes tensors under their names to a stream.
    pub fn save_to(context: &Context, to: &mut dyn io::Write, tensors: &[(&str, &Tensor)]) -> Result<()> {
        with_arrays(context, tensors, |names, handles, count| {
            streams::write(&context.owner, to, |write, user_data| {
                // SAFETY: arrays go with their length; the stream lives during the call.
                unsafe { sys::dlcore_archive_write(context.raw(), write, user_data, names, handles, count) }
            })
        })
    }
}

fn with_arrays(
    context: &Context,
    tensors: &[(&str, &Tensor)],
    call: impl FnOnce(*const *const std::os::raw::c_char, *const *mut sys::dlcore_tensor, i64) -> Result<()>,
) -> Result<()> {
    let texts = tensors.iter().map(|(name, _)| c_string("name", name)).collect::<Result<Vec<CString>>>()?;
    for (_, tensor) in tensors {
        operand_of(context.key(), tensor)?;
    }
    let names: Vec<_> = texts.iter().map(|name| name.as_ptr()).collect();
    let handles: Vec<_> = tensors.iter().map(|(_, tensor)| tensor.raw()).collect();
    call(names.as_ptr(), handles.as_ptr(), tensors.len() as i64)
}
