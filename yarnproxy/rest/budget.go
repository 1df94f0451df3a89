package rest

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/time/rate"

	"heddle/core/model"
)

// Budget limits requests and received bytes per second (I10). Each is a token
// bucket that holds one second of its rate. Bytes are charged after an answer
// arrives; a debt delays the next request until it is paid off. It is safe for
// concurrent use, and may be shared by several clients.
type Budget struct {
	requests *rate.Limiter // nil is unlimited
	bytes    *rate.Limiter // nil is unlimited
}

// NewBudget builds a budget; a rate of 0 or below is unlimited.
func NewBudget(requestsPerSecond float64, bytesPerSecond model.Bytes) *Budget {
	return &Budget{requests: limiter(requestsPerSecond), bytes: limiter(float64(bytesPerSecond))}
}

func limiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 || math.IsNaN(perSecond) {
		return nil
	}
	burst := math.Min(math.Ceil(perSecond), math.MaxInt32)
	return rate.NewLimiter(rate.Limit(perSecond), int(burst))
}

// wait blocks until a request may be sent. It returns ErrBudget at once when
// that is after the context's deadline, and when the context ends meanwhile.
func (b *Budget) wait(ctx context.Context) error {
	if b == nil {
		return nil
	}
	for _, l := range []*rate.Limiter{b.bytes, b.requests} {
		if l == nil {
			continue
		}
		if err := l.Wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrBudget, err)
		}
	}
	return nil
}

// charge takes n received bytes off the budget, into debt if need be.
func (b *Budget) charge(n int64) {
	if b == nil || b.bytes == nil {
		return
	}
	clock := systemClock() // the limiter's own waiting runs on the system clock too
	now, burst := clock(), int64(b.bytes.Burst())
	for n--; n > 0; n -= burst { // one byte was taken by wait
		b.bytes.ReserveN(now, int(min(n, burst)))
	}
}
