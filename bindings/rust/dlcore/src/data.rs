// SPDX-License-Identifier: Apache-2.0
//! Batches of samples and labels.
//!
//! ```no_run
//! # use dlcore::{data, Context, Result};
//! # fn main() -> Result<()> {
//! # let dl = Context::open("cpu")?;
//! let train = data::fashion_mnist(&dl, "train").shuffle().batch(64)?;
//! for batch in train.iter() {
//!     let (x, y) = batch?;
//!     println!("{:?} {:?}", x.shape(), y.shape());
//! }
//! # Ok(())
//! # }
//! ```

use crate::context::{Context, Owner};
use crate::text::c_string;
use crate::variable::operand_of;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::fmt;
use std::iter::FusedIterator;
use std::ptr::{self, NonNull};

/// Where samples come from; [`Source::batch`] makes a loader of it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Source<'a> {
    context: &'a Context,
    from: From<'a>,
    shuffle: bool,
    prefetch: i64,
}

#[derive(Clone, Debug)]
enum From<'a> {
    Text(String),
    Tensors(&'a Tensor, &'a Tensor),
}

/// Fashion-MNIST: `part` is "train" or "test". Looked for where [`Context::set_data_directory`] says, then where the
/// environment variable `DLCORE_DATA` says, then where Debian's package puts it.
pub fn fashion_mnist<'a>(context: &'a Context, part: &str) -> Source<'a> {
    open(context, &format!("fashion-mnist:{part}"))
}

/// A source by its name: `idx:DIR/train`, `fashion-mnist:test`.
pub fn open<'a>(context: &'a Context, source: &str) -> Source<'a> {
    Source { context, from: From::Text(source.to_string()), shuffle: false, prefetch: 0 }
}

/// Samples `[N, ...]` and labels `[N, ...]` from memory.
pub fn from_tensors<'a>(context: &'a Context, samples: &'a Tensor, labels: &'a Tensor) -> Source<'a> {
    Source { context, from: From::Tensors(samples, labels), shuffle: false, prefetch: 0 }
}

impl Source<'_> {
    /// A new order each epoch, from the context's seed, the number of the loader and the epoch.
    pub fn shuffle(mut self) -> Self {
        self.shuffle = true;
        self
    }

    /// So many batches are prepared ahead on a thread of the loader's own.
    pub fn prefetch(mut self, batches: i64) -> Self {
        self.prefetch = batches;
        self
    }

    /// Opens it, in batches of this many samples; the last one of an epoch may be smaller.
    pub fn batch(self, size: i64) -> Result<Loader> {
        let owner = &self.context.owner;
        let flags = if self.shuffle { sys::DLCORE_LOADER_SHUFFLE as u64 } else { 0 };
        // SAFETY: all arguments are valid; the result is ours.
        let loader = unsafe {
            Loader::owned(
                owner,
                match self.from {
                    From::Text(source) => {
                        let source = c_string("source", &source)?;
                        sys::dlcore_loader_open(owner.raw(), source.as_ptr(), size, flags)
                    }
                    From::Tensors(samples, labels) => {
                        operand_of(owner.key(), samples)?;
                        let ctx = operand_of(owner.key(), labels)?;
                        sys::dlcore_loader_from_tensors(ctx, samples.raw(), labels.raw(), size, flags)
                    }
                },
            )?
        };
        if self.prefetch != 0 {
            loader.set_prefetch(self.prefetch)?;
        }
        Ok(loader)
    }
}

/// Batches of samples and labels, epoch after epoch.
///
/// A loop over it goes on where the loader stands, to the end of the epoch.
pub struct Loader {
    raw: NonNull<sys::dlcore_loader>,
    owner: Owner,
}

handle!(Loader, dlcore_loader, dlcore_loader_retain, dlcore_loader_release);

impl Loader {
    /// The batches up to the end of the epoch.
    pub fn iter(&self) -> Batches<'_> {
        Batches { loader: self, done: false }
    }

    /// Samples in an epoch.
    pub fn samples(&self) -> i64 {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_loader_samples(self.raw()) }
    }

    /// Batches in an epoch.
    pub fn batches(&self) -> i64 {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_loader_batches(self.raw()) }
    }

    /// Number of the epoch, counted from 0.
    pub fn epoch(&self) -> i64 {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_loader_epoch(self.raw()) }
    }

    /// Goes on at a batch of an epoch, both counted from 0.
    pub fn seek(&self, epoch: i64, batch: i64) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_loader_seek(self.owner.raw(), self.raw(), epoch, batch) })
    }

    /// How many batches are prepared ahead, on a thread of the loader's own.
    pub fn set_prefetch(&self, batches: i64) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_loader_set_prefetch(self.owner.raw(), self.raw(), batches) })
    }

    fn next(&self) -> Option<Result<(Tensor, Tensor)>> {
        let (key, ctx) = (self.owner.key(), self.owner.raw());
        let (mut x, mut y) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: handles are valid; both results are ours.
        unsafe {
            let found = sys::dlcore_loader_next(ctx, self.raw(), &mut x, &mut y);
            match (found, NonNull::new(x), NonNull::new(y)) {
                (1, Some(x), Some(y)) => Some(Ok((Tensor::owned(x, key), Tensor::owned(y, key)))),
                // A context that is closed is no end of the data, and neither is a failure.
                _ if !ctx.is_null() && sys::dlcore_ok(ctx) == 1 => None,
                _ => Some(Err(Error::taken(key))),
            }
        }
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loader({} samples in {} batches, epoch {})", self.samples(), self.batches(), self.epoch())
    }
}

impl<'a> IntoIterator for &'a Loader {
    type Item = Result<(Tensor, Tensor)>;
    type IntoIter = Batches<'a>;

    fn into_iter(self) -> Batches<'a> {
        self.iter()
    }
}

/// The batches up to the end of an epoch: samples and labels. Ends after a failure.
pub struct Batches<'a> {
    loader: &'a Loader,
    done: bool,
}

impl Iterator for Batches<'_> {
    type Item = Result<(Tensor, Tensor)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found = self.loader.next();
        self.done = !matches!(found, Some(Ok(_)));
        found
    }

    /// At most the batches of a whole epoch.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(if self.done { 0 } else { usize::try_from(self.loader.batches()).unwrap_or(0) }))
    }
}

impl FusedIterator for Batches<'_> {}
