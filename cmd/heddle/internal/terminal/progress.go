package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// ShowProgress rewrites a line of w every second, from the second one on, if w is a
// terminal. The function it returns stops this.
func ShowProgress(ctx context.Context, w io.Writer, line func() string) (stop func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for seconds := 1; ; seconds++ {
			select {
			case <-ctx.Done():
				if seconds > 2 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				if seconds >= 2 {
					fmt.Fprintf(w, "\r\x1b[K%s; Ctrl-C ends it", line())
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// ProgressBar returns a bar for the fraction of the work that is done, 0 to 1, and an
// estimate of the time left, given the time so far.
func ProgressBar(part float64, took time.Duration) string {
	const width = 30
	part = min(max(part, 0), 1)
	full := int(part * width)
	bar := fmt.Sprintf("[%s%s] %.0f %%", strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*part)
	if part < 0.01 { // too early to tell
		return bar
	}
	left := time.Duration((1 - part) / part * float64(took))
	return fmt.Sprintf("%s, about %v left", bar, left.Round(time.Second))
}
