// Package engine runs one round: it puts the view and an offer before a policy,
// verifies what comes back (I3), and hands on numbered decisions with their
// reasons. It is the same in the service, in replay and in simulation.
package engine
