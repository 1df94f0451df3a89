package pseudonym

import (
	"encoding/json"
	"strings"

	"heddle/core/lab/replay"
	"heddle/core/policy/builtin"
	"heddle/core/policy/capacity"
	"heddle/core/policy/fair"
	"heddle/core/policy/weave"
	"heddle/core/trace"
)

// header visits the names in a header.
func (w records) header(h *trace.Header) {
	if h.Pseudonymized {
		w.fail("%w", ErrPseudonymized)
		return
	}
	h.ToolVersion = phraseOfVersion(h.ToolVersion)
	rename(w.walk, config, &h.ConfigHash)
	h.Params = w.params(h.Policy, h.Params)
	w.settings(h)
	h.Topology = renameKeys(h.Topology, w.rack)
	for _, hosts := range h.Topology { // order-free: each list is replaced on its own
		renameEach(hosts, w.host)
	}
}

// settings visits the settings in a header. Those that this version does not know go:
// nobody can tell whether they hold names.
func (w records) settings(h *trace.Header) {
	if len(h.Settings) == 0 {
		return
	}
	var s replay.Settings
	if err := json.Unmarshal(h.Settings, &s); err != nil {
		w.fail("settings in the header: %w", err)
		return
	}
	c := &s.State
	c.Uplinks.Racks = renameKeys(c.Uplinks.Racks, w.rack)
	renameWord(w.walk, &c.UplinkMethod, keptMethod)
	c.Weights = renameKeys(c.Weights, w.user)
	c.Slots = renameKeys(c.Slots, w.node)
	c.Table = renameKeys(c.Table, w.host)
	for host, r := range c.Table { // order-free: each value is replaced on its own
		w.rack(&r)
		c.Table[host] = r
	}
	renameWord(w.walk, &s.Engine.Name, keptPolicy)
	data, err := json.Marshal(&s)
	if err != nil {
		w.fail("settings in the header: %w", err)
		return
	}
	h.Settings = data
}

// params visits the names in the parameters of a policy. Parameters that the policy
// accepts hold no other names than the keys here, as it refuses unknown ones.
func (w records) params(policy string, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 && policy == "" || w.err != nil {
		return raw
	}
	if _, err := builtin.Registry().New(policy, raw); err != nil {
		w.fail("what names are in the parameters of the recorded policy is not known: %w", err)
		return raw
	}
	var key string
	var replace func(*string)
	switch policy {
	case capacity.Name, weave.Name:
		key, replace = "queues", func(q *string) { renameQueue(w.walk, q) }
	case fair.Name:
		key, replace = "minResources", func(u *string) { rename(w.walk, user, u) }
	default:
		return raw
	}
	if len(raw) == 0 {
		return raw
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		w.fail("parameters of the policy %s: %w", policy, err)
		return raw
	}
	for k, v := range all { // order-free: each value is replaced on its own
		if !strings.EqualFold(k, key) { // as encoding/json matches keys
			continue
		}
		var named map[string]json.RawMessage
		err := json.Unmarshal(v, &named)
		if err == nil {
			all[k], err = json.Marshal(renameKeys(named, replace))
		}
		if err != nil {
			w.fail("parameters of the policy %s, %s: %w", policy, key, err)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		w.fail("parameters of the policy %s: %w", policy, err)
		return raw
	}
	return out
}
