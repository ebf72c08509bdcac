// SPDX-License-Identifier: Apache-2.0
//! Finds libdlcore: in the folder that DLCORE_LIB_DIR names, else where pkg-config says.

use std::env;
use std::process::Command;

fn main() {
    for variable in ["DLCORE_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    // Documentation needs no library.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let folders = match env::var("DLCORE_LIB_DIR") {
        Ok(folder) => vec![folder],
        Err(_) => installed().unwrap_or_else(|reason| {
            panic!("libdlcore is not found: {reason}; install it, or set DLCORE_LIB_DIR to the folder that holds libdlcore.so")
        }),
    };
    for folder in &folders {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:lib_dir={folder}"); // DEP_DLCORE_LIB_DIR of a build script that wants to set an rpath
    }
    println!("cargo:rustc-link-lib=dylib=dlcore");
}

/// Folders to search beside the linker's own.
fn installed() -> Result<Vec<String>, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| String::from("pkg-config"));
    let output = Command::new(&program)
        .args(["--libs-only-L", "dlcore >= 0.1"])
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().filter_map(|flag| flag.strip_prefix("-L")).map(String::from).collect())
}
