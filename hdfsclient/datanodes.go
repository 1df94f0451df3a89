package hdfsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

const (
	infoPath     = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
	statePath    = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
	topologyPath = "/topology"
)

// dataNode is one DataNode of NameNodeInfo. Its rack is empty on a NameNode
// older than 3.3.1, which does not print the location.
type dataNode struct {
	model.DataNode
	address string // ip:port, as /topology lists it
}

// dataNodeJSON is one value of LiveNodes or DeadNodes (FSNamesystem.getLiveNodes).
type dataNodeJSON struct {
	Address  string   `json:"xferaddr"`
	Location string   `json:"location"`
	Blocks   rest.Int `json:"numBlocks"`
	Capacity rest.Int `json:"capacity"`
	Used     rest.Int `json:"usedSpace"`
}

// decodeNameNodeInfo reads the NameNodeInfo bean, whose node lists are JSON
// texts within the JSON. It returns the nodes by host, and what the NameNode
// says of its safe mode, "" when it is off.
func decodeNameNodeInfo(body []byte) ([]dataNode, string, error) {
	var answer struct {
		Beans []struct {
			SafeMode rest.Text `json:"Safemode"`
			Live     rest.Text `json:"LiveNodes"`
			Dead     rest.Text `json:"DeadNodes"`
		} `json:"beans"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return nil, "", fmt.Errorf("NameNodeInfo: %w", err)
	}
	if len(answer.Beans) == 0 {
		return nil, "", errors.New("NameNodeInfo: no such bean; the address may not be a NameNode's")
	}
	bean := answer.Beans[0]
	nodes, err := decodeNodes(nil, string(bean.Live), true)
	if err != nil {
		return nil, "", fmt.Errorf("NameNodeInfo LiveNodes: %w", err)
	}
	if nodes, err = decodeNodes(nodes, string(bean.Dead), false); err != nil {
		return nil, "", fmt.Errorf("NameNodeInfo DeadNodes: %w", err)
	}
	slices.SortFunc(nodes, func(a, b dataNode) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.address, b.address))
	})
	return nodes, string(bean.SafeMode), nil
}

func decodeNodes(nodes []dataNode, text string, live bool) ([]dataNode, error) {
	if text == "" {
		return nodes, nil
	}
	var byName map[string]dataNodeJSON
	if err := rest.Decode([]byte(text), &byName); err != nil {
		return nil, err
	}
	for name, j := range byName {
		host := withoutPort(name)
		if host == "" {
			return nil, fmt.Errorf("%q names no host", name)
		}
		nodes = append(nodes, dataNode{address: j.Address, DataNode: model.DataNode{
			Host: host, Rack: model.RackID(j.Location), Live: live,
			Blocks: max(int64(j.Blocks), 0), Capacity: model.Bytes(max(j.Capacity, 0)), Used: model.Bytes(max(j.Used, 0)),
		}})
	}
	return nodes, nil
}

// withoutPort cuts the port off "host:port"; before Hadoop 2.4 there is none.
func withoutPort(name string) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		if _, err := strconv.ParseUint(name[i+1:], 10, 16); err == nil {
			return name[:i]
		}
	}
	return name
}

// decodeTopology reads /topology into racks by host name and by ip:port
// (NetworkTopologyServlet).
func decodeTopology(body []byte) (map[string]model.RackID, error) {
	var answer []map[string]rest.List[struct {
		Address string `json:"ip"`
		Host    string `json:"hostname"`
	}]
	if err := rest.Decode(body, &answer); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	racks := make(map[string]model.RackID)
	for _, rack := range answer {
		for name, nodes := range rack {
			for _, n := range nodes {
				racks[n.Address] = model.RackID(name)
				racks[n.Host] = model.RackID(name)
			}
		}
	}
	delete(racks, "")
	return racks, nil
}

// DataNodes returns the DataNodes as the NameNode sees them, with their racks.
// Racks come from NameNodeInfo, or from /topology if it has none; a
// DataNode in neither is in model.DefaultRack. In safe mode, when not all of
// them have reported, it returns *SafeModeError.
func (c *Client) DataNodes(ctx context.Context) (model.DataNodesFact, error) {
	var nodes []dataNode
	var safeMode string
	err := c.web.get(ctx, infoPath, func(body []byte) (err error) {
		nodes, safeMode, err = decodeNameNodeInfo(body)
		return err
	})
	if err != nil {
		return model.DataNodesFact{}, classify(infoPath, err)
	}
	if safeMode != "" {
		return model.DataNodesFact{}, &SafeModeError{Message: firstLine(safeMode)}
	}
	var racks map[string]model.RackID
	if slices.ContainsFunc(nodes, func(n dataNode) bool { return n.Live && n.Rack == "" }) {
		err := c.web.get(ctx, topologyPath, func(body []byte) (err error) {
			racks, err = decodeTopology(body)
			return err
		})
		var status *rest.StatusError
		if err != nil && (!errors.As(err, &status) || status.Status != 404) { // 404: older than /topology as well
			return model.DataNodesFact{}, classify(topologyPath, err)
		}
	}
	fact := model.DataNodesFact{DataNodes: make([]model.DataNode, 0, len(nodes))}
	for _, n := range nodes {
		n.Rack = cmp.Or(n.Rack, racks[n.address], racks[n.Host], model.DefaultRack)
		fact.DataNodes = append(fact.DataNodes, n.DataNode)
	}
	return fact, nil
}

// decodeSafeMode reads the FSNamesystemState bean and reports whether the
// NameNode is in safe mode. No bean, as of a service that only speaks WebHDFS,
// is not in safe mode.
func decodeSafeMode(body []byte) (bool, error) {
	var answer struct {
		Beans []struct {
			State rest.Text `json:"FSState"`
		} `json:"beans"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return false, fmt.Errorf("FSNamesystemState: %w", err)
	}
	return len(answer.Beans) > 0 && strings.EqualFold(string(answer.Beans[0].State), "safeMode"), nil
}

// checkActive finds the active NameNode and returns nil unless it is in safe mode,
// when it does not know all blocks. A result younger than age, in milliseconds, is reused.
func (c *Client) checkActive(ctx context.Context, age int64) error {
	now := c.now().UnixMilli()
	if at := c.readyAt.Load(); at > 0 && now >= at && now-at < age {
		return nil
	}
	c.readyAt.Store(0)
	if _, err := c.web.stat(ctx, "/"); err != nil { // a read that only the active one answers
		return fmt.Errorf("ask which NameNode is active: %w", err)
	}
	safeMode := false
	err := c.web.get(ctx, statePath, func(body []byte) (err error) {
		safeMode, err = decodeSafeMode(body)
		return err
	})
	var status *rest.StatusError
	switch {
	case errors.As(err, &status): // no access to JMX: the rest works without
	case err != nil:
		return fmt.Errorf("ask for the NameNode's state: %w", err)
	case safeMode:
		return &SafeModeError{Message: "its FSState is safeMode"}
	}
	c.readyAt.Store(now)
	return nil
}
