package api

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"

	"heddle/core/model"
)

// blocksBody is GET /v1/blocks.
type blocksBody struct {
	Path      string       `json:"path"`
	Files     int          `json:"files"`
	Truncated bool         `json:"truncated"` // a limit was met: the blocks are a sample
	Bytes     model.Bytes  `json:"bytes"`
	Racks     []rackBlocks `json:"racks"` // by falling bytes
	pageBody
	Blocks []blockBody `json:"blocks"`
}

// rackBlocks is the part of the blocks on one rack.
type rackBlocks struct {
	Rack   model.RackID `json:"rack"`
	Bytes  model.Bytes  `json:"bytes"`  // of blocks with a replica there
	Blocks int          `json:"blocks"` // with a replica there
}

// blockBody is one block.
type blockBody struct {
	model.Block
	Hosts []string       `json:"hosts"`
	Racks []model.RackID `json:"racks"` // racks[i] is where the NameNode has hosts[i]
}

func getBlocks(q *query) (any, error) {
	path := q.text("path")
	if path == "" {
		q.addError("path", "is missing, want the path of an HDFS file or directory such as /data/in")
	} else if path[0] != '/' {
		q.addError("path", "is %q, want a path from the root such as /data/in", path)
	}
	p := q.page(100, 10_000)
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.server.opts.Blocks == nil {
		return nil, &problem{kind: "name-node", status: http.StatusBadGateway, detail: "HDFS is not read", hint: "set hdfs.enabled in the configuration"}
	}
	fact, err := q.server.opts.Blocks.Blocks(q.r.Context(), path)
	if err != nil {
		return nil, blocksProblem(err)
	}
	q.uncacheable = true // it is of the NameNode, not of the snapshot
	b := blocksBody{Path: path, Files: fact.Files, Truncated: fact.Truncated, Racks: sumBlocks(fact.Blocks)}
	for i := range fact.Blocks {
		b.Bytes += fact.Blocks[i].Length
	}
	found, part := pageOf(q, p, fact.Blocks)
	b.pageBody, b.Blocks = part, make([]blockBody, 0, len(found))
	for i := range found {
		b.Blocks = append(b.Blocks, blockBody{found[i], emptyNotNil(found[i].Hosts), emptyNotNil(found[i].Racks)})
	}
	return b, nil
}

// sumBlocks sums blocks by rack.
func sumBlocks(blocks []model.Block) []rackBlocks {
	sums := map[model.RackID]*rackBlocks{}
	for i := range blocks {
		for k, rack := range blocks[i].Racks {
			if slices.Contains(blocks[i].Racks[:k], rack) {
				continue
			}
			s := sums[rack]
			if s == nil {
				s = &rackBlocks{Rack: rack}
				sums[rack] = s
			}
			s.Bytes += blocks[i].Length
			s.Blocks++
		}
	}
	out := make([]rackBlocks, 0, len(sums))
	for _, s := range sums { // order-free: sorted below
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b rackBlocks) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Rack, b.Rack)) })
	return out
}

// blocksProblem turns an error of the BlockFinder into a problem.
func blocksProblem(err error) *problem {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound(err.Error(), "")
	case errors.Is(err, fs.ErrPermission):
		return &problem{kind: "permission-denied", status: http.StatusForbidden, detail: err.Error()}
	case errors.Is(err, fs.ErrInvalid):
		return badRequest(err.Error(), fieldError{"path", err.Error()})
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return asProblem(err)
	}
	return &problem{kind: "name-node", status: http.StatusBadGateway, detail: err.Error(), hint: "/readyz has the state of the source hdfs"}
}
