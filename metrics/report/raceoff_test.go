//go:build !race

package report

// raced says that the race detector is on: times say nothing then.
const raced = false
