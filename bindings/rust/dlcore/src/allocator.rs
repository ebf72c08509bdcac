// SPDX-License-Identifier: Apache-2.0
//! An allocator of the program's, as the library calls it.

use std::alloc::{GlobalAlloc, Layout};
use std::os::raw::c_void;
use std::ptr;

/// What the library asks for is aligned so, always.
const ALIGNMENT: u64 = 64;

fn layout(bytes: u64, alignment: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?, usize::try_from(alignment).ok()?).ok()
}

pub(crate) unsafe extern "C" fn allocate<A: GlobalAlloc>(
    user_data: *mut c_void,
    bytes: u64,
    alignment: u64,
) -> *mut c_void {
    match layout(bytes, alignment) {
        Some(layout) if alignment == ALIGNMENT => (*user_data.cast::<A>()).alloc(layout).cast(),
        _ => ptr::null_mut(),
    }
}

pub(crate) unsafe extern "C" fn deallocate<A: GlobalAlloc>(user_data: *mut c_void, address: *mut c_void, bytes: u64) {
    if let Some(layout) = layout(bytes, ALIGNMENT) {
        (*user_data.cast::<A>()).dealloc(address.cast(), layout);
    }
}

pub(crate) unsafe extern "C" fn destroy<A>(user_data: *mut c_void) {
    drop(Box::from_raw(user_data.cast::<A>()));
}
