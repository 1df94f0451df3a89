package exit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"heddle/cmd/heddle/internal/exit"
)

func TestCode(t *testing.T) {
	t.Parallel()
	interrupted := fmt.Errorf("simulate: %w", exit.NewInterruptedError("after %d of %d runs", 1, 2))
	if got, want := interrupted.Error(), "simulate: interrupted after 1 of 2 runs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, tt := range []struct {
		err       error
		signalled bool
		want      int
	}{
		{nil, false, exit.OK},
		{nil, true, exit.OK}, // serve that stops in order
		{errors.New("disk full"), false, exit.Failed},
		{errors.New("disk full"), true, exit.Failed},
		{fmt.Errorf("fluid: %w", exit.NewUsageError(errors.New("--beta"))), false, exit.Usage},
		{interrupted, true, exit.Interrupted},
		{fmt.Errorf("ask: %w", context.Canceled), true, exit.Interrupted},
		{fmt.Errorf("ask: %w", context.Canceled), false, exit.Failed},
	} {
		if got := exit.Code(tt.err, tt.signalled); got != tt.want {
			t.Errorf("%v, signalled %t: %d, want %d", tt.err, tt.signalled, got, tt.want)
		}
	}
}
