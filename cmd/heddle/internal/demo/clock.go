package demo

import (
	"context"
	"time"

	"heddle/core/model"
)

// clock shows the recording's time while it is played; it stops at the recording's end.
type clock struct {
	begin time.Time // the wall clock when playing began
	start model.Time
	end   model.Time
	speed float64
}

func (c *clock) now() time.Time { return time.UnixMilli(int64(c.time())) }

func (c *clock) time() model.Time {
	return min(c.start.Add(model.Duration(float64(time.Since(c.begin).Milliseconds())*c.speed)), c.end)
}

// wait blocks until the recording's time is at.
func (c *clock) wait(ctx context.Context, at model.Time) error {
	t := time.NewTimer(time.Duration(float64(at-c.time())/c.speed) * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// play returns a source that sends each observation at its recorded time and then
// waits for ctx.
func (d *Demo) play(at *clock) func(context.Context, chan<- model.Observation) error {
	return func(ctx context.Context, out chan<- model.Observation) error {
		err := d.each(func(when model.Time, o *model.Observation) bool {
			if at.wait(ctx, when) != nil {
				return false
			}
			select {
			case out <- *o:
			case <-ctx.Done():
			}
			return ctx.Err() == nil
		})
		if err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
}
