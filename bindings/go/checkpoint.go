// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"io"

	"dlcore/internal/raw"
)

// Checkpoint is the whole state of a training in one file: models, optimizers, schedules, loaders and
// variables under names, texts, and the generator of the context. A program that makes the same
// objects, loads the file and goes on has every bit of the one that saved it.
type Checkpoint struct{ object[raw.Checkpoint] }

// NewCheckpoint makes one to which nothing but the generator belongs yet.
func NewCheckpoint(dl *Context) *Checkpoint {
	f := dl.begin("checkpoint_create")
	defer f.end()
	var handle raw.Checkpoint
	if f.ok() {
		if handle = raw.CheckpointCreate(f.ctx); handle == 0 {
			f.take(Internal)
		}
	}
	c := &Checkpoint{}
	c.hold(dl, handle, raw.CheckpointRelease, c)
	return c
}

// AddModule makes a model belong to the checkpoint, which is returned.
func (c *Checkpoint) AddModule(name string, m *Module) *Checkpoint {
	return add(c, "module", name, part(m, (*Module).self), raw.CheckpointAddModule)
}

// AddOptimizer makes an optimizer belong to the checkpoint, which is returned.
func (c *Checkpoint) AddOptimizer(name string, o *Optimizer) *Checkpoint {
	return add(c, "optimizer", name, part(o, (*Optimizer).self), raw.CheckpointAddOptimizer)
}

// AddSchedule makes a schedule belong to the checkpoint, which is returned. The learning rates are the
// optimizer's.
func (c *Checkpoint) AddSchedule(name string, s *Schedule) *Checkpoint {
	return add(c, "schedule", name, &s.object, raw.CheckpointAddSchedule)
}

// AddLoader makes a loader belong to the checkpoint, which is returned.
func (c *Checkpoint) AddLoader(name string, l *Loader) *Checkpoint {
	if l != nil {
		l.Open()
	}
	return add(c, "loader", name, part(l, (*Loader).self), raw.CheckpointAddLoader)
}

// AddVariable makes a variable belong to the checkpoint, which is returned.
func (c *Checkpoint) AddVariable(name string, v *Variable) *Checkpoint {
	return add(c, "variable", name, part(v, (*Variable).self), raw.CheckpointAddVariable)
}

// part is the object of what may be nil.
func part[T any, H ~uintptr](of *T, self func(*T) *object[H]) *object[H] {
	if of == nil {
		return nil
	}
	return self(of)
}

func add[H ~uintptr](c *Checkpoint, kind, name string, member *object[H],
	add func(raw.Context, raw.Checkpoint, *byte, H) int32) *Checkpoint {
	f := c.dl.begin("checkpoint_add_" + kind)
	defer f.end()
	handle, text, given := use(&f, "checkpoint", &c.object), f.text("name", name), use(&f, kind, member)
	if f.ok() {
		f.status(add(f.ctx, handle, text, given))
	}
	return c
}

// SetText keeps a text of the program's under a key.
func (c *Checkpoint) SetText(key, text string) {
	f := c.dl.begin("checkpoint_set_text")
	defer f.end()
	handle, k, t := use(&f, "checkpoint", &c.object), f.text("key", key), f.text("text", text)
	if f.ok() {
		f.status(raw.CheckpointSetText(f.ctx, handle, k, t))
	}
}

// DeleteText takes a text out.
func (c *Checkpoint) DeleteText(key string) {
	f := c.dl.begin("checkpoint_set_text")
	defer f.end()
	if handle, k := use(&f, "checkpoint", &c.object), f.text("key", key); f.ok() {
		f.status(raw.CheckpointSetText(f.ctx, handle, k, nil))
	}
}

// Text is the text under a key, and whether there is one.
func (c *Checkpoint) Text(key string) (text string, ok bool) {
	if noNUL("checkpoint_text", "key", key) != nil || !c.use() {
		return "", false
	}
	defer c.done()
	chars := raw.CheckpointText(c.handle, raw.Text(key))
	return chars.String(), chars != 0
}

// Warning says after a load why what follows may differ in its last bits from the training that was
// saved; "" when it does not.
func (c *Checkpoint) Warning() string {
	if !c.use() {
		return ""
	}
	defer c.done()
	return raw.CheckpointWarning(c.handle).String()
}

// SaveFile saves everything. The old file is there or the new one, whenever the machine dies.
func (c *Checkpoint) SaveFile(path string) error {
	return byFile(&c.object, "checkpoint", "checkpoint_save", path, raw.CheckpointSave)
}

// LoadFile loads everything; nothing changes on failure.
func (c *Checkpoint) LoadFile(path string) error {
	return byFile(&c.object, "checkpoint", "checkpoint_load", path, raw.CheckpointLoad)
}

// Save writes what SaveFile would.
func (c *Checkpoint) Save(w io.Writer) error {
	return toWriter(&c.object, "checkpoint", "checkpoint_write", w, raw.CheckpointWrite)
}

// Load reads what Save wrote.
func (c *Checkpoint) Load(r io.Reader) error {
	return fromReader(&c.object, "checkpoint", "checkpoint_read", r, raw.CheckpointRead)
}

// LoadBytes loads from memory.
func (c *Checkpoint) LoadBytes(data []byte) error {
	return fromBytes(&c.object, "checkpoint", "checkpoint_load_buffer", data, raw.CheckpointLoadBuffer)
}
