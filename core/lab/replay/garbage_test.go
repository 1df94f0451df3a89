package replay_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/engine"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/trace"
)

// odd sets every field below a value to something of a few names and numbers, so that facts meet,
// or to something that no source reports.
func odd(t *rapid.T, v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			odd(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			odd(t, v.Elem(), field)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "len")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			odd(t, v.Index(i), field)
		}
	case reflect.String:
		v.SetString(oddText(t, v.Type(), field))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0.5, 1, 3, -1, math.MaxFloat64, -math.MaxFloat64, 1e-300}).Draw(t, "float"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, 2, 3, 10, 20, 1000, -1, -5, 1 << 31, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2}).Draw(t, "int"))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(rapid.IntRange(0, 3).Draw(t, "uint")))
	default:
		t.Fatalf("a %s: teach odd about it", v.Type())
	}
}

func oddText(t *rapid.T, of reflect.Type, field string) string {
	texts := []string{"", "a", "b", "/a", "map", "reduce"}
	switch of {
	case reflect.TypeFor[model.AppID]():
		texts = []string{"application_1_1", "application_1_2", ""}
	case reflect.TypeFor[model.RackID]():
		texts = []string{"/a", "/b", ""}
	case reflect.TypeFor[model.NodeID]():
		texts = []string{"a:1", "b:1", ""}
	case reflect.TypeFor[model.Stage]():
		texts = []string{"map", "reduce", "am", "other", "odd", ""}
	case reflect.TypeFor[model.NodeState]():
		texts = []string{"RUNNING", "LOST", "odd"}
	case reflect.TypeFor[model.AppState]():
		texts = []string{"RUNNING", "ACCEPTED", "FINISHED", "FAILED", "odd"}
	case reflect.TypeFor[model.TaskState]():
		texts = []string{"pending", "running", "succeeded", "failed", "odd"}
	case reflect.TypeFor[model.EdgeKind]():
		texts = []string{"scatter_gather", "one_to_one", "broadcast", "odd"}
	}
	switch field {
	case "Policy":
		texts = []string{"fifo", ""}
	case "Params":
		texts = []string{"{}", ""}
	case "ResourceName":
		texts = []string{"*", "/a", "a", ""}
	}
	return rapid.SampledFrom(texts).Draw(t, "text")
}

// TestGarbage replays facts that no cluster reports under every policy: whatever they are, a
// replay ends, and the cluster's state does not panic. Policies may; the engine counts it.
func TestGarbage(t *testing.T) {
	t.Parallel()
	facts := []model.Fact{
		model.ClusterFact{}, model.NodesFact{}, model.AppsFact{}, model.AsksFact{}, model.ContainersFact{}, model.JobFact{},
		model.JobConfFact{}, model.TasksFact{}, model.CountersFact{}, model.BlocksFact{}, model.DataNodesFact{}, model.UplinkFact{},
		model.GraphFact{}, model.HistoryFact{}, model.PollFact{}, model.SampleFact{}, model.RoundFact{}, model.PolicyFact{},
	}
	options := replay.Options{Registry: builtin.Registry(), Settings: &replay.Settings{State: state.DefaultConfig(), Engine: engine.DefaultOptions("")}}
	options.Settings.State.Uplinks.Default = topology.Link{Out: 1e6, In: 1e6}
	options.Settings.Engine.MaxAge = 0
	for _, name := range builtin.Registry().Names() {
		options.Policies = append(options.Policies, replay.Policy{Name: name, Label: name})
	}
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.IntRange(1, 2).Draw(t, "format")
		at := model.Time(1000)
		records := func(yield func(trace.Record, error) bool) {
			for i := range rapid.IntRange(1, 40).Draw(t, "records") {
				fact := reflect.New(reflect.TypeOf(rapid.SampledFrom(facts).Draw(t, "fact"))).Elem()
				odd(t, fact, "")
				at += model.Time(rapid.SampledFrom([]int64{0, 1000, 5000, -1000, -100_000, 1 << 40}).Draw(t, "step"))
				o := &model.Observation{Source: rapid.SampledFrom(model.Sources()).Draw(t, "source"), At: at, Fact: fact.Interface().(model.Fact)}
				if !yield(trace.Record{Seq: uint64(i + 1), At: at, Observation: o}, nil) {
					return
				}
			}
		}
		if _, err := replay.Run(&trace.Header{Format: format}, records, &options); err != nil && !strings.Contains(err.Error(), "policy") {
			t.Fatal(err)
		}
	})
}
