// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"bytes"
	"context"
	"log/slog"
	"time"
	"unsafe"

	"dlcore/internal/raw"
)

// LogTo hands what the engine, its plug-ins and other bindings say to a logger, on a goroutine of its
// own, until the engine or done ends. Levels below that of the logger's handler are not kept.
func (e *Engine) LogTo(done context.Context, logger *slog.Logger) {
	level := int32(raw.LogError)
	for _, known := range []int32{raw.LogWarning, raw.LogInfo, raw.LogDebug} {
		if logger.Enabled(done, slogLevel(known)) {
			level = known
		}
	}
	if !e.use() {
		return
	}
	defer e.done()
	raw.EngineSetLogLevel(e.handle, level)
	raw.EngineRetain(e.handle) // so that closing the engine need not wait
	go func() {
		defer raw.EngineRelease(e.handle)
		for e.logNext(done, logger) {
		}
	}()
}

// logNext waits a while for a record; false when there will be none.
func (e *Engine) logNext(done context.Context, logger *slog.Logger) bool {
	const wait = 100 // milliseconds, so that closing the engine and done are seen
	if done.Err() != nil {
		return false
	}
	closed := e.isClosed() // what was said before can still be taken
	var r raw.LogRecord
	r.StructSize = uint32(unsafe.Sizeof(r))
	if raw.EngineNextLog(e.handle, &r, wait) != 1 {
		return !closed
	}
	record := slog.NewRecord(time.Unix(0, r.Time), slogLevel(r.Level), text(r.Message[:]), 0)
	record.AddAttrs(slog.String("source", text(r.Source[:])))
	if r.Lost > 0 {
		record.AddAttrs(slog.Int64("lost", r.Lost))
	}
	if logger.Enabled(done, record.Level) {
		_ = logger.Handler().Handle(done, record) // a failing log has nobody to tell
	}
	return true
}

// Log adds a record to what the engine has to say.
func (e *Engine) Log(level slog.Level, source, message string) error {
	if !e.use() {
		return failure(FailedPrecondition, "engine_log: the engine has been closed")
	}
	defer e.done()
	for name, value := range map[string]string{"source": source, "message": message} {
		if err := noNUL("engine_log", name, value); err != nil {
			return err
		}
	}
	known := int32(raw.LogDebug)
	for _, next := range []int32{raw.LogInfo, raw.LogWarning, raw.LogError} {
		if level >= slogLevel(next) {
			known = next
		}
	}
	if code := raw.EngineLog(e.handle, known, raw.Text(source), raw.Text(message)); code != 0 {
		return failure(Code(code), "engine_log: failed with %s", Code(code))
	}
	return nil
}

func slogLevel(level int32) slog.Level {
	return slog.Level((level - raw.LogInfo) * 4 / 10) // -4, 0, 4 and 8
}

// text is what stands before the first NUL.
func text(buffer []byte) string {
	before, _, _ := bytes.Cut(buffer, []byte{0})
	return string(before)
}
