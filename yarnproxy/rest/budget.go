package rest

import (
	"context"
	"fmt"
	"math"
	"time"

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

// admissionKey is where AdmitWithin keeps the end of its time.
type admissionKey struct{}

// AdmitWithin returns a context under which a request is sent only if its
// budget admits it within d, and is refused with ErrBudget otherwise. Unlike
// with a deadline, a request that was sent may take its time.
func AdmitWithin(ctx context.Context, d time.Duration) context.Context {
	clock := systemClock() // the one the limiters wait on
	return context.WithValue(ctx, admissionKey{}, clock().Add(d))
}

// Wait blocks until a request may be sent; a Client does so by itself. It returns ErrBudget at once when
// that is after the context's deadline, and when the context ends meanwhile.
func (b *Budget) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if until, ok := ctx.Value(admissionKey{}).(time.Time); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrBudget, err)
	}
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

// Charge takes n received bytes off the budget, into debt if need be.
func (b *Budget) Charge(n int64) {
	if b == nil || b.bytes == nil {
		return
	}
	clock := systemClock() // the limiter's own waiting runs on the system clock too
	now, burst := clock(), int64(b.bytes.Burst())
	for n--; n > 0; n -= burst { // one byte was taken by Wait
		b.bytes.ReserveN(now, int(min(n, burst)))
	}
}
