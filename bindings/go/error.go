// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"context"
	"errors"
	"fmt"

	"dlcore/internal/raw"
)

// Code is a kind of failure, by the numbering that gRPC, TensorFlow and PJRT share. It is an error
// itself, so that errors.Is(err, dlcore.NotFound) asks for the kind.
type Code int32

// String is the name of the code, as "NOT_FOUND".
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("code %d", int32(c))
}

// Error makes a code a target of errors.Is.
func (c Code) Error() string { return c.String() }

// Error is a failure of the engine or of this package. errors.Is finds its [Code], and what caused
// it: also the error that a callback in Go returned, and context.Canceled.
type Error struct {
	Code    Code
	Message string
	Op      string // the op that failed, "" when the failing call was none
	Cause   error  // nil when there is none
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is compares the code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

func failure(code Code, format string, arguments ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// taken copies an error of the library and gives it back.
func taken(handle raw.Error) *Error {
	defer raw.ErrorRelease(handle)
	return copied(handle)
}

func copied(handle raw.Error) *Error {
	e := &Error{
		Code:    Code(raw.ErrorCode(handle)),
		Message: raw.ErrorMessage(handle).String(),
		Op:      raw.ErrorOp(handle).String(),
	}
	if cause := raw.ErrorCause(handle); cause != 0 {
		e.Cause = copied(cause)
	}
	return e
}

// asError is the Error that a failure of Go code becomes.
func asError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		if known == err {
			return known
		}
		return &Error{Code: known.Code, Message: err.Error(), Cause: err}
	}
	code := Unknown
	switch {
	case errors.Is(err, context.Canceled):
		code = Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		code = DeadlineExceeded
	}
	return &Error{Code: code, Message: err.Error(), Cause: err}
}
