// SPDX-License-Identifier: Apache-2.0
//! What a call costs in Rust: `add` of 16 floats, and dropping the result. Answers the lines of
//! tests/benchmarks/worker/main.c.

use dlcore::{Context, Engine, Result, Tensor};
use std::io::{self, BufRead, Write};
use std::time::Instant;

/// Element i of the numbers that all sides compute with.
fn fill(seed: u32) -> Vec<f32> {
    (0..16u32)
        .map(|i| {
            let hash = i.wrapping_add(1_000_003u32.wrapping_mul(seed)).wrapping_mul(2_654_435_761) >> 8;
            hash as f32 / 16_777_216.0 - 0.5
        })
        .collect()
}

struct Prepared {
    a: Tensor,
    b: Tensor,
    _context: Context,
}

fn prepare(engine: &Engine) -> Result<Prepared> {
    let context = engine.context("cpu", 8)?;
    Ok(Prepared { a: context.tensor(fill(1), [16])?, b: context.tensor(fill(2), [16])?, _context: context })
}

fn run(engine: &Engine, turns: u64) -> Result<f64> {
    let Prepared { a, b, _context } = prepare(engine)?;
    let start = Instant::now();
    for _ in 0..turns {
        a.add(&b)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// As `checksum` of worker/main.c.
fn check(engine: &Engine) -> Result<f64> {
    let Prepared { a, b, _context } = prepare(engine)?;
    let values = a.add(&b)?.to_vec::<f32>()?;
    let terms = values.iter().enumerate().map(|(i, v)| f64::from(*v) * f64::from(v.abs()) * (1 + i % 7) as f64);
    let sum: f64 = terms.sum();
    Ok(sum.abs().sqrt().copysign(sum))
}

fn answer(engine: &Engine, line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let told = |verb: &str, number: Result<f64>, digits: usize| match number {
        Ok(value) => format!("{verb} {value:.digits$}"),
        Err(error) => format!("error {error}"),
    };
    match words[..] {
        ["drop"] => "dropped".into(),
        ["check", "add16_rust"] => told("value", check(engine), 9),
        ["run", "add16_rust", turns] => match turns.parse() {
            Ok(turns) => told("seconds", run(engine, turns), 9),
            Err(_) => "error not understood".into(),
        },
        ["run", ..] | ["check", _] => "error no such benchmark".into(),
        _ => "error not understood".into(),
    }
}

fn main() -> Result<()> {
    let threads = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let engine = Engine::options().threads(threads).open()?;
    let about = engine.statistics();
    println!(
        "{{\"isa\": \"{:?}\", \"threads\": {}, \"version\": \"{}\"}}",
        about.instruction_set,
        about.threads,
        dlcore::build_info()
    );
    for line in io::stdin().lock().lines() {
        println!("{}", answer(&engine, &line?));
        io::stdout().flush()?;
    }
    Ok(())
}
