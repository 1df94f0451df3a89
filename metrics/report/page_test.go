package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/model"
)

var update = flag.Bool("update", false, "write testdata anew")

// pageOf writes a page and reads it back.
func pageOf(t *testing.T, in Input) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "dir")
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// small makes a result that fits a golden file.
func small() Input {
	in := sample([]string{"fair", "nas"}, 2, 3)
	for i := range in.Runs {
		u := &in.Runs[i].Uplinks
		*u = sim.Uplinks{Step: 60, Racks: u.Racks[:2], Used: [][]float64{{0, .05, .99}, {.5, 1}}}
	}
	return in
}

// element is one element of a page as the tests see it.
type element struct {
	name, text string // text is its own, not that of what is in it
	attr       map[string]string
	depth      int
}

// elements reads a page as XML, which it is as well as HTML: an element that is
// not closed or an attribute without quotes is an error. The elements come in
// the order of their start.
func elements(page string) ([]*element, error) {
	d := xml.NewDecoder(strings.NewReader(page))
	var all, open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}, depth: len(open)}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

func mustElements(t *testing.T, page string) []*element {
	t.Helper()
	all, err := elements(page)
	if err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	return all
}

// outline writes the structure of a page, without the lengths in its drawings
// and with one line for elements in a row that differ in nothing else.
func outline(all []*element) string {
	var lines []string
	for _, e := range all {
		var b strings.Builder
		fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", e.depth), e.name)
		for _, name := range slices.Sorted(maps.Keys(e.attr)) {
			switch name {
			case "x", "y", "x1", "y1", "x2", "y2", "width", "height", "d", "transform", "viewBox", "content":
			default:
				fmt.Fprintf(&b, " %s=%q", name, e.attr[name])
			}
		}
		if text := strings.Join(strings.Fields(e.text), " "); text != "" && e.name != "style" && e.name != "script" {
			fmt.Fprintf(&b, ": %s", text)
		}
		lines = append(lines, b.String())
	}
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

func TestPageGolden(t *testing.T) {
	t.Parallel()
	got := outline(mustElements(t, pageOf(t, small())))
	path := filepath.Join("testdata", "page.txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code gives (run with -update if it should be); -file +code:\n%s", path, diff)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	in := sample(fivePolicies(), 2, 50)
	if a, b := pageOf(t, in), pageOf(t, in); a != b {
		t.Errorf("two pages of the same input differ:\n%s", cmp.Diff(a, b))
	}
}

// edges are inputs at the ends of what can be.
func edges() map[string]Input {
	one := sample([]string{"fair"}, 1, 1)
	zero := Input{Runs: []sim.Run{{Policy: "fair"}, {Policy: "nas"}}}
	unfinished := sample([]string{"fair", "nas"}, 1, 3)
	unfinished.Runs[0].Responses = []float64{-1, -1, -1}
	never := sample([]string{"fair"}, 1, 2)
	never.Runs[0].Responses = []float64{-1, -1}
	instant := sample([]string{"fair"}, 2, 2)
	instant.Runs[0].Responses, instant.Runs[1].Responses = []float64{0, 0}, []float64{0, 1e-9}
	huge := sample([]string{"fair", "nas"}, 2, 2)
	huge.Runs[0].Responses = []float64{1e-300, 1e300}
	huge.Runs[0].CrossRack.Total, huge.Runs[0].JCT.Mean, huge.Runs[1].JCT.Mean = model.Bytes(9e18), 1e300, 1e-300
	huge.Runs[2].Ratio.Makespan = 1e300
	ragged := sample([]string{"fair"}, 1, 2)
	ragged.Runs[0].Uplinks = sim.Uplinks{Step: 1e-3, Racks: []model.RackID{"a", "b", "c"}, Used: [][]float64{{}, {1.7}, {0, 0, 1}}}
	wide := sample([]string{"fair"}, 1, 2)
	wide.Runs[0].Uplinks = sim.Uplinks{Step: 1}
	for i := range 50_000 {
		wide.Runs[0].Uplinks.Racks = append(wide.Runs[0].Uplinks.Racks, model.RackID(strconv.Itoa(i)))
		wide.Runs[0].Uplinks.Used = append(wide.Runs[0].Uplinks.Used, []float64{.1, .9})
	}
	var many []string
	for i := range 45 {
		many = append(many, fmt.Sprintf("policy%d", i))
	}
	return map[string]Input{
		"nothing": {}, "one job": one, "all zero": zero, "one policy finished nothing": unfinished, "nothing finished": never,
		"instant": instant, "huge": huge, "ragged uplinks": ragged, "very many racks": wide, "many policies": sample(many, 1, 2),
	}
}

func TestEdges(t *testing.T) {
	t.Parallel()
	for name, in := range edges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := pageOf(t, in)
			for _, problem := range inspect(page) {
				t.Error(problem)
			}
			for _, wrong := range []string{"NaN", "Inf", "ZgotmplZ", "%!"} {
				if strings.Contains(page, wrong) {
					t.Errorf("the page says %s", wrong)
				}
			}
		})
	}
}

func TestEdgesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nothing":                     "No policy was run.",
		"nothing finished":            "No job finished, or no completion times were kept.",
		"one policy finished nothing": "fair: no job finished",
		"all zero":                    "no such jobs",
		"one job":                     "One run of each policy.",
	} {
		if page := pageOf(t, edges()[name]); !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %q", name, want)
		}
	}
	if page := pageOf(t, edges()["all zero"]); !strings.Contains(page, "The load of the uplinks over time was not kept.") || !strings.Contains(page, "no bound") {
		t.Error("nothing says that uplinks and bounds are missing")
	}
}

// inspect reports what is wrong with a page: not well-formed, something from
// elsewhere, something drawn that has no name.
func inspect(page string) (problems []string) {
	all, err := elements(page)
	if err != nil {
		return []string{fmt.Sprintf("not well-formed: %v", err)}
	}
	ids := map[string]bool{}
	for _, e := range all {
		if id, ok := e.attr["id"]; ok {
			if ids[id] {
				problems = append(problems, fmt.Sprintf("two elements have the id %q", id))
			}
			ids[id] = true
		}
	}
	for i, e := range all {
		problems = slices.Concat(problems, foreign(e), unnamed(e, ids))
		if e.name == "svg" && e.attr["role"] == "img" && (all[i+1].name != "title" || all[i+1].text == "" || all[i+2].name != "desc" || all[i+2].text == "") {
			problems = append(problems, fmt.Sprintf("a drawing begins with %s %q and %s %q, not with a title and a description",
				all[i+1].name, all[i+1].text, all[i+2].name, all[i+2].text))
		}
	}
	return problems
}

// known are the elements of a page. None of them loads anything but link, which foreign looks at.
const known = " html head meta link title style body header main section h1 h2 p div pre code table caption thead tbody tr th td small" +
	" figure figcaption ul li details summary script svg desc line rect path text "

var loads = regexp.MustCompile(`(?i)https?:|//|@import|url\(|\bimport\b|fetch\(|XMLHttp`)

// foreign reports what would be loaded from elsewhere.
func foreign(e *element) (problems []string) {
	if !strings.Contains(known, " "+e.name+" ") {
		problems = append(problems, "unknown element "+e.name)
	}
	for name, value := range e.attr {
		switch {
		case name == "src" || name == "srcset" || name == "style" || strings.HasPrefix(name, "on"):
			problems = append(problems, fmt.Sprintf("%s has %s=%q", e.name, name, value))
		case name == "href" && !strings.HasPrefix(value, "data:"):
			problems = append(problems, fmt.Sprintf("%s refers to %q", e.name, value))
		}
	}
	if (e.name == "style" || e.name == "script") && loads.MatchString(e.text) {
		problems = append(problems, fmt.Sprintf("%s has %q", e.name, loads.FindString(e.text)))
	}
	return problems
}

// unnamed reports what somebody who does not see the page would not be told.
func unnamed(e *element, ids map[string]bool) (problems []string) {
	if e.name == "svg" && e.attr["aria-hidden"] != "true" && e.attr["role"] != "img" {
		problems = append(problems, "a drawing is neither an image nor hidden")
	}
	if e.name == "th" && e.attr["scope"] == "" {
		problems = append(problems, fmt.Sprintf("heading %q of a table has no scope", e.text))
	}
	for id := range strings.FieldsSeq(e.attr["aria-labelledby"] + " " + e.attr["aria-describedby"]) {
		if !ids[id] {
			problems = append(problems, fmt.Sprintf("%s has its name from %q, which is not there", e.name, id))
		}
	}
	return problems
}

func TestInspectFindsThem(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		`<img src="a.png"/>`, `<script src="a.js"></script>`, `<link href="https://example.org/a.css"/>`, `<p onclick="a()">b</p>`,
		`<style>@import "a.css";</style>`, `<style>p { background: url(a.png) }</style>`, `<script>fetch("a")</script>`,
		`<svg><path d="M0 0"/></svg>`, `<th>a</th>`, `<section aria-labelledby="gone"></section>`,
	} {
		all := mustElements(t, wrong)
		if len(foreign(all[0]))+len(unnamed(all[0], nil)) == 0 {
			t.Errorf("%s passes", wrong)
		}
	}
	if _, err := elements("<p><b></p>"); err == nil {
		t.Error("an element that is not closed passes")
	}
}

func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	page := pageOf(t, sample(fivePolicies(), 3, 20))
	for _, problem := range inspect(page) {
		t.Error(problem)
	}
	if !strings.Contains(page, `content="default-src &#39;none&#39;;`) && !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("no policy forbids a browser to load anything")
	}
}

// TestEscaping puts text that would be markup everywhere, and wants it back as text.
func TestEscaping(t *testing.T) {
	t.Parallel()
	hostile := `</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)> "'&amp; {{.}} ]]> --> javascript:`
	in := small()
	in.Title, in.Command, in.Version = "T"+hostile, "C"+hostile, "V"+hostile
	in.Workload, in.Cluster = []Row{{"N" + hostile, "W" + hostile}}, []Row{{"M" + hostile, "X" + hostile}}
	in.Runs[0].Policy, in.Runs[0].Uplinks.Racks = "P"+hostile, []model.RackID{model.RackID(hostile), "R"}
	page := pageOf(t, in)
	for _, problem := range inspect(page) {
		t.Error(problem)
	}
	all := mustElements(t, page)
	count := func(name, text string) (n int) {
		for _, e := range all {
			if (name == "" || e.name == name) && strings.TrimSpace(e.text) == text {
				n++
			}
		}
		return n
	}
	for _, want := range []struct{ element, text string }{
		{"title", in.Title},
		{"h1", in.Title},
		{"code", in.Command},
		{"th", "N" + hostile},
		{"td", "W" + hostile},
		{"td", "X" + hostile},
		{"li", "P" + hostile},
		{"th", "P" + hostile},
		{"figcaption", "P" + hostile},
	} {
		if count(want.element, want.text) == 0 {
			t.Errorf("no %s has the text %q", want.element, want.text)
		}
	}
	if n := count("script", "alert(1)"); n > 0 || strings.Contains(page, "<script>alert") {
		t.Error("text became a script")
	}
}

func TestPagesOfAnything(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ -~äß–\n]{0,40}`)
	value := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1), rapid.Float64Range(0, 1e12))
	run := rapid.Custom(func(t *rapid.T) sim.Run {
		r := sim.Run{Policy: "p" + text.Draw(t, "policy"), Seed: rapid.Uint64().Draw(t, "seed")}
		r.Responses = rapid.SliceOfN(rapid.OneOf(value, rapid.Just(-1.0)), 0, 20).Draw(t, "responses")
		r.JCT.Mean, r.JCTByClass.Heavy, r.Ratio.JCTMean = value.Draw(t, "mean"), value.Draw(t, "heavy"), value.Draw(t, "ratio")
		r.CrossRack.Total = model.Bytes(value.Draw(t, "bytes"))
		r.Uplinks.Step = rapid.Float64Range(.001, 1000).Draw(t, "step")
		for i := range rapid.IntRange(0, 5).Draw(t, "racks") {
			r.Uplinks.Racks = append(r.Uplinks.Racks, model.RackID(text.Draw(t, fmt.Sprint("rack", i))))
			r.Uplinks.Used = append(r.Uplinks.Used, rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 30).Draw(t, "used"))
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Title: text.Draw(t, "title"), Command: text.Draw(t, "command"), Runs: rapid.SliceOfN(run, 0, 6).Draw(t, "runs")}
		if err := in.check(); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := newPage(&in).render(&b); err != nil {
			t.Fatal(err)
		}
		for _, problem := range inspect(b.String()) {
			t.Error(problem)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Fatal("a length is no number")
		}
	})
}

// TestLargeRun holds a page for the Facebook trace and no repetition in its uplinks to a
// size that mail and browsers take, and to 3 s of processor time.
func TestLargeRun(t *testing.T) { // not parallel: the time is the process's
	in := sample(append(fivePolicies(), "fifo", "capacity", "num"), 3, 25_000)
	for i := range in.Runs {
		u := &in.Runs[i].Uplinks
		for j := range u.Used {
			u.Used[j] = make([]float64, 10*maxColumns)
			for k := range u.Used[j] { // no two columns of a level beside each other: the largest page
				u.Used[j][k] = float64((k/10+j)%levels)/levels + .05
			}
		}
	}
	before := processorTime(t)
	page := pageOf(t, in)
	cost := processorTime(t) - before
	t.Logf("%d runs of 25,000 jobs: %d bytes, %v of processor time", len(in.Runs), len(page), cost)
	if len(page) > 5_000_000 {
		t.Errorf("the page has %d bytes, more than 5 MB", len(page))
	}
	if cost > 3*time.Second && !raced {
		t.Errorf("the page costs %v of processor time, more than 3 s", cost)
	}
}

// processorTime returns what the process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
