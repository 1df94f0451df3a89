package uplink

import (
	"errors"
	"fmt"
	"strings"

	"heddle/yarnproxy/rest"
)

// The beans that are read. Bean names are made of the service and the source's
// name (org.apache.hadoop.metrics2.util.MBeans); the shuffle's source is
// ShuffleHandler.ShuffleMetrics, a DataNode's is named after its host and port.
const (
	shuffleQuery  = "/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics"
	dataNodeQuery = "/jmx?qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
	shuffleBean   = "Hadoop:service=NodeManager,name=ShuffleMetrics"
	dataNodeBean  = "Hadoop:service=DataNode,name=DataNodeActivity-"
)

// errNoBean means that the daemon answers but has not what is asked for.
var errNoBean = errors.New("no such bean")

// bean is what is read of either bean. Attributes of the other are absent.
type bean struct {
	Name    string    `json:"name"`
	Shuffle *rest.Int `json:"ShuffleOutputBytes"` // served to reduces, wherever they are
	Read    *rest.Int `json:"RemoteBytesRead"`    // by clients on other hosts
	Written *rest.Int `json:"RemoteBytesWritten"` // from clients and DataNodes on other hosts
}

// findBean decodes the answer of the JMX servlet (JMXJsonServlet) and returns the
// first bean whose name starts so.
func findBean(body []byte, prefix string) (bean, error) {
	var answer struct {
		Beans rest.List[bean] `json:"beans"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return bean{}, fmt.Errorf("jmx: %w", err)
	}
	for _, b := range answer.Beans {
		if strings.HasPrefix(b.Name, prefix) {
			return b, nil
		}
	}
	return bean{}, fmt.Errorf("jmx: %s: %w", prefix, errNoBean)
}

// decodeShuffle reads the bytes a NodeManager's shuffle service has served
// since it started.
func decodeShuffle(body []byte) ([]int64, error) {
	b, err := findBean(body, shuffleBean)
	if err != nil {
		return nil, fmt.Errorf("%w (is mapreduce_shuffle among yarn.nodemanager.aux-services?)", err)
	}
	return counters(b.Name, b.Shuffle)
}

// decodeDataNode reads the bytes a DataNode has sent to readers, and received
// from writers, on other hosts since it started.
func decodeDataNode(body []byte) ([]int64, error) {
	b, err := findBean(body, dataNodeBean)
	if err != nil {
		return nil, err
	}
	return counters(b.Name, b.Read, b.Written)
}

// counters returns the byte counters of a bean. All of them must be there.
func counters(bean string, values ...*rest.Int) ([]int64, error) {
	list := make([]int64, len(values))
	for i, v := range values {
		if v == nil || *v < 0 {
			return nil, fmt.Errorf("jmx: %s: a byte counter is missing or negative", bean)
		}
		list[i] = int64(*v)
	}
	return list, nil
}
