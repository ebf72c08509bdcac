// SPDX-License-Identifier: Apache-2.0

// Package raw is the C API as it is: handles and addresses as integers, failures left on the context.
package raw

/*
#include <stdint.h>
#include <stdlib.h>
static inline const char *go_chars(uintptr_t address) { return (const char *)address; }
static inline void go_free(uintptr_t address) { free((void *)address); }
*/
import "C"

import "unsafe"

// Chars is the address of a NUL-terminated text that belongs to the library; 0 is none.
type Chars uintptr

// String copies the text; "" when there is none.
func (c Chars) String() string { return C.GoString(C.go_chars(C.uintptr_t(c))) }

// Text is s as a C function takes it, for the time of a call.
func Text(s string) *byte {
	bytes := make([]byte, len(s)+1)
	copy(bytes, s)
	return &bytes[0]
}

// Pointer to the first element, nil when there is none.
func Pointer[T any](s []T) *T { return unsafe.SliceData(s) }

// CText copies s to memory of C, for where an array of texts is wanted. Free gives it back.
func CText(s string) uintptr { return uintptr(unsafe.Pointer(C.CString(s))) }

// Free gives back what CText made.
func Free(address uintptr) { C.go_free(C.uintptr_t(address)) }
