// SPDX-License-Identifier: Apache-2.0
//! The guide's program runs, and the guide quotes it.

#[path = "../../../../docs/guide.rs"]
mod guide;

use std::path::Path;

#[test]
fn the_program_runs() {
    guide::main().unwrap();
}

#[test]
fn the_guide_quotes_it() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let plain = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let (text, program) = (read("guide-rust.md"), plain(&read("guide.rs")));
    let blocks: Vec<_> = text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 10);
    for block in blocks {
        assert!(program.contains(plain(block).trim()), "not in guide.rs:\n{block}");
    }
}
