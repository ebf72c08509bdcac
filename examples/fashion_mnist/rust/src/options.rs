// SPDX-License-Identifier: Apache-2.0
//! What the command line says.

use std::path::PathBuf;

const USAGE: &str = "\
Trains a small classifier on Fashion-MNIST.
  --epochs N         passes over the training set (5)
  --threads N        threads of the engine (0: all)
  --seed N           seed of weights and order (8)
  --limit N          stop after N steps (0: never)
  --data DIR         directory with the IDX files, plain or gzip
  --losses FILE      write the loss of each step, as a hexadecimal float
  --save FILE        where the weights go (fashion.safetensors)
  --checkpoint FILE  write the whole state after the last step
  --resume FILE      go on from such a state";

pub struct Options {
    pub epochs: i64,
    pub threads: i32,
    pub seed: u64,
    pub limit: u64,
    pub data: Option<PathBuf>,
    pub losses: Option<PathBuf>,
    pub save: PathBuf,
    pub checkpoint: Option<PathBuf>,
    pub resume: Option<PathBuf>,
}

impl Options {
    /// The options, or the status to end with.
    pub fn parse() -> Result<Options, u8> {
        let mut options = Options {
            epochs: 5,
            threads: 0,
            seed: 8,
            limit: 0,
            data: None,
            losses: None,
            save: "fashion.safetensors".into(),
            checkpoint: None,
            resume: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            if name == "--help" {
                println!("{USAGE}");
                return Err(0);
            }
            let value = words.next();
            if value.as_deref().and_then(|value| options.set(&name, value)).is_none() {
                eprintln!("{name} {} is not understood\n{USAGE}", value.unwrap_or_default());
                return Err(2);
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "--epochs" => self.epochs = value.parse().ok()?,
            "--threads" => self.threads = value.parse().ok()?,
            "--seed" => self.seed = value.parse().ok()?,
            "--limit" => self.limit = value.parse().ok()?,
            "--data" => self.data = Some(value.into()),
            "--losses" => self.losses = Some(value.into()),
            "--save" => self.save = value.into(),
            "--checkpoint" => self.checkpoint = Some(value.into()),
            "--resume" => self.resume = Some(value.into()),
            _ => return None,
        }
        Some(())
    }
}

/// As C's `%a` prints it as a double, which every f32 is a normal one of.
pub fn c_hex(value: f32) -> String {
    let bits = f64::from(value).to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() || value.is_infinite() {
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    if value == 0.0 {
        return format!("{sign}0x0p+0");
    }
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1023;
    let fraction = format!("{:013x}", bits & ((1 << 52) - 1));
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{fraction}p{exponent:+}")
}
