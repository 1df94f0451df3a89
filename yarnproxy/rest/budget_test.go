package rest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// roundTripper answers without a network, so that it works on a fake clock.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func jsonOf(body string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

// TestBudgetRequests: whatever the number of callers, no second sees more
// requests than the rate, beyond the one second a full bucket holds (I10).
func TestBudgetRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond, callers, seconds = 10, 7, 20
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second-time.Millisecond) // not when a token comes
		defer cancel()
		c := rest.New(rest.Options{Base: jsonOf(`{}`), Budget: rest.NewBudget(perSecond, 0)})
		var mu sync.Mutex
		var wg sync.WaitGroup
		bySecond := make([]int, seconds+1)
		start := time.Now()
		for range callers {
			wg.Go(func() {
				for {
					_, err := c.Get(ctx, "http://rm:8088/x", "application/json")
					if err != nil {
						if !errors.Is(err, rest.ErrBudget) || rest.FromError(err) != model.PollBudget {
							t.Errorf("error %v, want ErrBudget", err)
						}
						return
					}
					mu.Lock()
					bySecond[int(time.Since(start)/time.Second)]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		total := 0
		for second, n := range bySecond {
			total += n
			if second > 0 && n > perSecond+1 || n > 2*perSecond {
				t.Errorf("second %d: %d requests, want at most %d", second, n, perSecond)
			}
		}
		if most := perSecond * (seconds + 1); total > most || total < perSecond*(seconds-1) {
			t.Errorf("%d requests in %d s at %d/s", total, seconds, perSecond)
		}
	})
}

// TestBudgetBytes: a large answer delays the next request until it is paid.
func TestBudgetBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond, size = 1000, 5500
		c := rest.New(rest.Options{Base: jsonOf(`"` + strings.Repeat("x", size-2) + `"`), Budget: rest.NewBudget(0, perSecond)})
		get := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := c.Get(ctx, "http://rm:8088/x", "application/json")
			return err
		}
		start := time.Now()
		if err := get(time.Second); err != nil {
			t.Fatal(err)
		}
		// 5500 bytes out of a full bucket of 1000: 4.5 s of debt.
		if err := get(4 * time.Second); !errors.Is(err, rest.ErrBudget) {
			t.Fatalf("error %v while in debt, want ErrBudget", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v for what cannot be had in time", waited)
		}
		if err := get(time.Minute); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 4500*time.Millisecond || waited > 4600*time.Millisecond {
			t.Errorf("the second request was sent after %v, want 4.5 s", waited)
		}
		for range 18 {
			if err := get(time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		rate := float64(c.Usage().Bytes) / time.Since(start).Seconds()
		if rate > perSecond*1.1 {
			t.Errorf("%.0f bytes/s over 20 answers, want at most %d", rate, perSecond)
		}
	})
}

func TestBudgetCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := rest.New(rest.Options{Base: jsonOf(`{}`), Budget: rest.NewBudget(0.1, 0)})
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Get(ctx, "http://rm:8088/x", ""); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		_, err := c.Get(ctx, "http://rm:8088/x", "")
		if !errors.Is(err, rest.ErrBudget) || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want ErrBudget and the context's", err)
		}
		if got := c.Usage().Requests; got != 1 {
			t.Errorf("%d requests were sent", got)
		}
	})
}

// TestAdmitWithin: what the budget does not admit in time is not sent, and
// what was sent in time may take longer.
func TestAdmitWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return jsonOf(`{}`)(r)
		})
		for name, budget := range map[string]*rest.Budget{"limited": rest.NewBudget(1, 0), "unlimited": nil} {
			c := rest.New(rest.Options{Base: slow, Budget: budget})
			ctx := rest.AdmitWithin(t.Context(), 2*time.Second)
			if _, err := c.Get(ctx, "http://rm:8088/x", ""); err != nil {
				t.Errorf("%s: %v: it was sent in time", name, err)
			}
			if _, err := c.Get(ctx, "http://rm:8088/x", ""); !errors.Is(err, rest.ErrBudget) {
				t.Errorf("%s: error %v, want ErrBudget", name, err)
			}
			if _, err := c.Get(t.Context(), "http://rm:8088/x", ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := c.Usage().Requests; got != 2 {
				t.Errorf("%s: %d requests were sent, want 2", name, got)
			}
		}
	})
}
