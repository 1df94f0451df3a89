package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"heddle/core/model"
)

// dawnML makes the machine learning workload of Dawn §IV (Table I): K-means,
// Bayes and PageRank of HiBench, each a chain of MapReduce jobs.
func dawnML() Generator {
	return Generator{
		Name: "dawn-ml",
		Doc:  "The machine learning benchmarks of Dawn: chains of 11 MapReduce jobs, each reading the one before.",
		Keys: slices.Concat([]Key{
			{Name: "benchmarks", Default: "36", Doc: "chains; each of the nine of Table I as often as the others", Min: 1, Max: 10_000, Whole: true},
			{Name: "mean_s", Default: "400", Doc: "mean time between the submissions of two chains, in seconds", Min: 0.001, Max: 1e6},
			seedKey(),
			usersKey(dawnUsers),
		}, sizingKeys(DefaultSizing())),
		make: makeDawnML,
	}
}

// What Dawn does not give. 36 chains with a mean of 400 s, the defaults of the
// keys, fill its 4 hours with four of each of its nine benchmarks.
const (
	dawnUsers = 10
	// smallResult is what a job of a chain writes at least, in bytes: a model or a
	// set of centroids.
	smallResult = 64 * model.KiB
)

// step is one job of a chain. HiBench publishes no volumes; the ratios say what
// the algorithm moves, to one digit.
type step struct {
	name       string
	readsInput bool    // reads the input of the chain too, not the job before alone
	shuffle    float64 // bytes shuffled for a byte read; 0 is a map-only job
	output     float64 // bytes written for a byte read
}

// chain is a benchmark of Table I.
type chain struct {
	label string
	input float64 // GB, taken as GiB as everywhere
	steps func() []step
}

func chains() []chain {
	return []chain{
		{"B1", 18.5, kMeans},
		{"B2", 37.5, kMeans},
		{"B3", 75, kMeans},
		{"B4", 34.8, bayes},
		{"B5", 52.8, bayes},
		{"B6", 69.9, bayes},
		{"B7", 32.4, pageRank},
		{"B8", 51.6, pageRank},
		{"B9", 64.8, pageRank},
	}
}

// kMeans is ten iterations, HiBench's largest profile, and the job that assigns
// the points. Every job reads all points and the centroids of the one before;
// combiners leave a few KiB of each map to shuffle.
func kMeans() []step {
	iteration := step{"kmeans-iteration", true, 1e-4, 0}
	return append(slices.Repeat([]step{iteration}, 10), step{"kmeans-cluster", true, 0, 1})
}

// bayes is the vectorisation of documents (tokens, n-grams, term and document
// frequencies, weights) and the training on them.
func bayes() []step {
	return []step{
		{"bayes-tokenize", false, 0, 0.9},
		{"bayes-ngrams", false, 0.8, 0.9},
		{"bayes-dictionary", false, 0.5, 0.9},
		{"bayes-term-vectors", false, 1, 0.7},
		{"bayes-merge-vectors", false, 1, 1},
		{"bayes-document-frequency", false, 0.3, 1},
		{"bayes-prune", false, 1, 0.8},
		{"bayes-weights", false, 1, 1},
		{"bayes-merge-weights", false, 1, 1},
		{"bayes-sum-labels", false, 0.3, 0.1},
		{"bayes-train", false, 0.5, 0.1},
	}
}

// pageRank sets the ranks up and then iterates five times: one job joins edges
// and ranks and writes a contribution for every edge, the next sums them up.
func pageRank() []step {
	steps := []step{{"pagerank-init", false, 0.2, 0.1}}
	for range 5 {
		steps = append(steps,
			step{"pagerank-join", true, 1, 0.9},
			step{"pagerank-sum", false, 0.6, 0.1},
		)
	}
	return steps
}

func makeDawnML(s settings) (*Workload, error) {
	n := s.whole("benchmarks")
	deal, gaps := randFor(s.seed(), "benchmarks"), randFor(s.seed(), "arrivals")
	users := newUserPool(s.whole("users"), s.seed())
	z := s.sizing()
	w := &Workload{}
	var at float64
	for i, c := range dealChains(n, deal) {
		at += exponential(gaps, s.real("mean_s")*float64(model.Second))
		first := Job{ID: JobID(fmt.Sprintf("%s-%d", c.label, i+1)), User: users.draw(), Queue: DefaultQueue, Submit: model.Time(at)}
		w.addChain(first, c, &z)
	}
	return w, nil
}

// dealChains returns n chains in random order, each kind as often as the others
// where n allows.
func dealChains(n int, r *rand.Rand) []chain {
	all := chains()
	dealt := make([]chain, n)
	for i := range dealt {
		dealt[i] = all[i%len(all)]
	}
	r.Shuffle(n, func(a, b int) { dealt[a], dealt[b] = dealt[b], dealt[a] })
	return dealt
}

// addChain adds the jobs of a chain; as says what they have in common, and its
// ID is the start of theirs. All are submitted at once and wait for the one
// before.
func (w *Workload) addChain(as Job, c chain, z *Sizing) {
	input := scaled(c.input, float64(model.GiB))
	var before model.Bytes // output of the job before
	for i, st := range c.steps() {
		j := as
		j.ID = JobID(fmt.Sprintf("%s.%d", as.ID, i+1))
		j.Name = st.name
		var files []File
		if i == 0 || st.readsInput {
			files = z.Input(input)
		}
		if i > 0 {
			parent := len(w.Jobs) - 1
			j.Parents = []int{parent}
			files = append(files, File{Bytes: before, Place: OfParent, Parent: parent})
		}
		var read model.Bytes
		for _, f := range files {
			read += f.Bytes
		}
		before = max(smallResult, scaled(float64(read), st.output))
		j.Stages = z.MapReduce(files, scaled(float64(read), st.shuffle), before)
		w.Jobs = append(w.Jobs, j)
	}
}
