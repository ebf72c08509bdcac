// SPDX-License-Identifier: Apache-2.0
//! Attributes, packed into words on the stack (dlcore/op.h says how).

use crate::{Dtype, Error, Result};
use std::fmt;
use std::mem::MaybeUninit;

/// Room for `N` words.
pub(crate) struct Words<const N: usize> {
    words: [MaybeUninit<i64>; N],
    used: usize,
}

impl<const N: usize> Words<N> {
    #[inline]
    pub fn new() -> Self {
        Words { words: [MaybeUninit::uninit(); N], used: 0 }
    }

    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        // SAFETY: the first `used` words have been written.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.used) }
    }

    #[inline]
    pub fn word(&mut self, word: i64) {
        self.words[self.used] = MaybeUninit::new(word);
        self.used += 1;
    }

    #[inline]
    pub fn int(&mut self, value: i64) {
        self.word(value);
    }

    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.word(value.into());
    }

    #[inline]
    pub fn float(&mut self, value: f64) {
        self.word(value.to_bits() as i64);
    }

    #[inline]
    pub fn dtype(&mut self, value: Dtype) {
        self.word(value.number().into());
    }

    /// `what` is how an error calls it, `limit` the most items there is room for.
    pub fn ints(&mut self, what: &str, values: &[i64], limit: usize) -> Result<()> {
        in_range(what, values.len(), limit)?;
        self.word(values.len() as i64);
        values.iter().for_each(|value| self.word(*value));
        Ok(())
    }

    /// Sizes, each an integer and no symbol.
    pub fn dims(&mut self, what: &str, values: &[i64], limit: usize) -> Result<()> {
        in_range(what, values.len(), limit)?;
        self.word(values.len() as i64);
        for value in values {
            self.word(0);
            self.word(*value);
        }
        Ok(())
    }

    pub fn string(&mut self, what: &str, text: &str, limit: usize) -> Result<()> {
        in_range(what, text.len(), limit)?;
        self.word(text.len() as i64);
        for part in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            self.word(i64::from_ne_bytes(bytes));
        }
        Ok(())
    }
}

fn in_range(what: &str, length: usize, limit: usize) -> Result<()> {
    if length <= limit {
        return Ok(());
    }
    Err(Error::invalid(format!("{what}: length is {length}, expected 0 to {limit}")))
}

/// A list in options, without memory of its own. One that is too long is told when it is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct List {
    items: [i64; List::ROOM],
    length: usize,
}

impl List {
    pub const ROOM: usize = 16;

    pub fn new(values: &[i64]) -> List {
        let mut items = [0; List::ROOM];
        items.iter_mut().zip(values).for_each(|(item, value)| *item = *value);
        List { items, length: values.len() }
    }

    /// `what` is how an error calls it.
    pub fn get(&self, what: &str) -> Result<&[i64]> {
        in_range(what, self.length, List::ROOM)?;
        Ok(&self.items[..self.length])
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items[..self.length.min(List::ROOM)].fmt(f)
    }
}
