package strict

import (
	"fmt"
	"strings"
)

// Layer is one of the places a value can come from, weakest first.
type Layer uint8

// The layers in the order of precedence.
const (
	LayerDefault Layer = iota
	LayerHadoop
	LayerFile
	LayerEnv
	LayerFlag
)

// Origin is where a value came from. File and Line are set for the layers
// file and hadoop; Name is Hadoop's key, the environment variable or the flag.
type Origin struct {
	Layer Layer
	File  string
	Line  int
	Name  string
}

// String prints o for people: "heddle.yml:12", "environment HEDDLE_MODE",
// "hadoop yarn-site.xml:7 yarn.resourcemanager.hostname", "default".
func (o Origin) String() string {
	place := o.File
	if o.Line > 0 {
		place = fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	switch o.Layer {
	case LayerFile:
		return place
	case LayerHadoop:
		return strings.TrimSpace("hadoop " + place + " " + o.Name)
	case LayerEnv:
		return "environment " + o.Name
	case LayerFlag:
		return "flag --" + o.Name
	case LayerDefault:
	}
	return "default"
}

// Problem is one thing that is wrong with a configuration.
type Problem struct { //nolint:errname // a finding first, an error by the way
	Path    string // of the key, dotted; "" for a file as a whole
	Origin  Origin // of the value, or of the nearest section when the key is absent
	Message string

	// also lists further keys of a contradiction. If one of them could not be read,
	// the problem may only follow from that, and is omitted.
	also []string
}

// Error implements error.
func (p *Problem) Error() string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Origin.Layer != LayerDefault || p.Origin.File != "" {
		s = p.Origin.String() + ": " + s
	}
	return s
}

// Problems is everything that is wrong with a configuration.
type Problems []*Problem //nolint:errname // as Problem

// maxPrinted bounds how many problems one error text lists.
const maxPrinted = 100

// Error implements error: one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, 0, min(len(ps), maxPrinted)+1)
	for i, p := range ps {
		if i == maxPrinted {
			lines = append(lines, fmt.Sprintf("and %d more", len(ps)-maxPrinted))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}
