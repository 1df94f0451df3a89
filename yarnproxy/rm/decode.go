package rm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// The decoders are pure functions from the bytes of an answer to facts. They
// take the JSON of Hadoop 2.7 to 3.5: collections that are missing, null, {},
// "" or a single element, and numbers as strings (hadoop.md 1.13). What is not
// such an answer at all is an error, not an empty cluster.

// DecodeInfo decodes /ws/v1/cluster/info. Address, Queues and Localities are
// left for the caller.
func DecodeInfo(body []byte) (model.ClusterFact, error) {
	var doc struct {
		Info *struct {
			StartedOn rest.Int  `json:"startedOn"`
			HAState   rest.Text `json:"haState"`
			Version   rest.Text `json:"resourceManagerVersion"`
		} `json:"clusterInfo"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return model.ClusterFact{}, fmt.Errorf("cluster info: %w", err)
	}
	if doc.Info == nil || doc.Info.StartedOn <= 0 {
		return model.ClusterFact{}, errors.New("cluster info: no clusterInfo with a startedOn: this is not a ResourceManager")
	}
	return model.ClusterFact{
		Started: model.Time(doc.Info.StartedOn),
		Version: string(doc.Info.Version),
		HAState: string(doc.Info.HAState),
	}, nil
}

// resource is YARN's resource object in the names of each version.
type resource struct {
	Memory       rest.Int `json:"memory"`
	VCores       rest.Int `json:"vCores"`
	VirtualCores rest.Int `json:"virtualCores"` // 2.8, in resourceRequests
}

func (r resource) model() model.Resource {
	return model.Resource{MemoryMiB: int64(r.Memory), VCores: int64(max(r.VCores, r.VirtualCores))}
}

type nodeJSON struct {
	ID          rest.Text              `json:"id"`
	Host        rest.Text              `json:"nodeHostName"`
	Rack        rest.Text              `json:"rack"`
	State       rest.Text              `json:"state"`
	HTTPAddress rest.Text              `json:"nodeHTTPAddress"`
	Containers  rest.Int               `json:"numContainers"`
	UsedMB      rest.Int               `json:"usedMemoryMB"`
	AvailMB     rest.Int               `json:"availMemoryMB"`
	UsedVCores  rest.Int               `json:"usedVirtualCores"`
	AvailVCores rest.Int               `json:"availableVirtualCores"`
	Total       *rest.Object[resource] `json:"totalResource"` // since 3.0
}

// DecodeNodes decodes /ws/v1/cluster/nodes: every node in any state, sorted by
// id. Total is what the ResourceManager says, also of a node that is lost; an
// older one says used and available alone, which are zero for a lost node. A
// node without a rack is in model.DefaultRack.
func DecodeNodes(body []byte) (model.NodesFact, error) {
	var doc struct {
		Nodes *rest.Object[struct {
			Node rest.List[nodeJSON] `json:"node"`
		}] `json:"nodes"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return model.NodesFact{}, fmt.Errorf("nodes: %w", err)
	}
	var list rest.List[nodeJSON]
	if doc.Nodes != nil {
		list = doc.Nodes.Value.Node
	} else if err := absent(body, "nodes"); err != nil {
		return model.NodesFact{}, err
	}
	fact := model.NodesFact{Nodes: make([]model.Node, 0, len(list))}
	for i := range list {
		node, err := list[i].model()
		if err != nil {
			return model.NodesFact{}, fmt.Errorf("nodes: element %d: %w", i, err)
		}
		fact.Nodes = append(fact.Nodes, node)
	}
	slices.SortFunc(fact.Nodes, func(a, b model.Node) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return fact, nil
}

func (n *nodeJSON) model() (model.Node, error) {
	if n.ID == "" {
		return model.Node{}, errors.New("no id")
	}
	node := model.Node{
		ID: model.NodeID(n.ID), Host: string(n.Host), Rack: model.RackID(n.Rack),
		State:       model.NodeState(n.State),
		Used:        model.Resource{MemoryMiB: int64(n.UsedMB), VCores: int64(n.UsedVCores)},
		Containers:  int(max(n.Containers, 0)),
		HTTPAddress: string(n.HTTPAddress),
	}
	if node.Host == "" {
		node.Host, _, _ = strings.Cut(string(node.ID), ":")
	}
	if node.Rack == "" {
		node.Rack = model.DefaultRack
	}
	if n.Total != nil && !n.Total.Value.model().IsZero() {
		node.Total = n.Total.Value.model()
	} else {
		node.Total = node.Used.Add(model.Resource{MemoryMiB: int64(n.AvailMB), VCores: int64(n.AvailVCores)})
	}
	return node, nil
}

type appJSON struct {
	ID         rest.Text          `json:"id"`
	Name       rest.Text          `json:"name"`
	User       rest.Text          `json:"user"`
	Queue      rest.Text          `json:"queue"`
	Type       rest.Text          `json:"applicationType"`
	State      rest.Text          `json:"state"`
	Priority   rest.Int           `json:"priority"`
	Started    rest.Int           `json:"startedTime"`
	Finished   rest.Int           `json:"finishedTime"`
	Allocated  rest.Int           `json:"allocatedMB"`
	VCores     rest.Int           `json:"allocatedVCores"`
	Containers rest.Int           `json:"runningContainers"`
	AMNode     rest.Text          `json:"masterNodeId"` // since 2.8
	Tags       rest.Text          `json:"applicationTags"`
	Requests   rest.List[askJSON] `json:"resourceRequests"`
}

func (a *appJSON) model() (model.App, error) {
	if a.ID == "" {
		return model.App{}, errors.New("no id")
	}
	return model.App{
		ID: model.AppID(a.ID), Name: string(a.Name), User: model.UserID(a.User),
		Queue: model.QueueID(a.Queue), Type: string(a.Type), State: model.AppState(a.State),
		Submitted: model.Time(max(a.Started, 0)), Finished: model.Time(max(a.Finished, 0)),
		Priority: int(a.Priority),
		// -1 says that no attempt is alive to ask.
		Allocated:  model.Resource{MemoryMiB: int64(max(a.Allocated, 0)), VCores: int64(max(a.VCores, 0))},
		Containers: int(max(a.Containers, 0)),
		AMNode:     model.NodeID(a.AMNode),
		Tags:       string(a.Tags),
	}, nil
}

// DecodeApps decodes /ws/v1/cluster/apps, sorted by submit time and id.
func DecodeApps(body []byte) (model.AppsFact, error) {
	var doc struct {
		Apps *rest.Object[struct {
			App rest.List[appJSON] `json:"app"`
		}] `json:"apps"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return model.AppsFact{}, fmt.Errorf("apps: %w", err)
	}
	var list rest.List[appJSON]
	if doc.Apps != nil {
		list = doc.Apps.Value.App
	} else if err := absent(body, "apps"); err != nil {
		return model.AppsFact{}, err
	}
	fact := model.AppsFact{Apps: make([]model.App, 0, len(list))}
	for i := range list {
		app, err := list[i].model()
		if err != nil {
			return model.AppsFact{}, fmt.Errorf("apps: element %d: %w", i, err)
		}
		fact.Apps = append(fact.Apps, app)
	}
	slices.SortFunc(fact.Apps, func(a, b model.App) int { return model.CompareApps(&a, &b) })
	return fact, nil
}

// askJSON is one of an application's resourceRequests.
type askJSON struct {
	Priority      priority              `json:"priority"`
	RequestID     *rest.Int             `json:"allocationRequestId"`
	ResourceName  rest.Text             `json:"resourceName"`
	Capability    rest.Object[resource] `json:"capability"`
	Count         rest.Int              `json:"numContainers"`
	RelaxLocality *rest.Bool            `json:"relaxLocality"`
}

// priority is a number, or {"priority":n} in 2.8.
type priority int

// UnmarshalJSON implements json.Unmarshaler.
func (p *priority) UnmarshalJSON(data []byte) error {
	var n rest.Int
	err := json.Unmarshal(data, &n)
	if err != nil {
		var object struct {
			Priority rest.Int `json:"priority"`
		}
		if json.Unmarshal(data, &object) != nil {
			return err
		}
		n = object.Priority
	}
	*p = priority(n)
	return nil
}

// DecodeApp decodes /ws/v1/cluster/apps/{appid} into the application and its
// outstanding ask table, without the rows that ask for nothing any more.
func DecodeApp(body []byte) (model.App, model.AsksFact, error) {
	var doc struct {
		App *appJSON `json:"app"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return model.App{}, model.AsksFact{}, fmt.Errorf("app: %w", err)
	}
	if doc.App == nil {
		return model.App{}, model.AsksFact{}, errors.New(`app: the answer has no "app"`)
	}
	app, err := doc.App.model()
	if err != nil {
		return model.App{}, model.AsksFact{}, fmt.Errorf("app: %w", err)
	}
	asks := model.AsksFact{App: app.ID, Rows: make([]model.AskRow, 0, len(doc.App.Requests))}
	for i := range doc.App.Requests {
		r := &doc.App.Requests[i]
		if r.Count <= 0 {
			continue
		}
		row := model.AskRow{
			Priority: int(r.Priority), RequestID: -1, ResourceName: string(r.ResourceName),
			Capability: r.Capability.Value.model(), Count: int(r.Count), RelaxLocality: true,
		}
		if r.RequestID != nil {
			row.RequestID = int64(*r.RequestID)
		}
		if r.RelaxLocality != nil {
			row.RelaxLocality = bool(*r.RelaxLocality)
		}
		if row.ResourceName == "" {
			return model.App{}, model.AsksFact{}, fmt.Errorf("app %s: resource request %d: no resourceName", app.ID, i)
		}
		asks.Rows = append(asks.Rows, row)
	}
	return app, asks, nil
}

// Attempt is one attempt of an application.
type Attempt struct {
	Number int          // 1 for the first
	AMNode model.NodeID // where its ApplicationMaster runs, "" before it does
	// Blacklist holds the hosts (or racks) the application refuses now.
	Blacklist []string
}

// DecodeAttempts decodes /ws/v1/cluster/apps/{appid}/appattempts, sorted by
// number: the last one is the current.
func DecodeAttempts(body []byte) ([]Attempt, error) {
	var doc struct {
		Attempts *rest.Object[struct {
			Attempt rest.List[struct {
				ID        rest.Int  `json:"id"`
				Node      rest.Text `json:"nodeId"`
				Blacklist rest.Text `json:"blacklistedNodes"` // "host1, host2"
			}] `json:"appAttempt"`
		}] `json:"appAttempts"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return nil, fmt.Errorf("appattempts: %w", err)
	}
	if doc.Attempts == nil {
		return nil, absent(body, "appAttempts")
	}
	var attempts []Attempt
	for i, a := range doc.Attempts.Value.Attempt {
		if a.ID <= 0 {
			return nil, fmt.Errorf("appattempts: element %d: no id", i)
		}
		attempts = append(attempts, Attempt{
			Number: int(a.ID), AMNode: model.NodeID(a.Node),
			Blacklist: strings.FieldsFunc(string(a.Blacklist), func(r rune) bool { return r == ',' || r == ' ' }),
		})
	}
	slices.SortFunc(attempts, func(a, b Attempt) int { return a.Number - b.Number })
	return attempts, nil
}

type containerJSON struct {
	ID       rest.Text `json:"containerId"`
	Node     rest.Text `json:"nodeId"`
	Assigned rest.Text `json:"assignedNodeId"`
	Priority rest.Int  `json:"priority"`
	MB       rest.Int  `json:"allocatedMB"`
	VCores   rest.Int  `json:"allocatedVCores"`
	Started  rest.Int  `json:"startedTime"`
	State    rest.Text `json:"containerState"`
}

// DecodeContainers decodes /ws/v1/cluster/apps/{appid}/appattempts/{attempt}/containers:
// the live containers, sorted by id. The list stands under "container", or as
// others' lists do under "containers" and "container".
func DecodeContainers(body []byte) ([]model.Container, error) {
	var doc struct {
		Bare    rest.List[containerJSON] `json:"container"`
		Wrapped *rest.Object[struct {
			Container rest.List[containerJSON] `json:"container"`
		}] `json:"containers"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return nil, fmt.Errorf("containers: %w", err)
	}
	list := doc.Bare
	switch {
	case doc.Wrapped != nil:
		list = append(list, doc.Wrapped.Value.Container...)
	case list == nil:
		if err := absent(body, "containers", "container"); err != nil {
			return nil, err
		}
	}
	containers := make([]model.Container, 0, len(list))
	for i := range list {
		c := &list[i]
		if c.ID == "" {
			return nil, fmt.Errorf("containers: element %d: no containerId", i)
		}
		if c.State == "COMPLETE" {
			continue
		}
		node := c.Node
		if node == "" {
			node = c.Assigned
		}
		containers = append(containers, model.Container{
			ID: string(c.ID), Node: model.NodeID(node), Priority: int(c.Priority),
			Resource: model.Resource{MemoryMiB: int64(c.MB), VCores: int64(c.VCores)},
			Started:  model.Time(c.Started),
		})
	}
	slices.SortFunc(containers, func(a, b model.Container) int { return strings.Compare(a.ID, b.ID) })
	return containers, nil
}

// DecodeLocalities decodes /jmx?qry=…QueueMetrics,q0=root: the containers the
// scheduler allocated at each level since it started. It returns nil where the
// root queue's metrics are not in the answer.
func DecodeLocalities(body []byte) (*model.LocalityCounts, error) {
	var doc struct {
		Beans rest.List[struct {
			Queue rest.Text `json:"tag.Queue"`
			Node  *rest.Int `json:"AggregateNodeLocalContainersAllocated"`
			Rack  rest.Int  `json:"AggregateRackLocalContainersAllocated"`
			Off   rest.Int  `json:"AggregateOffSwitchContainersAllocated"`
		}] `json:"beans"`
	}
	if err := rest.Decode(body, &doc); err != nil {
		return nil, fmt.Errorf("queue metrics: %w", err)
	}
	for _, b := range doc.Beans {
		if b.Queue == "root" && b.Node != nil {
			return &model.LocalityCounts{NodeLocal: int64(*b.Node), RackLocal: int64(b.Rack), OffSwitch: int64(b.Off)}, nil
		}
	}
	return nil, nil
}

// absent returns nil for an empty collection ({"nodes":null}, {}) and an error for an
// answer of another kind.
func absent(body []byte, keys ...string) error {
	var top map[string]json.RawMessage
	if err := rest.Decode(body, &top); err != nil {
		return fmt.Errorf("%s: %w", keys[0], err)
	}
	if len(top) == 0 {
		return nil
	}
	for _, key := range keys {
		if _, ok := top[key]; ok {
			return nil
		}
	}
	found := slices.Sorted(maps.Keys(top))
	return fmt.Errorf("%s: the answer has none, but %q", keys[0], found[:min(len(found), 4)])
}
