package wire

import "heddle/yarnproxy/ipc"

// NodeState is NodeStateProto: what the ResourceManager thinks of a node.
type NodeState int32

// The states of a node; zero is none given.
const (
	NodeNew             NodeState = 1
	NodeRunning         NodeState = 2
	NodeUnhealthy       NodeState = 3
	NodeDecommissioned  NodeState = 4
	NodeLost            NodeState = 5
	NodeRebooted        NodeState = 6
	NodeDecommissioning NodeState = 7
	NodeShutdown        NodeState = 8
)

// Usable reports whether asks may name the node: whether the ResourceManager
// puts new containers on it, or has not said that it does not. That is narrower
// than NodeState.isUnusable of Hadoop, which asks whether running containers are
// lost: a node that is being decommissioned keeps those and gets no new ones.
func (s NodeState) Usable() bool { return s < NodeUnhealthy }

func (n *UpdatedNode) parse(b []byte) error {
	c := ipc.NewFields("NodeReportProto", b)
	for c.Next() {
		switch c.Num { // fields of NodeReportProto
		case 1:
			c.Nested(parseNode(c.Bytes(), &n.Host, &n.Port))
		case 3:
			n.Rack = c.Bytes()
		case 7:
			if s := NodeState(c.Int32()); s >= NodeNew && s <= NodeShutdown {
				n.State = s
			}
		}
	}
	return c.Err()
}
