// SPDX-License-Identifier: Apache-2.0
//! As much of JSON as the corpus needs, so that the driver builds without a registry.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it is written: an i64 keeps all of its digits.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

static NULL: Json = Json::Null;

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut parser = Parser { bytes: text.as_bytes(), at: 0 };
        let value = parser.value()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.error("nothing more"));
        }
        Ok(value)
    }

    /// The member of that name, null when there is none.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members.get(name).unwrap_or(&NULL),
            _ => &NULL,
        }
    }

    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }

    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Numbers, and "inf", "-inf" and "nan", which JSON lacks.
    pub fn real(&self) -> Option<f64> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            Json::Text(text) if ["inf", "-inf", "nan"].contains(&text.as_str()) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Json::List(items) => items.iter().map(Json::int).collect(),
            _ => None,
        }
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, expected: &str) -> String {
        format!("JSON: expected {expected} at byte {}", self.at)
    }

    fn space(&mut self) {
        while self.bytes.get(self.at).map_or(false, u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn accept(&mut self, text: &str) -> bool {
        self.space();
        let found = self.bytes[self.at..].starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.accept(text) {
            Ok(())
        } else {
            Err(self.error(text))
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b't') => self.expect("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.expect("false").map(|()| Json::Bool(false)),
            Some(b'n') => self.expect("null").map(|()| Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut members = BTreeMap::new();
        self.expect("{")?;
        while !self.accept("}") {
            self.space();
            let name = self.string()?;
            self.expect(":")?;
            members.insert(name, self.value()?);
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Json::Object(members))
    }

    fn list(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        self.expect("[")?;
        while !self.accept("]") {
            items.push(self.value()?);
            if !self.accept(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(Json::List(items))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.error("the end of a string"))?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).map_err(|_| self.error("UTF-8")),
                b'\\' => bytes.extend(self.escape()?.to_string().as_bytes()),
                _ => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.error("an escape"))?;
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4).ok_or_else(|| self.error("four digits"))?;
                self.at += 4;
                let code = std::str::from_utf8(digits).ok().and_then(|text| u32::from_str_radix(text, 16).ok());
                code.and_then(char::from_u32).ok_or_else(|| self.error("a character"))?
            }
            other => char::from(other),
        })
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while self.bytes.get(self.at).map_or(false, |byte| b"+-.eE0123456789".contains(byte)) {
            self.at += 1;
        }
        if start == self.at {
            return Err(self.error("a value"));
        }
        Ok(Json::Number(String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()))
    }
}
