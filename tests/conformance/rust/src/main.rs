// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance corpus through the generated methods of the Rust binding.
//!
//!     conformance CASES [--filter TEXT] [--threads N] [--verbose]

mod arguments;
mod case;
mod checks;
mod comparison;
mod corpus;
mod derivatives;
#[rustfmt::skip]
mod generated;
mod json;
mod packed;

use case::{Case, Failure, Outcome};
use dlcore::{Context, Engine};
use packed::Schemas;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

struct Options {
    cases: PathBuf,
    filter: String,
    threads: i32,
    verbose: bool,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { cases: "tests/conformance/cases".into(), filter: String::new(), threads: 0, verbose: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--verbose" => options.verbose = true,
            "--filter" => options.filter = words.next().ok_or("--filter needs a text")?,
            "--threads" => {
                options.threads = words.next().and_then(|n| n.parse().ok()).ok_or("--threads needs a number")?
            }
            _ if !word.starts_with('-') => options.cases = word.into(),
            _ => return Err(format!("{word} is not understood")),
        }
    }
    Ok(options)
}

type Check = fn(&Context, &Case<'_>) -> Outcome;

fn checks_of(case: &Case<'_>) -> Vec<Check> {
    if !case.json.get("expect").get("error").is_null() {
        return vec![checks::error];
    }
    let mut list: Vec<Check> = vec![checks::outputs, checks::layout];
    let flags: [(bool, Check); 4] = [
        (!case.differentiable().is_empty(), derivatives::gradients),
        (case.has_flag("jvp"), derivatives::forward),
        (case.has_flag("smooth"), derivatives::gradcheck),
        (case.has_flag("vmap"), derivatives::vmap),
    ];
    list.extend(flags.iter().filter(|(on, _)| *on).map(|(_, check)| *check));
    list
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    packed: usize,
    dtypes: BTreeMap<String, BTreeSet<String>>,
}

impl Counts {
    fn fail(&mut self, name: &str, failure: &Failure) {
        self.failed += 1;
        println!("FAILED {name}: {failure:?}");
    }

    /// Every op, and every dtype that it has a kernel for, has a case.
    fn require_coverage(&mut self, schemas: &Schemas) {
        for (op, dtypes) in schemas.public() {
            let seen = self.dtypes.get(op).cloned().unwrap_or_default();
            if !self.dtypes.contains_key(op) || dtypes.iter().any(|dtype| !seen.contains(*dtype)) {
                self.fail(&format!("coverage/{op}"), &Failure::Text(format!("cases for {seen:?} only")));
            }
        }
    }

    fn note(&mut self, case: &Case<'_>) {
        let dtypes = self.dtypes.entry(case.op.to_string()).or_default();
        let records = case.outputs().iter().chain(case.json.get("inputs").list());
        if !case.outputs().is_empty() {
            dtypes.extend(records.filter_map(|record| record.get("dtype").text()).map(String::from));
        }
    }
}

fn run(options: &Options) -> Result<Counts, String> {
    let engine = Engine::options().threads(options.threads).open().map_err(|error| error.to_string())?;
    let schemas = Schemas::load()?;
    let mut counts = Counts::default();
    for family in corpus::load(&options.cases)? {
        for json in &family.cases {
            let name = json.get("name").text().unwrap_or_default();
            if !name.contains(&options.filter) {
                continue;
            }
            let case = Case::new(&family, json, &schemas);
            counts.note(&case);
            match checked(&engine, &case) {
                Ok(()) => counts.passed += 1,
                Err(failure) => counts.fail(name, &failure),
            }
            counts.packed += usize::from(case.packed.get());
            if options.verbose {
                println!("{name}{}", if case.packed.get() { " (packed)" } else { "" });
            }
        }
    }
    if options.filter.is_empty() {
        counts.require_coverage(&schemas);
    }
    let left = engine.statistics();
    if left.live_tensors != 0 || left.live_contexts != 0 {
        counts.fail("lifetimes", &Failure::Text(format!("{left:?}")));
    }
    Ok(counts)
}

fn checked(engine: &Engine, case: &Case<'_>) -> Outcome {
    checks_of(case).iter().try_for_each(|check| check(&engine.context("cpu", 42)?, case))
}

fn main() -> ExitCode {
    let counts = match options().and_then(|options| run(&options)) {
        Ok(counts) => counts,
        Err(text) => {
            eprintln!("conformance: {text}");
            return ExitCode::FAILURE;
        }
    };
    println!("{} cases went around the generated methods, whose types exclude what they give", counts.packed);
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 || counts.passed == 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
