package asks

import "heddle/core/model"

// maxBatches bounds the batches of a key. Beyond it the newest are taken
// together, as old as the older of them.
const maxBatches = 32

// batch is a number of containers that were asked for at one time.
type batch struct {
	At model.Time
	N  int32
	// GivenUp says that they have waited for planned racks long enough, and are asked for as the application does.
	GivenUp bool
}

// settle makes the batches sum to what is outstanding: what is more was asked
// for now, what is less was granted or taken back, the oldest first.
func (k *key) settle(now model.Time) {
	sum := int32(0)
	for _, b := range k.Batches {
		sum += b.N
	}
	n := k.outstanding()
	if n > sum {
		k.Batches = append(k.Batches, batch{At: now, N: n - sum})
		if last := len(k.Batches) - 1; last >= maxBatches {
			k.Batches[last-1].N += k.Batches[last].N
			k.Batches = k.Batches[:last]
		}
		return
	}
	gone, left := sum-n, 0
	for _, b := range k.Batches {
		less := min(gone, b.N)
		gone -= less
		if b.N -= less; b.N > 0 {
			k.Batches[left] = b
			left++
		}
	}
	k.Batches = k.Batches[:left]
	if n == 0 {
		k.Widened, k.Wait = false, wait{}
	}
}

// since is when the oldest container outstanding was asked for, the time held left out.
func (k *key) since() model.Time {
	if len(k.Batches) == 0 {
		return 0
	}
	return k.Batches[0].At
}

// older reports whether a key waits that long or longer.
func (k *key) older(now model.Time, than model.Duration) bool {
	return len(k.Batches) > 0 && now.Sub(k.since()) >= than
}
