package rm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"heddle/yarnproxy/rm"
)

// BenchmarkDecodeNodes decodes the answer of a cluster of 5,000 nodes, made of
// a recorded node.
func BenchmarkDecodeNodes(b *testing.B) {
	var doc struct {
		Nodes struct {
			Node []json.RawMessage `json:"node"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(recorded(b, "nodes"), &doc); err != nil {
		b.Fatal(err)
	}
	one := doc.Nodes.Node[0]
	doc.Nodes.Node = nil
	for i := range 5000 {
		doc.Nodes.Node = append(doc.Nodes.Node, bytes.ReplaceAll(one, []byte("w12:45454"), fmt.Appendf(nil, "w%04d:45454", i)))
	}
	body, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if fact, err := rm.DecodeNodes(body); err != nil || len(fact.Nodes) != 5000 {
			b.Fatalf("%d nodes, error %v", len(fact.Nodes), err)
		}
	}
}
