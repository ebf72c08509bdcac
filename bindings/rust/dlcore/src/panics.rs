// SPDX-License-Identifier: Apache-2.0
//! The border that callbacks cross: neither a panic nor an error gets lost or unwinds into C.

use crate::context::Context;
use crate::{Code, Error, Result};
use dlcore_sys as sys;
use std::any::Any;
use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A panic as an error with its text.
pub(crate) fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is the callback's own; the library only learns that it failed.
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| Err(Error::new(Code::Internal, text(&*payload))))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", said.unwrap_or("without a text"))
}

/// Runs a callback with the context that the library lends it. What goes wrong is left on that context, and so becomes
/// the cause of the caller's error.
///
/// # Safety
/// `ctx` is a context that lives during the call.
pub(crate) unsafe fn in_callback(
    ctx: *mut sys::dlcore_context,
    f: impl FnOnce(&Context) -> Result<()>,
) -> sys::dlcore_status {
    let done = caught(|| {
        let context = Context::lent(ctx)?;
        let done = f(&context);
        context.close(); // tensors that escaped find it closed
        done
    });
    match done {
        Ok(()) => sys::DLCORE_OK,
        Err(error) => {
            let message = CString::new(error.message().replace('\0', " ")).unwrap_or_default();
            sys::dlcore_context_set_error(ctx, error.code().raw(), message.as_ptr());
            error.code().raw()
        }
    }
}
