// SPDX-License-Identifier: Apache-2.0
//! What the command line says.

const USAGE: &str = "\
Answers requests on many threads while a model is trained.
  --requests N  requests to answer (10000)
  --workers N   threads that answer (32)
  --check       compare every answer with those of the model between whole steps";

pub struct Options {
    pub requests: usize,
    pub workers: usize,
    pub check: bool,
}

impl Options {
    /// The options, or the status to end with.
    pub fn parse() -> Result<Options, u8> {
        let mut options = Options { requests: 10_000, workers: 32, check: false };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let mut number = || words.next().and_then(|text| text.parse().ok());
            let understood = match name.as_str() {
                "--check" => {
                    options.check = true;
                    true
                }
                "--requests" => number().map(|n| options.requests = n).is_some(),
                "--workers" => number().filter(|n| *n > 0).map(|n| options.workers = n).is_some(),
                "--help" => {
                    println!("{USAGE}");
                    return Err(0);
                }
                _ => false,
            };
            if !understood {
                eprintln!("{name} is not understood\n{USAGE}");
                return Err(2);
            }
        }
        Ok(options)
    }
}
