// SPDX-License-Identifier: Apache-2.0
//! What can go wrong, as a value.

use crate::key::Key;
use crate::text::borrowed;
use crate::Code;
use dlcore_sys as sys;
use std::fmt;
use std::sync::Arc;

/// The result of whatever can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: a [`Code`], a message that names the argument and the values, the op, and what led to it.
///
/// Cloning is cheap. `Debug`, which is what a `main` that returns a [`Result`] prints, shows the code, the message and
/// the causes.
#[derive(Clone)]
pub struct Error(Arc<Parts>);

struct Parts {
    code: Code,
    message: String,
    op: String,
    cause: Option<Error>,
}

impl Error {
    /// An error of the program's own, for callbacks that fail.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error::with(code, message.into(), String::new(), None)
    }

    fn with(code: Code, message: String, op: String, cause: Option<Error>) -> Self {
        Error(Arc::new(Parts { code, message, op, cause }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidArgument, message)
    }

    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What is wrong, with the values.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Name of the op that failed, "" when the failing call was none.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// The error that led to this one.
    pub fn cause(&self) -> Option<&Error> {
        self.0.cause.as_ref()
    }

    /// The same, led to by another one, whose text it repeats.
    pub(crate) fn caused_by(self, cause: Error) -> Self {
        let message = format!("{}: {}", self.message(), cause.message());
        Error::with(self.code(), message, self.op().to_string(), Some(cause))
    }

    /// A copy of the library's error.
    ///
    /// # Safety
    /// `raw` is an error that lives during the call.
    unsafe fn copied(raw: *const sys::dlcore_error) -> Self {
        let cause = sys::dlcore_error_cause(raw);
        Error::with(
            Code::from_raw(sys::dlcore_error_code(raw)),
            borrowed(sys::dlcore_error_message(raw)).to_string(),
            borrowed(sys::dlcore_error_op(raw)).to_string(),
            if cause.is_null() { None } else { Some(Error::copied(cause)) },
        )
    }

    /// Takes over an error that the library handed out; None for NULL.
    ///
    /// # Safety
    /// `raw` is NULL or an error that the caller owns.
    pub(crate) unsafe fn owned(raw: *mut sys::dlcore_error) -> Option<Self> {
        if raw.is_null() {
            return None;
        }
        let error = Error::copied(raw);
        sys::dlcore_error_release(raw);
        Some(error)
    }

    /// The error that sticks to a context, which is clear afterwards.
    #[cold]
    pub(crate) fn taken(key: Key) -> Self {
        key.failure().unwrap_or_else(|| {
            let raw = key.raw();
            // SAFETY: `raw` is a context or NULL, which the library answers with NULL.
            match unsafe { Error::owned(sys::dlcore_context_take_error(raw)) } {
                Some(error) => error,
                None if raw.is_null() => Error::new(
                    Code::FailedPrecondition,
                    "the context is closed; keep it as long as it is used, or go on with t.on(&context)",
                ),
                None => Error::new(
                    Code::FailedPrecondition,
                    "the context is in use by another thread; give each thread a context of its own",
                ),
            }
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code().name(), self.message())?;
        match self.cause() {
            Some(cause) => write!(f, "\ncaused by {cause:?}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let code = match error.kind() {
            ErrorKind::NotFound => Code::NotFound,
            ErrorKind::PermissionDenied => Code::PermissionDenied,
            ErrorKind::AlreadyExists => Code::AlreadyExists,
            ErrorKind::InvalidInput => Code::InvalidArgument,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Code::DataLoss,
            _ => Code::Unknown,
        };
        Error::new(code, error.to_string())
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        std::io::Error::new(std::io::ErrorKind::Other, error)
    }
}
