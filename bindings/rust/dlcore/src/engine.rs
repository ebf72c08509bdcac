// SPDX-License-Identifier: Apache-2.0
//! The owner of everything that costs something: devices, memory, threads, plug-ins.

use crate::allocator;
use crate::context::Context;
use crate::text::{borrowed, c_path, c_string};
use crate::{Code, Error, Result};
use dlcore_sys as sys;
use std::alloc::GlobalAlloc;
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Owner of devices, memory, threads and plug-ins. A process opens one, usually.
///
/// Clones are the same engine; any number of threads may use it. Its threads end when the last clone and the last
/// context of it are dropped, or at [`Engine::close`].
#[derive(Clone)]
pub struct Engine(Arc<Owned>);

struct Owned {
    raw: NonNull<sys::dlcore_engine>,
    /// Closed already, or never to be closed by us because somebody else opened it.
    closed: AtomicBool,
}

// SAFETY: the library lets any number of threads use an engine at the same time.
unsafe impl Send for Owned {}
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        self.close();
        // SAFETY: gives up the reference that `raw` is.
        unsafe { sys::dlcore_engine_release(self.raw.as_ptr()) };
    }
}

impl Owned {
    /// Ends the engine's threads, once. Our own reference stays: who calls at this moment has something to call.
    fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            // SAFETY: close gives up a reference, which retain has just added.
            unsafe {
                sys::dlcore_engine_retain(self.raw.as_ptr());
                sys::dlcore_engine_close(self.raw.as_ptr());
            }
        }
    }
}

/// Which instruction set an engine computes with. Equal bits are promised for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionSet {
    /// The best one that the processor has and the library was built for.
    Best,
    /// What every processor of the architecture has.
    Baseline,
    /// 256 bits, on x86-64.
    Avx2,
    /// 512 bits, on x86-64.
    Avx512,
    /// Avx512 that multiplies matrices of bf16 by its dot products.
    Avx512Bf16,
}

impl InstructionSet {
    const ALL: [(i32, InstructionSet); 5] = [
        (sys::DLCORE_ISA_BEST, InstructionSet::Best),
        (sys::DLCORE_ISA_BASELINE, InstructionSet::Baseline),
        (sys::DLCORE_ISA_AVX2, InstructionSet::Avx2),
        (sys::DLCORE_ISA_AVX512, InstructionSet::Avx512),
        (sys::DLCORE_ISA_AVX512_BF16, InstructionSet::Avx512Bf16),
    ];
}

/// Settings of an engine that is opened: `Engine::options().threads(2).open()?`.
#[derive(Clone)]
#[must_use]
pub struct EngineOptions(sys::dlcore_engine_options);

impl EngineOptions {
    /// Threads, including the calling one; 0 is as many as this process may use, the default.
    pub fn threads(mut self, threads: i32) -> Self {
        self.0.threads = threads;
        self
    }

    /// Bytes of tensors for each device; 0 is no limit, the default.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.0.memory_limit = bytes;
        self
    }

    /// Pins the instruction set, and the engine's own matrix kernels with it.
    pub fn instruction_set(mut self, set: InstructionSet) -> Self {
        let found = InstructionSet::ALL.iter().find(|(_, known)| *known == set);
        self.0.isa = found.map_or(sys::DLCORE_ISA_BEST, |(number, _)| *number);
        self
    }

    /// Opens the engine with an allocator of the program's for the elements of tensors on the CPU device: an arena,
    /// huge pages, a heap that is counted. It is dropped when all of that memory is back.
    pub fn open_with_allocator<A: GlobalAlloc + Send + Sync + 'static>(&self, allocator: A) -> Result<Engine> {
        let allocator = Box::into_raw(Box::new(allocator)).cast();
        let mut error = ptr::null_mut();
        // SAFETY: the library owns the allocator from here on, and gives it back to `allocator::destroy` once.
        unsafe {
            let raw = sys::dlcore_engine_open_with_allocator(
                &self.0,
                Some(allocator::allocate::<A>),
                Some(allocator::deallocate::<A>),
                allocator,
                Some(allocator::destroy::<A>),
                &mut error,
            );
            Engine::opened(raw, error, false)
        }
    }

    /// Opens the engine.
    pub fn open(&self) -> Result<Engine> {
        let mut error = ptr::null_mut();
        // SAFETY: options and error are valid; the error is ours.
        unsafe {
            let raw = sys::dlcore_engine_open(&self.0, &mut error);
            Engine::opened(raw, error, false)
        }
    }
}

/// What an engine holds at the moment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Statistics {
    /// Threads, including the calling one.
    pub threads: i32,
    /// The one in use.
    pub instruction_set: InstructionSet,
    /// Tensors that somebody holds.
    pub live_tensors: i64,
    /// Variables that somebody holds.
    pub live_variables: i64,
    /// Modules that somebody holds.
    pub live_modules: i64,
    /// Optimizers that somebody holds.
    pub live_optimizers: i64,
    /// Schedules that somebody holds.
    pub live_schedules: i64,
    /// Loaders that somebody holds.
    pub live_loaders: i64,
    /// Graphs that somebody holds.
    pub live_graphs: i64,
    /// Contexts that somebody holds.
    pub live_contexts: i64,
    /// Memory of tensors, over all devices.
    pub live_bytes: u64,
    /// Kept by the allocators for reuse.
    pub cached_bytes: u64,
    /// Highest `live_bytes` so far.
    pub peak_bytes: u64,
    /// Blocks handed out.
    pub allocations: u64,
    /// Of those, how many the system was asked for.
    pub source_allocations: u64,
    /// Bytes of tensors for each device; 0 is no limit.
    pub memory_limit: u64,
}

impl Engine {
    /// Opens an engine with the default settings.
    pub fn open() -> Result<Engine> {
        Engine::options().open()
    }

    /// Settings to open an engine with.
    pub fn options() -> EngineOptions {
        let mut raw = MaybeUninit::zeroed();
        // SAFETY: the library fills in plain data of that size.
        unsafe {
            sys::dlcore_engine_options_init(raw.as_mut_ptr(), size_of::<sys::dlcore_engine_options>() as u64);
            EngineOptions(raw.assume_init())
        }
    }

    /// # Safety
    /// `raw` and `error` come from a call that opens an engine.
    unsafe fn opened(raw: *mut sys::dlcore_engine, error: *mut sys::dlcore_error, closed: bool) -> Result<Engine> {
        let error = Error::owned(error);
        match NonNull::new(raw) {
            Some(raw) if sys::dlcore_require(sys::DLCORE_VERSION) != 1 => {
                sys::dlcore_engine_release(raw.as_ptr());
                let (found, expected) = (version(), sys::DLCORE_VERSION);
                let message = format!("engine: another libdlcore is loaded: version is {found}, expected {expected}");
                Err(Error::new(Code::FailedPrecondition, message))
            }
            Some(raw) => Ok(Engine(Arc::new(Owned { raw, closed: AtomicBool::new(closed) }))),
            None => Err(error.unwrap_or_else(|| Error::invalid("engine: the handle is NULL"))),
        }
    }

    /// Uses an engine that another part of the process opened, in whatever language: its `dlcore_engine *`. It stays
    /// that part's to close.
    ///
    /// # Safety
    /// `handle` is an engine of this process's libdlcore that lives during this call.
    pub unsafe fn adopt(handle: *mut std::os::raw::c_void) -> Result<Engine> {
        let raw = handle.cast::<sys::dlcore_engine>();
        sys::dlcore_engine_retain(raw);
        Engine::opened(raw, ptr::null_mut(), true)
    }

    /// The engine's handle, a `dlcore_engine *`, for another language of the process to adopt.
    pub fn handle(&self) -> *mut std::os::raw::c_void {
        self.raw().cast()
    }

    pub(crate) fn raw(&self) -> *mut sys::dlcore_engine {
        self.0.raw.as_ptr()
    }

    /// A context on a device. `seed` decides every random number and every initial parameter drawn through it.
    pub fn context(&self, device: &str, seed: u64) -> Result<Context> {
        Context::opened(self, device, seed, 0)
    }

    /// The same in inference mode: no history is kept, and layers behave as they do outside training.
    pub fn inference_context(&self, device: &str) -> Result<Context> {
        Context::opened(self, device, 0, sys::DLCORE_CONTEXT_INFERENCE as u64)
    }

    /// Stops the engine's threads. What is still held can be read and dropped; execution fails. Closing twice is fine.
    pub fn close(&self) {
        self.0.close();
    }

    /// Loads a shared object that adds devices. It stays loaded until the process ends.
    pub fn load_plugin(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        let mut error = ptr::null_mut();
        // SAFETY: all arguments are valid; the error is ours.
        let error = unsafe {
            sys::dlcore_engine_load_plugin(self.raw(), path.as_ptr(), &mut error);
            Error::owned(error)
        };
        error.map_or(Ok(()), Err)
    }

    /// Names of the devices, in the order in which they were added.
    pub fn devices(&self) -> Vec<String> {
        // SAFETY: names live as long as the engine.
        unsafe {
            let count = sys::dlcore_engine_device_count(self.raw());
            (0..count).map(|i| borrowed(sys::dlcore_engine_device_name(self.raw(), i)).to_string()).collect()
        }
    }

    /// What the engine holds at the moment.
    pub fn statistics(&self) -> Statistics {
        let mut raw = MaybeUninit::<sys::dlcore_engine_statistics>::zeroed();
        // SAFETY: plain data, for which zeros are valid; the library fills in as much as struct_size says.
        let s = unsafe {
            (*raw.as_mut_ptr()).struct_size = size_of::<sys::dlcore_engine_statistics>() as u32;
            sys::dlcore_engine_get_statistics(self.raw(), raw.as_mut_ptr());
            raw.assume_init()
        };
        let set = InstructionSet::ALL.iter().find(|(number, _)| *number == s.isa);
        Statistics {
            threads: s.threads,
            instruction_set: set.map_or(InstructionSet::Best, |(_, set)| *set),
            live_tensors: s.live_tensors,
            live_variables: s.live_variables,
            live_modules: s.live_modules,
            live_optimizers: s.live_optimizers,
            live_schedules: s.live_schedules,
            live_loaders: s.live_loaders,
            live_graphs: s.live_graphs,
            live_contexts: s.live_contexts,
            live_bytes: s.live_bytes,
            cached_bytes: s.cached_bytes,
            peak_bytes: s.peak_bytes,
            allocations: s.allocations,
            source_allocations: s.source_allocations,
            memory_limit: s.memory_limit,
        }
    }

    /// Gives cached memory back to the system.
    pub fn trim(&self) {
        // SAFETY: the engine is valid.
        unsafe { sys::dlcore_engine_trim(self.raw()) };
    }

    /// Drops the functions of modules that are gone, and answers how many. Making a [`CustomModule`] does it, too.
    ///
    /// [`CustomModule`]: crate::custom::CustomModule
    pub fn collect(&self) -> i64 {
        // SAFETY: the engine is valid.
        unsafe { sys::dlcore_engine_collect(self.raw()) }
    }

    /// For tests of how a program handles [`Code::ResourceExhausted`]: the n-th
    /// allocation of tensor memory from now on (1 is the next) fails once. 0 switches it off.
    pub fn fail_allocation(&self, n: i64) {
        // SAFETY: the engine is valid.
        unsafe { sys::dlcore_engine_fail_allocation(self.raw(), n) };
    }

    /// The engine of a context that is held.
    pub(crate) fn borrowed_from(raw: *mut sys::dlcore_engine) -> Result<Engine> {
        // SAFETY: a context's engine lives as long as the context, which the caller holds.
        unsafe { Engine::adopt(raw.cast()) }
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Engine) -> bool {
        self.0.raw == other.0.raw
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({:p}, devices {:?})", self.raw(), self.devices())
    }
}

/// Version of the library that is loaded: major * 1000000 + minor * 1000 + patch.
pub fn version() -> i32 {
    // SAFETY: no arguments.
    unsafe { sys::dlcore_version() }
}

/// One line about the library that is loaded: version, compiler, BLAS, what was left out of the build.
pub fn build_info() -> &'static str {
    // SAFETY: static text.
    unsafe { borrowed(sys::dlcore_build_info()) }
}

/// The catalogues of ops, layers, optimizers and schedules, as JSON.
pub fn catalogue() -> &'static str {
    // SAFETY: static text.
    unsafe { borrowed(sys::dlcore_catalogue_json(ptr::null_mut())) }
}

pub(crate) fn c_device(name: &str) -> Result<std::ffi::CString> {
    c_string("device", name)
}
