// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"errors"
	"io"

	"dlcore/internal/raw"
)

// stream carries a Go reader or writer to the library, and the error it met back.
type stream struct {
	number uintptr
	forget func()
	err    error
}

func writing(w io.Writer) *stream {
	s := &stream{}
	s.number, s.forget = callbackNumber(raw.Writer(func(data []byte) int32 {
		return int32(-s.guard(func() (int, error) { return w.Write(data) }))
	}))
	return s
}

func reading(r io.Reader) *stream {
	s := &stream{}
	s.number, s.forget = callbackNumber(raw.Reader(func(buffer []byte) int64 {
		var n int
		code := s.guard(func() (int, error) {
			var err error
			n, err = io.ReadAtLeast(r, buffer, 1)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		})
		if code != 0 {
			return code
		}
		return int64(n)
	}))
	return s
}

// guard is minus the code of what failed, 0 when nothing did.
func (s *stream) guard(run func() (int, error)) int64 {
	s.err = guarded(func() error {
		_, err := run()
		return err
	})
	if s.err != nil {
		return -int64(asError(s.err).Code)
	}
	return 0
}

// end forgets the stream, and tells what it met.
func (s *stream) end(f *frame) {
	s.forget()
	if s.err != nil && f.err != nil {
		f.err = &Error{Code: f.err.Code, Message: f.err.Message + ": " + s.err.Error(), Cause: s.err}
	}
}
