//go:build !race

package metrics_test

// raced says that the race detector is on: it slows everything many times.
const raced = false
