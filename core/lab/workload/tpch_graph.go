package workload

import (
	"cmp"
	"slices"
)

// queryGraph is the stage graph of a query: stages by number in topological
// order, the last of them the only one that no other reads.
type queryGraph struct {
	stages int
	edges  [][2]int // from, to; by to, then by from
}

// queryShape is what is published of a query's stage graph (algorithms 5.3,
// Spark's stages in the data of Decima), and the tables it reads (TPC-H 2.4),
// one for each source.
type queryShape struct {
	stages, edges int
	depth         int // stages on the longest path
	sources       int
	tables        []table
	exact         [][2]int // all edges, where they are published
}

// table is a table of TPC-H.
type table string

// The tables.
const (
	lineitem table = "lineitem"
	orders   table = "orders"
	partsupp table = "partsupp"
	part     table = "part"
	customer table = "customer"
	supplier table = "supplier"
	nation   table = "nation"
	region   table = "region"
)

// queryShapes returns the shapes of the 22 queries, the first for Q1. A query
// that reads a table under two names, or in a subquery, has a source for each.
func queryShapes() []queryShape {
	return []queryShape{
		{4, 3, 4, 1, []table{lineitem}, nil},
		{18, 19, 7, 8, []table{partsupp, part, supplier, nation, region, supplier, nation, region}, nil},
		{6, 5, 4, 3, []table{customer, orders, lineitem}, [][2]int{{0, 2}, {1, 2}, {2, 4}, {3, 4}, {4, 5}}},
		{6, 5, 5, 2, []table{lineitem, orders}, nil},
		{14, 13, 9, 6, []table{lineitem, orders, customer, supplier, nation, region}, nil},
		{2, 1, 2, 1, []table{lineitem}, nil},
		{13, 13, 7, 5, []table{lineitem, orders, customer, supplier, nation}, nil},
		{18, 17, 8, 8, []table{lineitem, orders, part, customer, supplier, nation, nation, region}, nil},
		{14, 13, 8, 6, []table{lineitem, orders, partsupp, part, supplier, nation}, nil},
		{9, 8, 6, 4, []table{customer, orders, lineitem, nation}, [][2]int{{0, 2}, {1, 2}, {2, 4}, {3, 4}, {4, 6}, {5, 6}, {6, 7}, {7, 8}}},
		{11, 11, 9, 3, []table{partsupp, supplier, nation}, nil},
		{6, 5, 5, 2, []table{lineitem, orders}, nil},
		{7, 6, 6, 2, []table{orders, customer}, nil},
		{4, 3, 3, 2, []table{lineitem, part}, nil},
		{7, 7, 7, 1, []table{lineitem}, nil},
		{9, 8, 7, 3, []table{partsupp, part, supplier}, nil},
		{6, 6, 4, 3, []table{lineitem, part, lineitem}, [][2]int{{0, 2}, {0, 4}, {1, 2}, {2, 4}, {3, 4}, {4, 5}}},
		{8, 7, 5, 4, []table{lineitem, orders, lineitem, customer}, nil},
		{4, 3, 3, 2, []table{lineitem, part}, nil},
		{12, 11, 6, 5, []table{lineitem, partsupp, part, supplier, nation}, nil},
		{16, 15, 7, 6, []table{lineitem, orders, lineitem, lineitem, supplier, nation}, nil},
		{8, 8, 7, 1, []table{customer}, [][2]int{{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}},
	}
}

// graph returns the stage graph: the published one, or one built to the counts.
//
// The built one is a spine of depth stages. Every other source starts a branch
// that joins the spine; the stages that are neither are put into the branches
// in turn. Edges that are left over skip a stage of the spine. So a query is a
// sequence of joins, with the filters of a table between its scan and its join.
func (s *queryShape) graph() queryGraph {
	if s.exact != nil {
		g := queryGraph{s.stages, slices.Clone(s.exact)}
		g.sort()
		return g
	}
	g := queryGraph{stages: s.stages}
	for i := range s.depth - 1 {
		g.edges = append(g.edges, [2]int{i, i + 1})
	}
	next := s.depth
	branches := s.sources - 1
	inner := s.stages - s.depth - branches
	for b := range branches {
		length := 1 + inner/branches
		if b < inner%branches {
			length++
		}
		for i := range length - 1 {
			g.edges = append(g.edges, [2]int{next + i, next + i + 1})
		}
		joins := max(length, 1+b%(s.depth-1)) // a longer branch joins later: the depth stays
		g.edges = append(g.edges, [2]int{next + length - 1, joins})
		next += length
	}
	for i := 0; len(g.edges) < s.edges; i++ {
		g.edges = append(g.edges, [2]int{i, i + 2})
	}
	g.renumber()
	return g
}

// levels returns for every stage the number of stages before it on the longest
// path. Edges may come in any order.
func (g *queryGraph) levels() []int {
	level := make([]int, g.stages)
	for range g.stages {
		for _, e := range g.edges {
			level[e[1]] = max(level[e[1]], level[e[0]]+1)
		}
	}
	return level
}

// renumber numbers the stages by level, stages of a level as they were.
func (g *queryGraph) renumber() {
	level := g.levels()
	order := make([]int, g.stages)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(level[a], level[b]) })
	number := make([]int, g.stages)
	for n, old := range order {
		number[old] = n
	}
	for i, e := range g.edges {
		g.edges[i] = [2]int{number[e[0]], number[e[1]]}
	}
	g.sort()
}

func (g *queryGraph) sort() {
	slices.SortFunc(g.edges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) })
}

// sourcesOf returns the stages that a stage reads.
func (g *queryGraph) sourcesOf(stage int) []int {
	var from []int
	for _, e := range g.edges {
		if e[1] == stage {
			from = append(from, e[0])
		}
	}
	return from
}
