package snapshot

import "heddle/core/model"

// Guard is whether steering pays, by queue (package guard).
type Guard struct {
	Enabled bool           `json:"enabled"`
	Queues  []GuardedQueue `json:"queues"` // those with applications that a relay carried, by name
	// Unsteered are the live applications of which the relay steers nothing, and why.
	Unsteered map[model.AppID]model.PassCause `json:"-"`
}

// GuardedQueue is a queue. Its figures are of the applications that ended within the window, or, where steering is
// off, of those that turned it off.
type GuardedQueue struct {
	Queue model.QueueID `json:"queue"`
	Off   bool          `json:"off"`
	Until model.Time    `json:"until_ms,omitempty"` // when steering is on again; 0 while it is on
	Trips int64         `json:"trips"`              // how often it was turned off
	Why   GuardSignal   `json:"why,omitempty"`      // by what it was turned off last

	Steered   int     `json:"steered_applications"`
	Unsteered int     `json:"unsteered_applications"`
	Ran       float64 `json:"ran_seconds"` // the completion times of the steered ones, summed
	// Uplink and Stock are the seconds that the busiest uplink of each steered application's shuffle takes, summed:
	// with the reduces where they ran, and spread evenly. CrossRack and StockCrossRack are the bytes.
	Uplink         float64     `json:"uplink_seconds"`
	Stock          float64     `json:"stock_uplink_seconds"`
	CrossRack      model.Bytes `json:"cross_rack_bytes"`
	StockCrossRack model.Bytes `json:"stock_cross_rack_bytes"`
	Waited         float64     `json:"waited_seconds"` // of the steered ones, for planned racks while another rack could have served them
	// Predicted is Uplink and Waited above Stock, as a part of Ran: above 0 steering loses by the closed forms.
	Predicted float64 `json:"predicted_loss"`
	// Measured is how much the median slowdown of the steered applications is above that of the unsteered ones, as a
	// part of the latter, and Chance how likely so large a difference of ranks is by chance; 0 and 1 until there are
	// enough of both.
	Measured float64 `json:"measured_loss"`
	Chance   float64 `json:"chance"`
}

// GuardSignal is what turned steering off; a closed set.
type GuardSignal string

// The signals.
const (
	GuardPredicted GuardSignal = "predicted" // the closed forms and the waits
	GuardMeasured  GuardSignal = "measured"  // slowdowns beside those of unsteered applications
)
