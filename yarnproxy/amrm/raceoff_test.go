//go:build !race

package amrm

// raced says that the race detector is on: pools lose things then, and memory is shadowed.
const raced = false
