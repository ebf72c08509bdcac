// SPDX-License-Identifier: Apache-2.0
//! What all handles but tensors have in common: a reference to a library object, and the context they run on.

/// Cloning, dropping, threads, borrowing and rebinding of a struct with the fields `raw` and `owner`.
macro_rules! handle {
    ($name:ident, $raw:ident, $retain:ident, $release:ident) => {
        // SAFETY: the library lets any thread use and release the object; that a context serves one call at a time it
        // checks itself, and answers with an error.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}

        impl Clone for $name {
            fn clone(&self) -> Self {
                // SAFETY: the handle is valid; the clone owns what retain adds.
                unsafe { sys::$retain(self.raw.as_ptr()) };
                $name { raw: self.raw, owner: self.owner.clone() }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: gives up the reference that `raw` is.
                unsafe { sys::$release(self.raw.as_ptr()) };
            }
        }

        #[allow(dead_code)]
        impl $name {
            /// The same object for use on another context: that of another thread, say.
            pub fn on(&self, context: &crate::Context) -> Self {
                let mut other = self.clone();
                other.owner = context.owner.clone();
                other
            }

            pub(crate) fn raw(&self) -> *mut sys::$raw {
                self.raw.as_ptr()
            }

            /// A reference of its own to an object that belongs to another one.
            ///
            /// # Safety
            /// `raw` is NULL or lives during the call.
            pub(crate) unsafe fn borrowed(owner: &crate::context::Owner, raw: *mut sys::$raw) -> crate::Result<Self> {
                let raw = owner.made(raw)?;
                sys::$retain(raw.as_ptr());
                Ok($name { raw, owner: owner.clone() })
            }

            /// Takes over a reference, or tells why there is none.
            ///
            /// # Safety
            /// `raw` is NULL or a reference that the caller owns.
            pub(crate) unsafe fn owned(owner: &crate::context::Owner, raw: *mut sys::$raw) -> crate::Result<Self> {
                Ok($name { raw: owner.made(raw)?, owner: owner.clone() })
            }
        }
    };
}
