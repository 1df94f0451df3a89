package rm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// maxQueueDepth bounds the nesting of queues that is followed.
const maxQueueDepth = 32

// queueJSON is a queue of any scheduler. Children hang under "queues" in the
// CapacityScheduler and under "childQueues" in the FairScheduler.
type queueJSON struct {
	Type     rest.Text             `json:"type"`
	Name     rest.Text             `json:"queueName"`
	Path     rest.Text             `json:"queuePath"`        // CapacityScheduler, 3.x
	Capacity rest.Number           `json:"absoluteCapacity"` // percent of the cluster
	Steady   rest.Object[resource] `json:"steadyFairResources"`
	Cluster  rest.Object[resource] `json:"clusterResources"`
	Queues   json.RawMessage       `json:"queues"`
	Children json.RawMessage       `json:"childQueues"`
	Root     json.RawMessage       `json:"rootQueue"`
}

// DecodeScheduler decodes /ws/v1/cluster/scheduler into the scheduler's type
// and its leaf queues, sorted by path. A queue's share is its guaranteed part
// of the cluster: absolute capacity in the CapacityScheduler, steady fair
// memory in the FairScheduler, 0 there while the cluster has no memory.
func DecodeScheduler(body []byte) (string, []model.Queue, error) {
	var doc struct {
		Scheduler struct {
			Info json.RawMessage `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	var top queueJSON
	if err := rest.Decode(body, &doc); err != nil {
		return "", nil, fmt.Errorf("scheduler: %w", err)
	}
	if len(doc.Scheduler.Info) == 0 {
		return "", nil, errors.New("scheduler: the answer has no schedulerInfo")
	}
	if err := rest.Decode(doc.Scheduler.Info, &top); err != nil {
		return "", nil, fmt.Errorf("scheduler: %w", err)
	}
	scheduler := string(top.Type)
	if scheduler == "fifoScheduler" {
		return scheduler, []model.Queue{{ID: "default", Share: 1}}, nil
	}
	if len(top.Root) > 0 {
		var root queueJSON
		if err := json.Unmarshal(top.Root, &root); err != nil {
			return "", nil, fmt.Errorf("scheduler: root queue: %w", err)
		}
		top = root
	}
	queues, err := leaves(&top, "", 0)
	if err != nil {
		return "", nil, fmt.Errorf("scheduler: %w", err)
	}
	slices.SortFunc(queues, func(a, b model.Queue) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return scheduler, queues, nil
}

// leaves returns the leaf queues at and below q.
func leaves(q *queueJSON, parent string, depth int) ([]model.Queue, error) {
	if depth > maxQueueDepth {
		return nil, fmt.Errorf("queues nested deeper than %d", maxQueueDepth)
	}
	path := string(q.Path)
	switch {
	case path != "":
	case parent == "" || strings.HasPrefix(string(q.Name), parent+"."):
		path = string(q.Name) // the FairScheduler names the whole path
	default:
		path = parent + "." + string(q.Name)
	}
	var all []model.Queue
	for _, raw := range []json.RawMessage{q.Queues, q.Children} {
		children, err := queueList(raw)
		if err != nil {
			return nil, fmt.Errorf("queue %q: %w", path, err)
		}
		for i := range children {
			below, err := leaves(&children[i], path, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	if all == nil && depth > 0 && path != "" {
		all = []model.Queue{{ID: model.QueueID(path), Share: q.share()}}
	}
	return all, nil
}

// queueList decodes {"queue":[…]}, and the bare list or queue of 2.x.
func queueList(raw json.RawMessage) (rest.List[queueJSON], error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	var list rest.List[queueJSON]
	if raw[0] == '{' {
		var wrapped struct {
			Queue *rest.List[queueJSON] `json:"queue"`
		}
		if err := json.Unmarshal(raw, &wrapped); err != nil {
			return nil, err
		}
		if wrapped.Queue != nil {
			return *wrapped.Queue, nil
		}
	}
	err := json.Unmarshal(raw, &list)
	return list, err
}

func (q *queueJSON) share() float64 {
	share := float64(q.Capacity) / 100
	if total := q.Cluster.Value.Memory; total > 0 {
		share = float64(q.Steady.Value.Memory) / float64(total)
	}
	return min(max(share, 0), 1)
}

// fullQueue returns the whole path of a queue that an older ResourceManager
// names by its last part alone, where one leaf only has that name.
func fullQueue(id model.QueueID, queues []model.Queue) model.QueueID {
	if id == "" || strings.ContainsRune(string(id), '.') {
		return id
	}
	full := id
	for _, q := range queues {
		switch {
		case q.ID == id:
			return id
		case strings.HasSuffix(string(q.ID), "."+string(id)):
			if full != id {
				return id
			}
			full = q.ID
		}
	}
	return full
}
