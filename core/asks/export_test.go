package asks

// Trust makes the next call after Unmarshal a certain one, so that a test can
// compare a restored table with the one it was written from.
func (t *Table) Trust() { t.uncertain = false }

// Unmarshal is what Attempt.Restore does to the table.
func (t *Table) Unmarshal(data []byte) error { return t.unmarshal(data) }
