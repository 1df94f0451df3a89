package fakehadoop

import (
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
)

const blockSize = 16 << 20 // dfs.blocksize of the recorded cluster

func (s *Site) nameNode(r *http.Request) Answer {
	switch {
	case r.URL.Path == "/topology":
		return jsonAnswer(http.StatusOK, s.tape.file("nn-topology.json"))
	case r.URL.Path == "/jmx" && strings.HasSuffix(r.URL.Query().Get("qry"), "NameNodeInfo"):
		return jsonAnswer(http.StatusOK, s.tape.file("nn-info.json"))
	case r.URL.Path == "/jmx":
		return jsonAnswer(http.StatusOK, s.tape.file("nn-state.json"))
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/webhdfs/v1")
	if !ok {
		return Answer{Status: http.StatusNotFound, Type: "text/html", Body: "<html>Not Found</html>"}
	}
	return s.webHDFS(path.Clean("/"+name), r)
}

func (s *Site) webHDFS(name string, r *http.Request) Answer {
	file, isFile := s.input(name)
	files, isInput := s.tape.inputs[name]
	switch op := r.URL.Query().Get("op"); {
	case !isFile && !isInput && name != "/" && name != "/data":
		return jsonAnswer(http.StatusNotFound, strings.ReplaceAll(s.tape.file("nn-missing-404.json"), "/nope", name))
	case op == "GETFILESTATUS":
		return encoded(map[string]any{"FileStatus": status("", file, isFile)})
	case op == "LISTSTATUS_BATCH" && name == "/data/tg2":
		return jsonAnswer(http.StatusOK, s.tape.file("nn-listing-tg2.json"))
	case op == "LISTSTATUS_BATCH" && isInput:
		list := make([]any, len(files))
		for i := range files {
			list[i] = status(files[i].Name, files[i], true)
		}
		return encoded(map[string]any{"DirectoryListing": map[string]any{
			"partialListing": map[string]any{"FileStatuses": map[string]any{"FileStatus": list}}, "remainingEntries": 0,
		}})
	case op == "GETFILEBLOCKLOCATIONS" && isFile:
		return encoded(map[string]any{"BlockLocations": map[string]any{"BlockLocation": locations(file, r)}})
	default:
		return jsonAnswer(http.StatusBadRequest, strings.ReplaceAll(s.tape.file("nn-unknown-op-400.json"), "NOSUCH", op))
	}
}

func (s *Site) input(name string) (inputFile, bool) {
	for _, f := range s.tape.inputs[path.Dir(name)] {
		if f.Name == path.Base(name) {
			return f, true
		}
	}
	return inputFile{}, false
}

func status(suffix string, f inputFile, isFile bool) map[string]any {
	m := map[string]any{
		"accessTime": 0, "blockSize": 0, "childrenNum": 0, "fileId": 16385, "group": "supergroup", "length": 0, "modificationTime": 1795216010826,
		"owner": "root", "pathSuffix": suffix, "permission": "755", "replication": 0, "storagePolicy": 0, "type": "DIRECTORY",
	}
	if isFile {
		m["type"], m["length"], m["blockSize"], m["replication"] = "FILE", f.Length, blockSize, 2
	}
	return m
}

// location is Hadoop's BlockLocation, in the order it is sent.
type location struct {
	TopologyPaths []string `json:"topologyPaths"`
	Corrupt       bool     `json:"corrupt"`
	CachedHosts   []string `json:"cachedHosts"`
	Names         []string `json:"names"`
	Offset        int64    `json:"offset"`
	Hosts         []string `json:"hosts"`
	Length        int64    `json:"length"`
	StorageTypes  []string `json:"storageTypes"`
}

// locations returns the blocks that overlap what is asked for.
func locations(f inputFile, r *http.Request) []location {
	q := r.URL.Query()
	from, _ := strconv.ParseInt(q.Get("offset"), 10, 64)
	length, err := strconv.ParseInt(q.Get("length"), 10, 64)
	if err != nil {
		length = f.Length
	}
	list := []location{}
	for i, hosts := range f.Blocks {
		l := location{Offset: int64(i) * blockSize, Hosts: hosts, CachedHosts: []string{}}
		l.Length = min(blockSize, f.Length-l.Offset)
		if l.Offset >= from+length || l.Offset+l.Length <= from {
			continue
		}
		for _, h := range hosts { // w23 is 10.77.2.13 in /rack2
			address := "10.77." + h[1:2] + ".1" + h[2:] + ":9866"
			l.Names = append(l.Names, address)
			l.TopologyPaths = append(l.TopologyPaths, "/rack"+h[1:2]+"/"+address)
			l.StorageTypes = append(l.StorageTypes, "DISK")
		}
		list = append(list, l)
	}
	return list
}

func encoded(v any) Answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values
	}
	return jsonAnswer(http.StatusOK, string(body))
}
