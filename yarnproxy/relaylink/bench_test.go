package relaylink

import (
	"fmt"
	"testing"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// askedRows are the rows of an application that asks for maps on so many hosts.
func askedRows(hosts int) []model.AskRow {
	rows := []model.AskRow{{Priority: 20, RequestID: -1, ResourceName: "*", Count: hosts, RelaxLocality: true, Stage: model.StageMap}}
	for h := range hosts {
		rows = append(rows, model.AskRow{
			Priority: 20, RequestID: -1, ResourceName: fmt.Sprintf("worker%04d.example.com", h),
			Capability: model.Resource{MemoryMiB: 4096, VCores: 1}, Count: 1, RelaxLocality: true, Stage: model.StageMap,
		})
	}
	return rows
}

// BenchmarkAsks is what it takes to report the asks of one application with 400
// hosts: written is the relay's part, read the part of serve.
func BenchmarkAsks(b *testing.B) {
	m := &message{Asks: &appAsks{App: "application_1_0001", At: 1, Rows: askedRows(400)}}
	line, err := m.encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("written", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if _, err := m.encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if _, err := decode(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchNodes are nodes in racks of 40, of which each has so much memory in use.
func benchNodes(n int, used int64) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Seq: uint64(used) + 1}
	for i := range n {
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(fmt.Sprintf("worker%04d.example.com:8041", i)), Host: fmt.Sprintf("worker%04d.example.com", i),
			Rack: model.RackID(fmt.Sprintf("/rack%03d", i/40)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 128 << 10, VCores: 32}, Used: model.Resource{MemoryMiB: used, VCores: 1},
		})
	}
	return s
}

// BenchmarkView is what a poll of 5,000 nodes, of which every one has changed,
// takes until the relay goes by it: made and written by serve, read and applied by the relay.
func BenchmarkView(b *testing.B) {
	snapshots := []*snapshot.Snapshot{benchNodes(5000, 1), benchNodes(5000, 2)}
	var c changes
	c.to(snapshots[1])
	made := &message{View: c.to(snapshots[0])}
	line, err := made.encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("written", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		for i := 0; b.Loop(); i++ {
			m := &message{View: c.to(snapshots[(i+1)%2])}
			if _, err := m.encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		v := NewView(clock)
		version := uint64(0)
		for b.Loop() {
			m, err := decode(line)
			if err != nil {
				b.Fatal(err)
			}
			version++
			m.View.Version = version
			if err := v.apply(m.View); err != nil {
				b.Fatal(err)
			}
		}
	})
}
