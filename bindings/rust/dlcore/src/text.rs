// SPDX-License-Identifier: Apache-2.0
//! Text crossing into C and out of it, always as UTF-8.

use crate::{Error, Result};
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;

/// Text that belongs to a handle; "" for NULL.
///
/// # Safety
/// `text` is NULL or a C string that outlives what is done with the result.
pub(crate) unsafe fn borrowed<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    CStr::from_ptr(text).to_str().unwrap_or("(text that is not UTF-8)")
}

/// A name or path for C.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid(format!("{what}: {text:?} has a zero character in it")))
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    let text = path.to_str().ok_or_else(|| Error::invalid(format!("path {path:?} is not UTF-8")))?;
    c_string("path", text)
}

/// Text by the two-call pattern: `fill` gets a buffer and its size, and answers with the bytes needed, including the
/// NUL, or -1. None on failure.
pub(crate) fn two_calls(mut fill: impl FnMut(*mut c_char, i64) -> i64) -> Option<String> {
    let needed = usize::try_from(fill(std::ptr::null_mut(), 0)).ok()?;
    let mut bytes = vec![0u8; needed];
    if fill(bytes.as_mut_ptr().cast(), needed as i64) < 0 {
        return None;
    }
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(needed));
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
