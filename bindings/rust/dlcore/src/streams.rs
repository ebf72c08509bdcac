// SPDX-License-Identifier: Apache-2.0
//! Reading and writing through streams of the program.

use crate::context::Owner;
use crate::panics::caught;
use crate::{Error, Result};
use dlcore_sys as sys;
use std::io::{ErrorKind, Read, Write};
use std::os::raw::c_void;

/// A stream while the library uses it, and what went wrong with it.
struct Stream<S> {
    stream: S,
    error: Option<Error>,
}

impl<S> Stream<S> {
    /// The error of a call that failed: the library's, led to by the stream's.
    fn outcome(self, done: Result<()>) -> Result<()> {
        match (done, self.error) {
            (Err(error), Some(cause)) => Err(error.caused_by(cause)),
            (done, _) => done,
        }
    }
}

/// Hands a stream to a call of the library as a function that writes.
pub(crate) fn write(
    owner: &Owner,
    to: &mut dyn Write,
    call: impl FnOnce(sys::dlcore_write_fn, *mut c_void) -> sys::dlcore_status,
) -> Result<()> {
    let mut stream = Stream { stream: to, error: None };
    let status = call(Some(written), (&mut stream as *mut Stream<&mut dyn Write>).cast());
    let mut done = owner.check(status);
    if done.is_ok() {
        done = stream.stream.flush().map_err(Error::from);
    }
    stream.outcome(done)
}

unsafe extern "C" fn written(user_data: *mut c_void, data: *const c_void, size: u64) -> sys::dlcore_status {
    let stream = &mut *user_data.cast::<Stream<&mut dyn Write>>();
    let bytes: &[u8] = if size == 0 { &[] } else { std::slice::from_raw_parts(data.cast(), size as usize) };
    match caught(|| Ok(stream.stream.write_all(bytes)?)) {
        Ok(()) => sys::DLCORE_OK,
        Err(error) => {
            let code = error.code().raw();
            stream.error = Some(error);
            code
        }
    }
}

/// Hands a stream to a call of the library as a function that reads.
pub(crate) fn read(
    owner: &Owner,
    from: &mut dyn Read,
    call: impl FnOnce(sys::dlcore_read_fn, *mut c_void) -> sys::dlcore_status,
) -> Result<()> {
    read_with(from, |read, user_data| owner.check(call(read, user_data)))
}

/// The same for a call that makes something.
pub(crate) fn read_with<T>(
    from: &mut dyn Read,
    call: impl FnOnce(sys::dlcore_read_fn, *mut c_void) -> Result<T>,
) -> Result<T> {
    let mut stream = Stream { stream: from, error: None };
    let made = call(Some(filled), (&mut stream as *mut Stream<&mut dyn Read>).cast());
    made.map_err(|error| match stream.error {
        Some(cause) => error.caused_by(cause),
        None => error,
    })
}

unsafe extern "C" fn filled(user_data: *mut c_void, buffer: *mut c_void, size: u64) -> i64 {
    let stream = &mut *user_data.cast::<Stream<&mut dyn Read>>();
    // A program's `Read` may look at what it is given, so that must be initialised.
    std::ptr::write_bytes(buffer.cast::<u8>(), 0, size as usize);
    let buffer = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size as usize);
    let read = caught(|| loop {
        match stream.stream.read(buffer) {
            Ok(count) if count > buffer.len() => {
                return Err(Error::invalid(format!("read: more than there is room for: {count} of {size} bytes")))
            }
            Ok(count) => return Ok(count as i64),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        }
    });
    read.unwrap_or_else(|error| {
        let code = error.code().raw();
        stream.error = Some(error);
        -i64::from(code)
    })
}
