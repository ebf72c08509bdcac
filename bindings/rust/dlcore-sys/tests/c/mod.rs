// SPDX-License-Identifier: Apache-2.0
//! Says in C what Rust declared, and lets the C compiler compare that with the headers.

use std::fmt::Write;
use std::os::raw::{c_char, c_void};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A type as a C declaration of something called `inner`.
pub trait CType {
    fn declare(inner: String) -> String;
}

/// The same for what a pointer points to, which may be constant.
pub trait Constant: CType {
    fn declare_constant(inner: String) -> String;
}

/// Types that have a name in C.
macro_rules! named {
    ($($rust:ty => $c:expr),* $(,)?) => {$(
        impl $crate::c::CType for $rust {
            fn declare(inner: String) -> String {
                format!("{} {inner}", $c)
            }
        }
        impl $crate::c::Constant for $rust {
            fn declare_constant(inner: String) -> String {
                format!("const {} {inner}", $c)
            }
        }
    )*};
}

named!(i32 => "int32_t", i64 => "int64_t", u8 => "uint8_t", u32 => "uint32_t", u64 => "uint64_t",
       f32 => "float", f64 => "double", c_char => "char", c_void => "void", () => "void");

impl<T: Constant> CType for *const T {
    fn declare(inner: String) -> String {
        T::declare_constant(format!("*{inner}"))
    }
}

impl<T: Constant> Constant for *const T {
    fn declare_constant(inner: String) -> String {
        T::declare_constant(format!("*const {inner}"))
    }
}

impl<T: CType> CType for *mut T {
    fn declare(inner: String) -> String {
        T::declare(format!("*{inner}"))
    }
}

impl<T: CType> Constant for *mut T {
    fn declare_constant(inner: String) -> String {
        T::declare(format!("*const {inner}"))
    }
}

/// A function pointer as a C declaration.
pub trait Signature {
    fn declare(&self, inner: String) -> String;
}

macro_rules! functions {
    ($(($($p:ident)*))*) => {$(
        impl<R: CType, $($p: CType),*> Signature for unsafe extern "C" fn($($p),*) -> R {
            fn declare(&self, inner: String) -> String {
                <Option<Self> as CType>::declare(inner.trim_start_matches('*').to_string())
            }
        }
        impl<R: CType, $($p: CType),*> CType for Option<unsafe extern "C" fn($($p),*) -> R> {
            fn declare(inner: String) -> String {
                let parameters: Vec<String> = vec![$($p::declare(String::new())),*];
                let list = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
                R::declare(format!("(*{inner})({list})"))
            }
        }
    )*};
}

functions!(() (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
           (A B C D E F G H I) (A B C D E F G H I J) (A B C D E F G H I J K) (A B C D E F G H I J K L)
    (A B C D E F G H I J K L M)
    (A B C D E F G H I J K L M N));

/// C text that compiles only when all that was told holds.
pub struct Probe {
    text: String,
    checks: usize,
}

impl Probe {
    pub fn new(headers: &[&str]) -> Self {
        let text = headers.iter().map(|name| format!("#include <dlcore/{name}>\n")).collect();
        Probe { text, checks: 0 }
    }

    pub fn constant(&mut self, name: &str, value: i64) {
        self.assert(&format!("{name} == {value}"));
    }

    pub fn assert(&mut self, condition: &str) {
        self.checks += 1;
        writeln!(self.text, "_Static_assert({condition}, \"\");").unwrap();
    }

    pub fn function(&mut self, name: &str, declaration: String) {
        self.checks += 1;
        writeln!(self.text, "void check_{name}(void) {{ {declaration} = {name}; (void)check; }}").unwrap();
    }

    pub fn compile(&self) {
        assert!(self.checks > 100, "only {} checks", self.checks);
        let (good, errors) = compiles(&self.text);
        assert!(good, "{errors}");
        // The compiler would have seen a difference.
        let wrong = "\nvoid wrong(void) { int64_t (*check)(int32_t) = dlcore_status_name; (void)check; }\n";
        assert!(!compiles(&format!("{}{wrong}", self.text)).0, "a wrong signature was not refused");
    }
}

fn compiles(text: &str) -> (bool, String) {
    use std::io::Write;
    let include = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../capi/include");
    let mut compiler = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-xc", "-", "-I"])
        .arg(include)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a C compiler called cc");
    compiler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Size of a struct, and where each field is.
macro_rules! layout {
    ($probe:expr, $name:ident, { $($field:ident),* }) => {
        let size = std::mem::size_of::<$name>();
        $probe.assert(&format!("sizeof({}) == {size}", stringify!($name)));
        $({
            let value = std::mem::MaybeUninit::<$name>::uninit();
            let start = value.as_ptr() as usize;
            // SAFETY: only an address inside `value` is taken.
            let at = unsafe { std::ptr::addr_of!((*value.as_ptr()).$field) } as usize - start;
            $probe.assert(&format!("__builtin_offsetof({}, {}) == {at}", stringify!($name),
                stringify!($field).trim_end_matches('_')));
        })*
    };
}
