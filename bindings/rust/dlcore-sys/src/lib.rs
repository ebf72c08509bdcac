// SPDX-License-Identifier: Apache-2.0
//! The C API of dlcore, declared: opaque handles, constants, functions. It is
//! generated from the headers; the crate `dlcore` makes a safe API of it.
#![allow(non_camel_case_types, clippy::missing_safety_doc, clippy::too_many_arguments)]

#[rustfmt::skip]
mod generated;

pub use generated::*;
