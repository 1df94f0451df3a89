//go:build race

package shuffle_test

// raced says that the race detector is on: pools lose things then, and memory is shadowed.
const raced = true
