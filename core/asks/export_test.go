package asks

// Trust ends the doubt about the next call after Unmarshal, so that a test can
// compare a restored table with the one it was written from.
func (t *Table) Trust() { t.doubt = false }

// Unmarshal is what Attempt.Restore does to the table.
func (t *Table) Unmarshal(data []byte) error { return t.unmarshal(data) }
