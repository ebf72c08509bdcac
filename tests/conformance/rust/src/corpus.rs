// SPDX-License-Identifier: Apache-2.0
//! Cases and their arrays, as they are on disk.

use crate::json::Json;
use dlcore::{Bf16, Dtype, F16};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Elements of a tensor, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub dtype: Dtype,
    pub shape: Vec<i64>,
    pub bytes: Vec<u8>,
}

/// Elements as numbers that comparing is done with.
#[derive(Debug, PartialEq)]
pub enum Numbers {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
}

pub struct Family {
    pub cases: Vec<Json>,
    arrays: BTreeMap<String, Array>,
}

impl Family {
    pub fn array(&self, key: &Json) -> Result<&Array, String> {
        let key = key.text().ok_or("a tensor has no key")?;
        self.arrays.get(key).ok_or_else(|| format!("there is no array {key}"))
    }
}

pub fn load(folder: &Path) -> Result<Vec<Family>, String> {
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut paths: Vec<_> = fs::read_dir(folder)
        .map_err(|error| told(folder, error))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().map_or(false, |extension| extension == "json"))
        .collect();
    paths.sort();
    let mut families = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| told(&path, error))?;
        let arrays = path.with_extension("safetensors");
        let file = fs::read(&arrays).map_err(|error| told(&arrays, error))?;
        families.push(Family { cases: Json::parse(&text)?.list().to_vec(), arrays: safetensors(&file)? });
    }
    Ok(families)
}

fn safetensors(file: &[u8]) -> Result<BTreeMap<String, Array>, String> {
    let cut_off = || String::from("a safetensors file is cut off");
    let size = file.get(..8).ok_or_else(cut_off)?;
    let size = u64::from_le_bytes(size.try_into().unwrap()) as usize;
    let header = file.get(8..8 + size).ok_or_else(cut_off)?;
    let header = Json::parse(&String::from_utf8_lossy(header))?;
    let body = &file[8 + size..];
    let mut arrays = BTreeMap::new();
    if let Json::Object(members) = header {
        for (key, entry) in members {
            let dtype = entry.get("dtype").text().unwrap_or_default().to_lowercase();
            let at = entry.get("data_offsets").ints().ok_or_else(cut_off)?;
            arrays.insert(
                key,
                Array {
                    dtype: Dtype::by_name(&dtype).ok_or_else(|| format!("unknown dtype {dtype}"))?,
                    shape: entry.get("shape").ints().ok_or_else(cut_off)?,
                    bytes: body.get(at[0] as usize..at[1] as usize).ok_or_else(cut_off)?.to_vec(),
                },
            );
        }
    }
    Ok(arrays)
}

macro_rules! elements {
    ($bytes:expr, $size:literal, $element:ty) => {
        $bytes.chunks_exact($size).map(|bytes| <$element>::from_le_bytes(bytes.try_into().unwrap()))
    };
}

impl Array {
    pub fn numbers(&self) -> Numbers {
        let b = &self.bytes;
        match self.dtype {
            Dtype::Bool | Dtype::U8 => Numbers::Integers(b.iter().map(|x| i64::from(*x)).collect()),
            Dtype::I8 => Numbers::Integers(b.iter().map(|x| i64::from(*x as i8)).collect()),
            Dtype::I16 => Numbers::Integers(elements!(b, 2, i16).map(i64::from).collect()),
            Dtype::I32 => Numbers::Integers(elements!(b, 4, i32).map(i64::from).collect()),
            Dtype::I64 => Numbers::Integers(elements!(b, 8, i64).collect()),
            Dtype::F32 => Numbers::Reals(elements!(b, 4, f32).map(f64::from).collect()),
            Dtype::F64 => Numbers::Reals(elements!(b, 8, f64).collect()),
            Dtype::F16 => Numbers::Reals(elements!(b, 2, u16).map(|x| F16::from_bits(x).to_f32().into()).collect()),
            _ => Numbers::Reals(elements!(b, 2, u16).map(|x| Bf16::from_bits(x).to_f32().into()).collect()),
        }
    }

    pub fn reals(&self) -> Vec<f64> {
        match self.numbers() {
            Numbers::Reals(values) => values,
            Numbers::Integers(values) => values.into_iter().map(|value| value as f64).collect(),
        }
    }

    /// Reals rounded to a floating dtype.
    pub fn from_reals(values: &[f64], shape: &[i64], dtype: Dtype) -> Array {
        let bytes = match dtype {
            Dtype::F64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Dtype::F32 => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
            Dtype::F16 => {
                values.iter().flat_map(|value| F16::from_f32(*value as f32).to_bits().to_le_bytes()).collect()
            }
            _ => values.iter().flat_map(|value| Bf16::from_f32(*value as f32).to_bits().to_le_bytes()).collect(),
        };
        Array { dtype, shape: shape.to_vec(), bytes }
    }
}
