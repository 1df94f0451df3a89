package wire

import "fmt"

// ParseRow reads one ask row without tag and length, such as a Row.Raw that was
// kept. It points into raw.
func ParseRow(raw []byte) (Row, error) {
	var r Row
	if err := r.parse(raw); err != nil {
		return Row{}, fmt.Errorf("reading an ask row of %d bytes: %w", len(raw), err)
	}
	return r, nil
}
