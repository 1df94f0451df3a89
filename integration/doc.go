// Package integration tests heddle against a real multi-rack Hadoop. All tests
// of the package share one cluster, which package hadoop starts; see there for
// what the machine must have and for the environment variables. Without
// HEDDLE_INTEGRATION=1, and where something is missing, the tests skip.
package integration
