// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"strings"
	"unsafe"

	"dlcore/internal/raw"
)

// Engine owns what costs something: devices, memory, threads, plug-ins. A process opens one; any
// number of goroutines may use it.
type Engine struct {
	users
	handle   raw.Engine
	failures failures
}

// EngineOption is an option of [OpenEngine].
type EngineOption func(*engineOptions)

type engineOptions struct {
	raw.EngineOptions
	allocate, deallocate, userData uintptr
}

// Threads is how many threads the engine uses, the calling one included; 0, the default, for as many
// as the process may use.
func Threads(n int) EngineOption { return func(o *engineOptions) { o.Threads = int32(n) } }

// MemoryLimit bounds the bytes of tensors on each device; 0, the default, for no bound.
func MemoryLimit(bytes uint64) EngineOption {
	return func(o *engineOptions) { o.EngineOptions.MemoryLimit = bytes }
}

// ISA is an instruction set. Equal bits are promised for one instruction set.
type ISA int32

// Instruction sets.
const (
	BestISA  ISA = raw.IsaBest // the best that this processor has
	Baseline ISA = raw.IsaBaseline
	AVX2     ISA = raw.IsaAvx2
	AVX512   ISA = raw.IsaAvx512
	AVX512BF ISA = raw.IsaAvx512Bf16
)

// PinISA makes the engine use one instruction set, and its own matrix kernels.
func PinISA(isa ISA) EngineOption { return func(o *engineOptions) { o.Isa = int32(isa) } }

// Allocator takes the memory of tensors on the CPU from functions of C, by the types dlcore_allocate_fn
// and dlcore_deallocate_fn. They cannot be Go functions: ops call them.
func Allocator(allocate, deallocate, userData unsafe.Pointer) EngineOption {
	return func(o *engineOptions) {
		o.allocate, o.deallocate, o.userData = uintptr(allocate), uintptr(deallocate), uintptr(userData)
	}
}

// OpenEngine opens an engine with the CPU device.
func OpenEngine(options ...EngineOption) (*Engine, error) {
	if raw.Require(raw.HeaderVersion) != 1 {
		return nil, failure(FailedPrecondition, "engine_open: the library is %s, expected version %d or a later one of the same major number",
			raw.BuildInfo(), raw.HeaderVersion)
	}
	var o engineOptions
	raw.EngineOptionsInit(&o.EngineOptions, uint64(unsafe.Sizeof(o.EngineOptions)))
	for _, option := range options {
		option(&o)
	}
	var handle raw.Engine
	var failed raw.Error
	if o.allocate != 0 || o.deallocate != 0 {
		handle = raw.EngineOpenWithAllocator(&o.EngineOptions, o.allocate, o.deallocate, o.userData, 0, &failed)
	} else {
		handle = raw.EngineOpen(&o.EngineOptions, &failed)
	}
	if failed != 0 {
		return nil, taken(failed)
	}
	return newEngine(handle, raw.EngineClose), nil
}

func newEngine(handle raw.Engine, release func(raw.Engine)) *Engine {
	e := &Engine{handle: handle}
	e.free = func() {
		e.sweep()
		release(handle)
		raw.DropDestroyed()
	}
	return e
}

// AdoptEngine shares an engine that another binding in this process opened, by its handle. Closing it
// here gives up the share and leaves the engine open.
func AdoptEngine(handle uintptr) (*Engine, error) {
	if handle == 0 {
		return nil, failure(InvalidArgument, "engine_adopt: handle is 0, expected that of an engine")
	}
	raw.EngineRetain(raw.Engine(handle))
	return newEngine(raw.Engine(handle), raw.EngineRelease), nil
}

// is tells whether two are shares of one engine of the library.
func (e *Engine) is(other *Engine) bool { return e.handle == other.handle }

// Handle is what another binding adopts, as long as the engine is open; 0 once it is closed.
func (e *Engine) Handle() uintptr {
	if !e.use() {
		return 0
	}
	defer e.done()
	return uintptr(e.handle)
}

// Close stops the engine's threads. What is still held can be read and closed. Closing it again does
// nothing.
func (e *Engine) Close() { e.close() }

// LoadPlugin loads a shared object that adds devices.
func (e *Engine) LoadPlugin(path string) error {
	if !e.use() {
		return failure(FailedPrecondition, "engine_load_plugin: the engine has been closed")
	}
	defer e.done()
	if err := noNUL("engine_load_plugin", "path", path); err != nil {
		return err
	}
	var failed raw.Error
	if raw.EngineLoadPlugin(e.handle, raw.Text(path), &failed) != 0 {
		return taken(failed)
	}
	return nil
}

// Devices are the names of the devices; "cpu" is the first. None once the engine is closed.
func (e *Engine) Devices() []string {
	if !e.use() {
		return nil
	}
	defer e.done()
	names := make([]string, raw.EngineDeviceCount(e.handle))
	for i := range names {
		names[i] = raw.EngineDeviceName(e.handle, int64(i)).String()
	}
	return names
}

// Statistics say what an engine holds and uses.
type Statistics struct {
	Threads int
	ISA     ISA
	// Handles that somebody holds.
	LiveTensors, LiveVariables, LiveModules, LiveOptimizers, LiveLoaders, LiveGraphs, LiveContexts int
	// Memory of tensors, kept for reuse, and at its peak.
	LiveBytes, CachedBytes, PeakBytes uint64
	// Blocks handed out, and how many of them the system was asked for.
	Allocations, SourceAllocations uint64
	MemoryLimit                    uint64
}

// Statistics counts what is alive; all is 0 once the engine is closed.
func (e *Engine) Statistics() Statistics {
	if !e.use() {
		return Statistics{}
	}
	defer e.done()
	var s raw.EngineStatistics
	s.StructSize = uint32(unsafe.Sizeof(s))
	raw.EngineGetStatistics(e.handle, &s)
	return Statistics{
		Threads: int(s.Threads), ISA: ISA(s.Isa),
		LiveTensors: int(s.LiveTensors), LiveVariables: int(s.LiveVariables),
		LiveModules: int(s.LiveModules), LiveOptimizers: int(s.LiveOptimizers),
		LiveLoaders: int(s.LiveLoaders), LiveGraphs: int(s.LiveGraphs), LiveContexts: int(s.LiveContexts),
		LiveBytes: s.LiveBytes, CachedBytes: s.CachedBytes, PeakBytes: s.PeakBytes,
		Allocations: s.Allocations, SourceAllocations: s.SourceAllocations, MemoryLimit: s.MemoryLimit,
	}
}

// Trim gives cached memory back to the system.
func (e *Engine) Trim() {
	if e.use() {
		defer e.done()
		raw.EngineTrim(e.handle)
	}
}

// FailAllocation makes the n-th allocation of tensor memory from now on fail once, for tests of what a
// program does then; 0 switches it off.
func (e *Engine) FailAllocation(n int) {
	if e.use() {
		defer e.done()
		raw.EngineFailAllocation(e.handle, int64(n))
	}
}

// Version is that of the library that is loaded: major * 1000000 + minor * 1000 + patch.
func Version() int { return int(raw.Version()) }

// BuildInfo is one line: version, compiler, BLAS, what was left out of the build.
func BuildInfo() string { return raw.BuildInfo().String() }

func noNUL(what, name, s string) *Error {
	if strings.IndexByte(s, 0) >= 0 {
		return failure(InvalidArgument, "%s: %s holds a NUL character: it is %q", what, name, s)
	}
	return nil
}
