package shuffle

import (
	"fmt"
	"strings"
)

// Vertex is one job of a workload, or one stage of a job, with the names of
// those whose output it reads.
type Vertex struct {
	Name  string
	Reads []string
}

// DAG is Dawn's dependency detector (Dawn §III-A; algorithms.md 2.4.1): who
// reads whose output. Vertices are numbered as they were given.
type DAG struct {
	names   []string
	index   map[string]int
	next    [][]int
	prev    [][]int
	outside [][]string
	order   []int
}

// CycleError says that a graph is none a scheduler can work off.
type CycleError struct {
	Names []string // each is read by the one after it; the last is the first again
}

// Error implements error.
func (e *CycleError) Error() string { return "cycle: " + strings.Join(e.Names, " -> ") }

// NewDAG builds the graph in O(V + E). A name that is read and is no vertex is
// external input. Two vertices of one name are an error, a cycle is a
// *CycleError.
func NewDAG(vertices []Vertex) (*DAG, error) {
	n := len(vertices)
	g := &DAG{names: make([]string, n), index: make(map[string]int, n), next: make([][]int, n), prev: make([][]int, n), outside: make([][]string, n)}
	for x := range vertices {
		name := vertices[x].Name
		if _, twice := g.index[name]; twice {
			return nil, fmt.Errorf("vertex %q: given twice", name)
		}
		g.names[x], g.index[name] = name, x
	}
	seen := map[string]int{} // by name read: the last reader it was seen at, plus 1
	for y := range vertices {
		for _, name := range vertices[y].Reads {
			if seen[name] == y+1 {
				continue
			}
			seen[name] = y + 1
			x, inside := g.index[name]
			if !inside {
				g.outside[y] = append(g.outside[y], name)
				continue
			}
			g.prev[y] = append(g.prev[y], x)
			g.next[x] = append(g.next[x], y)
		}
	}
	if cycle := g.sort(); cycle != nil {
		return nil, &CycleError{Names: cycle}
	}
	return g, nil
}

// sort puts the vertices in an order in which everyone comes after whom it
// reads, or returns the names of a cycle.
func (g *DAG) sort() []string {
	open := make([]int, len(g.names)) // of whom it reads, how many have not come yet
	for y := range g.names {
		open[y] = len(g.prev[y])
		if open[y] == 0 {
			g.order = append(g.order, y)
		}
	}
	for i := 0; i < len(g.order); i++ {
		for _, y := range g.next[g.order[i]] {
			if open[y]--; open[y] == 0 {
				g.order = append(g.order, y)
			}
		}
	}
	if len(g.order) == len(g.names) {
		return nil
	}
	return g.cycle(open)
}

// cycle goes back from a vertex that could not be sorted, along others that
// could not, until one comes again.
func (g *DAG) cycle(open []int) []string {
	at := 0
	for open[at] == 0 {
		at++
	}
	var path []int
	place := make(map[int]int)
	for {
		if from, again := place[at]; again {
			names := []string{g.names[at]}
			for i := len(path) - 1; i >= from; i-- {
				names = append(names, g.names[path[i]])
			}
			return names
		}
		place[at] = len(path)
		path = append(path, at)
		for _, x := range g.prev[at] {
			if open[x] > 0 {
				at = x
				break
			}
		}
	}
}

// Len returns the number of vertices.
func (g *DAG) Len() int { return len(g.names) }

// Name returns a vertex's name.
func (g *DAG) Name(x int) string { return g.names[x] }

// Index returns the vertex of a name, false if there is none.
func (g *DAG) Index(name string) (int, bool) {
	x, ok := g.index[name]
	return x, ok
}

// Next returns Next_x: who reads x's output.
func (g *DAG) Next(x int) []int { return g.next[x] }

// Reads returns all y reads the output of.
func (g *DAG) Reads(y int) []int { return g.prev[y] }

// Prev returns Prev_x,y: those other than x that y reads the output of.
func (g *DAG) Prev(x, y int) []int {
	others := make([]int, 0, len(g.prev[y]))
	for _, z := range g.prev[y] {
		if z != x {
			others = append(others, z)
		}
	}
	return others
}

// Outside returns what y reads that is no vertex: external input.
func (g *DAG) Outside(y int) []string { return g.outside[y] }

// Order returns the vertices, each after those it reads.
func (g *DAG) Order() []int { return g.order }
