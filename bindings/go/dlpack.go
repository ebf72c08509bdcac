// SPDX-License-Identifier: Apache-2.0

package dlcore

import "dlcore/internal/raw"

// DLPackFlag is an option of [Tensor.ToDLPack] and [Context.FromDLPack].
type DLPackFlag uint64

// Flags; see dlcore/dlpack.h.
const (
	DLPackCopy        DLPackFlag = raw.DlpackCopy        // export: elements of its own, which may be written to
	DLPackBorrow      DLPackFlag = raw.DlpackBorrow      // import: no copy; nobody writes to them from now on
	DLPackUnversioned DLPackFlag = raw.DlpackUnversioned // as before DLPack 1.0
	DLPackContiguous  DLPackFlag = raw.DlpackContiguous  // export: row-major without gaps
)

func joined(flags []DLPackFlag) (all uint64) {
	for _, flag := range flags {
		all |= uint64(flag)
	}
	return all
}

// ToDLPack is the address of a new DLManagedTensorVersioned that shares the elements. Whoever takes it
// calls its deleter once.
func (t *Tensor) ToDLPack(flags ...DLPackFlag) (uintptr, error) {
	f := t.dl.begin("tensor_to_dlpack")
	defer f.end()
	var address uint64
	if handle := f.tensor("tensor", t); f.ok() {
		f.status(raw.TensorToDlpack(f.ctx, handle, joined(flags), &address))
	}
	return uintptr(address), f.outcome()
}

// FromDLPack takes a managed tensor over by its address. On failure it stays the caller's.
func (dl *Context) FromDLPack(address uintptr, flags ...DLPackFlag) *Tensor {
	f := dl.begin("tensor_from_dlpack")
	defer f.end()
	if !f.ok() {
		return dl.none
	}
	return f.made(raw.TensorFromDlpack(f.ctx, uint64(address), joined(flags)))
}
