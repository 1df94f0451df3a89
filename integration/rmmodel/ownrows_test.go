package rmmodel

import (
	"bytes"
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// FuzzDecodeRow: whatever decodes is encoded as a row that decodes to the same.
func FuzzDecodeRow(f *testing.F) {
	f.Add(encodeRow(asks.Row{Key: asks.Key{Priority: 20, RequestID: -1}, Name: model.AnyName, Count: 4, Relax: true, Capability: Slot()}))
	f.Add(encodeRow(asks.Row{Name: "w11", Labelled: true}))
	f.Add([]byte{0, 0, 0, 0, 0, 2, 0})
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		row, valid := decodeRow(data)
		if !valid {
			return
		}
		again, valid := decodeRow(encodeRow(row))
		if !valid || again.Key != row.Key || again.Name != row.Name || again.Count != row.Count || again.Relax != row.Relax ||
			again.Labelled != row.Labelled || again.Capability != row.Capability {
			t.Errorf("%+v was encoded and decoded as %+v (%v)", row, again, valid)
		}
		if !bytes.Equal(encodeRow(row), encodeRow(again)) {
			t.Errorf("%+v has two encodings", row)
		}
	})
}
