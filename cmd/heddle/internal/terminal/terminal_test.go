package terminal_test

import (
	"strings"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/terminal"
)

// The bar shows the part that is done and, from 1 % on, the time left.
func TestProgressBar(t *testing.T) {
	t.Parallel()
	blank := strings.Repeat(" ", 30)
	for _, tt := range []struct {
		part float64
		took time.Duration
		want string
	}{
		{0, time.Minute, "[" + blank + "] 0 %"},
		{0.25, 10 * time.Second, "[=======" + blank[7:] + "] 25 %, about 30s left"},
		{0.5, time.Hour, "[" + strings.Repeat("=", 15) + blank[15:] + "] 50 %, about 1h0m0s left"},
		{1, time.Minute, "[" + strings.Repeat("=", 30) + "] 100 %, about 0s left"},
	} {
		if got := terminal.ProgressBar(tt.part, tt.took); got != tt.want {
			t.Errorf("%g after %v: %q, want %q", tt.part, tt.took, got, tt.want)
		}
	}
}
