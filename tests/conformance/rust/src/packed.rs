// SPDX-License-Identifier: Apache-2.0
//! Attributes by name, packed as the library's catalogue says: for cases that the generated methods cannot be given.

use crate::json::Json;
use dlcore::Dtype;
use std::collections::BTreeMap;

pub struct Schemas(BTreeMap<String, Json>);

impl Schemas {
    pub fn load() -> Result<Schemas, String> {
        let catalogue = Json::parse(dlcore::catalogue())?;
        let ops = catalogue.get("ops").list().iter();
        Ok(Schemas(ops.map(|op| (op.get("name").text().unwrap_or_default().into(), op.clone())).collect()))
    }

    /// Ops that programs call, and for each the dtypes of its CPU kernels.
    pub fn public(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.0.iter().filter(|(_, op)| op.get("hidden").bool() != Some(true)).map(|(name, op)| {
            let dtypes = op.get("kernels").get("cpu").list();
            (name.as_str(), dtypes.iter().filter_map(Json::text).collect())
        })
    }

    /// Words up to the last attribute that is given: the rest is left to the defaults.
    pub fn pack(&self, op: &str, attrs: &Json) -> Result<Vec<i64>, String> {
        let schema = self.0.get(op).ok_or_else(|| format!("the catalogue has no op '{op}'"))?;
        let known = schema.get("attrs").list();
        let name = |attr: &Json| attr.get("name").text().unwrap_or_default().to_string();
        let used = known.iter().rposition(|attr| !attrs.get(&name(attr)).is_null()).map_or(0, |last| last + 1);
        let mut words = Vec::new();
        for attr in &known[..used] {
            let kind = attr.get("type").text().unwrap_or_default();
            let given = attrs.get(&name(attr));
            let value = if given.is_null() { attr.get("default") } else { given };
            if kind.ends_with('?') {
                words.push((!value.is_null()).into());
            }
            if !value.is_null() {
                append(kind.trim_end_matches('?'), value, &mut words)
                    .ok_or_else(|| format!("attribute '{}' is {value:?}", name(attr)))?;
            }
        }
        Ok(words)
    }
}

fn append(kind: &str, value: &Json, words: &mut Vec<i64>) -> Option<()> {
    match kind {
        "int" => words.push(value.int()?),
        "bool" => words.push(value.bool().map(i64::from).or_else(|| value.int())?),
        "float" => words.push(value.real()?.to_bits() as i64),
        "dtype" => words.push(match value.text() {
            Some(name) => Dtype::by_name(name)?.number().into(),
            None => value.int()?,
        }),
        "string" => {
            let text = value.text()?;
            words.push(text.len() as i64);
            for part in text.as_bytes().chunks(8) {
                let mut bytes = [0; 8];
                bytes[..part.len()].copy_from_slice(part);
                words.push(i64::from_ne_bytes(bytes));
            }
        }
        _ => {
            let values = value.ints()?;
            words.push(values.len() as i64);
            for value in values {
                if kind == "dims" {
                    words.push(0);
                }
                words.push(value);
            }
        }
    }
    Some(())
}
