// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"
)

// Progress is All, and shows how far it is: a bar on a terminal, one line at the end elsewhere. status,
// which may be nil, says what else to show.
func (l *Loader) Progress(title string, status func() string) iter.Seq2[*Tensor, *Tensor] {
	return func(yield func(x, y *Tensor) bool) {
		p := progress{out: os.Stdout, title: title, status: status, total: l.Samples(), start: time.Now()}
		info, err := os.Stdout.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
		defer p.end()
		for x, y := range l.All() {
			size := x.Dim(0)
			if !yield(x, y) {
				return
			}
			p.show(size)
		}
	}
}

// progress counts samples.
type progress struct {
	out          io.Writer
	terminal     bool
	title        string
	status       func() string
	done, total  int
	start, shown time.Time
}

func (p *progress) text() string {
	rate := float64(p.done) / (time.Since(p.start).Seconds() + 1e-9)
	text := fmt.Sprintf("%.0f samples/s", rate)
	if p.status != nil {
		text = p.status() + "  " + text
	}
	return text
}

func (p *progress) show(samples int) {
	const width = 24
	p.done += samples
	if !p.terminal || time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	share := 1.0
	if p.total > 0 {
		share = min(1, float64(p.done)/float64(p.total))
	}
	bar := strings.Repeat("=", int(width*share))
	fmt.Fprintf(p.out, "\r%s [%-*s] %3.0f%%  %s \033[K", p.title, width, bar, 100*share, p.text())
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
	fmt.Fprintf(p.out, "%s  %s  %.1f s\n", p.title, p.text(), time.Since(p.start).Seconds())
}
