package replaying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/policyflag"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/simulation"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs/strict"
	"heddle/core/lab/counterfactual"
	"heddle/core/lab/measured"
	"heddle/core/lab/replay"
	"heddle/core/lab/sim"
	"heddle/core/model"
	"heddle/core/topology"
)

// Counterfactual are the options of a replay that simulates.
type Counterfactual struct {
	Uplink, NIC      string // rates with their unit; Uplink "" for none
	Seeds            []string
	Relay            string
	Command, Version string // for the page
}

// Simulated is what the command prints: the object of a simulation, with what came of the
// recording.
type Simulated struct {
	*simulation.Result
	Recording RecordingSummary `json:"recording"`
}

// RecordingSummary is what was simulated of a recording.
type RecordingSummary struct {
	Jobs int             `json:"jobs"`
	Left []measured.Left `json:"left_out"`
	// AsRan compares the run with every task where it ran with what was recorded; nil without such a run.
	AsRan *counterfactual.Errors `json:"as_recorded,omitempty"`
}

// Run simulates the jobs of a recording.
func (c *Counterfactual) Run(ctx context.Context, o *Options, stderr io.Writer) (*Simulated, error) {
	if _, err := policyflag.Parse(o.Policies, o.Params, sim.AsRan); err != nil {
		return nil, exit.NewUsageError(err)
	}
	in, err := recording.Open(os.DirFS(filepath.Dir(o.File)), filepath.Base(o.File))
	if err != nil {
		return nil, recording.Explain(o.File, err)
	}
	defer in.Close() //nolint:errcheck // only read
	how, err := c.options(o, in)
	if err != nil {
		return nil, err
	}
	rec, err := counterfactual.Read(o.records(ctx, in, stderr), how)
	if errors.Is(err, counterfactual.ErrNoUplinks) {
		err = fmt.Errorf("%w; give it with --uplink", err)
	}
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", o.File, err)
	}
	s := simulation.Options{
		Policies: o.Policies, Params: o.Params, Seeds: c.Seeds, Relay: c.Relay,
		RelayWaits: simulation.RelayWaits{RelayPin: simulation.RelayPin, RelayTrim: simulation.RelayTrim, RelayMax: simulation.RelayMax},
		Report:     o.Report, Command: c.Command, Version: c.Version,
	}
	res, err := s.RunGiven(ctx, &simulation.Given{Workload: rec.Workload, Cluster: rec.Cluster, Params: rec.Params}, stderr)
	if err != nil {
		return nil, err
	}
	out := &Simulated{Result: res, Recording: RecordingSummary{Jobs: len(rec.Ran), Left: append([]measured.Left{}, rec.Left...)}}
	for i := range res.Runs {
		if res.Runs[i].Policy == sim.AsRan && out.Recording.AsRan == nil {
			out.Recording.AsRan = counterfactual.Compare(rec, &res.Runs[i])
		}
	}
	return out, nil
}

// options are those of the reader of the recording.
func (c *Counterfactual) options(o *Options, in *recording.Reader) (*counterfactual.Options, error) {
	header := in.Header()
	how := &counterfactual.Options{Name: filepath.Base(o.File)}
	var err error
	if how.Since, err = moment("--since", o.Since, header.Start); err == nil {
		how.Until, err = moment("--until", o.Until, header.Start)
	}
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	if how.NIC, err = rate("--nic", c.NIC); err != nil {
		return nil, err
	}
	if c.Uplink != "" {
		both, err := rate("--uplink", c.Uplink)
		if err != nil {
			return nil, err
		}
		how.Uplink = topology.Link{Out: both, In: both}
	}
	from := &replay.Options{}
	if err := o.takeConfig(from); err != nil {
		return nil, err
	}
	if from.Settings == nil {
		from.Settings = &replay.Settings{}
		if len(header.Settings) > 0 {
			if err := json.Unmarshal(header.Settings, from.Settings); err != nil {
				return nil, fmt.Errorf("settings in the recording's header: %w", err)
			}
		}
	}
	how.Settings = &from.Settings.State
	return how, nil
}

// rate reads the value of a flag.
func rate(flag, text string) (model.BytesPerSecond, error) {
	var r strict.Rate
	if err := r.UnmarshalText([]byte(text)); err != nil || r <= 0 {
		return 0, exit.NewUsageError(fmt.Errorf("%s %q: want a rate above 0 such as 10Gbps or 125MB/s", flag, text))
	}
	return r.BytesPerSecond(), nil
}

// Table prints the result for people.
func (s *Simulated) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s of the recording simulated", terminal.Count(s.Recording.Jobs, "job"))
	if n := len(s.Recording.Left); n > 0 {
		fmt.Fprintf(w, ", %d left out: %s", n, reasons(s.Recording.Left))
	}
	fmt.Fprint(w, "\n\n")
	if err := s.Result.Table(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if e := s.Recording.AsRan; e != nil && len(e.Jobs) > 0 {
		fmt.Fprintf(w, "With every task where it ran, the simulated mean completion time is %+.0f %% off the recorded one; a job is off by %.0f %% in the median, by %.0f %% at most.\n", 100*e.Mean, 100*e.Median, 100*e.Worst)
		return nil
	}
	fmt.Fprintln(w, "How far the simulation is from what happened is not known: add the policy 'recorded'.")
	return nil
}

// reasons counts jobs by why they were left out.
func reasons(left []measured.Left) string {
	text, counts := "", map[string]int{}
	for _, l := range left {
		counts[l.Why]++
	}
	for _, l := range left {
		if n := counts[l.Why]; n > 0 {
			if text != "" {
				text += "; "
			}
			text += fmt.Sprintf("%d: %s", n, l.Why)
			counts[l.Why] = 0
		}
	}
	return text
}
