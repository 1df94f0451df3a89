package asks

import (
	"maps"
	"slices"

	"heddle/core/model"
)

// appendAsked appends the key's own outstanding rows, by name.
func appendAsked(rows []model.AskRow, k *key) []model.AskRow {
	for _, name := range slices.Sorted(maps.Keys(k.Own)) {
		if r := k.Own[name]; r.left() > 0 {
			rows = append(rows, askRow(k, name, r.left(), r.Relax))
		}
	}
	return rows
}

// sentRows returns the rows of a key that the ResourceManager holds, by name.
func sentRows(k *key) []model.AskRow {
	var rows []model.AskRow
	for _, name := range slices.Sorted(maps.Keys(k.RM)) {
		if r := k.RM[name]; r.Count > 0 {
			rows = append(rows, askRow(k, name, r.Count, r.Relax))
		}
	}
	return rows
}

func askRow(k *key, name string, count int32, relax bool) model.AskRow {
	return model.AskRow{
		Priority: int(k.Priority), RequestID: k.RequestID, ResourceName: name, Capability: k.Capability,
		Count: int(count), RelaxLocality: relax,
	}
}
