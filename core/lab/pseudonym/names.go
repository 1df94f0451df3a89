package pseudonym

import (
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// Each function here replaces one name in place. Names of several parts are taken apart as
// the core takes them apart.

func (w *walk) rack(r *model.RackID) {
	if *r != model.DefaultRack {
		rename(w, rack, r)
	}
}

func (w *walk) user(u *model.UserID) { rename(w, user, u) }

// host replaces a host's name. Names of hosts that are the same up to the first dot can
// stand for one host (topology.Tree); an address has no such short form.
func (w *walk) host(h *string) {
	first, rest, dotted := *h, "", false
	if !isAddress(first) {
		first, rest, dotted = strings.Cut(first, ".")
	}
	out := w.name(label, first, *h+":")
	if dotted {
		out += "." + w.name(domain, rest, rest+":")
	}
	*h = out
}

// isAddress reports whether a host's name is taken for an address.
func isAddress(host string) bool { return host != "" && '0' <= host[0] && host[0] <= '9' }

// node replaces the host in a node's id.
func (w *walk) node(id *model.NodeID) {
	host, port := splitPort(string(*id))
	first := host
	if !isAddress(host) {
		first, _, _ = strings.Cut(host, ".")
	}
	w.names.noteNode(first, string(*id))
	w.host(&host)
	*id = model.NodeID(host + port)
}

// address replaces the host in HOST:PORT or in a URL.
func (w *walk) address(a *string) {
	if strings.Contains(*a, "://") {
		w.path(a)
		return
	}
	host, port := splitPort(*a)
	w.host(&host)
	*a = host + port
}

// splitPort cuts a port with its colon off the end of an address. Without a host before it, it is a name.
func splitPort(address string) (host, port string) {
	i := strings.LastIndexByte(address, ':')
	if i < 1 || i+1 == len(address) || strings.Trim(address[i+1:], "0123456789") != "" {
		return address, ""
	}
	return address[:i], address[i:]
}

// resource replaces the name in a row of an ask table, or in a blacklist.
func (w *walk) resource(s *string) {
	switch {
	case *s == model.AnyName:
	case strings.HasPrefix(*s, "/"):
		r := model.RackID(*s)
		w.rack(&r)
		*s = string(r)
	default:
		w.host(s)
	}
}

// root is the root of all queues. A path with and without it names the same queue
// (capacity.Params).
const root = "root"

func (w *walk) queue(q *model.QueueID) { renameQueue(w, q) }

func renameQueue[S ~string](w *walk, q *S) {
	below, rooted := strings.CutPrefix(string(*q), root+".")
	if below != root {
		rename(w, queue, &below)
	}
	if rooted {
		below = root + "." + below
	}
	*q = S(below)
}

// wordless stands for a job name that has no word in it, and so none of a recurring job.
const wordless = "#"

// job replaces a job's name. What differs in it from one run of the job to the next is
// left out.
func (w *walk) job(name *string) {
	normal := shuffle.NormalName(*name)
	switch {
	case normal != "":
		*name = w.name(job, normal, normal)
	case *name != "":
		*name = wordless
	}
}

// path replaces every name in a path or URI, and leaves its form.
func (w *walk) path(p *string) {
	var out strings.Builder
	rest, volume := *p, ""
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		authority, below, slash := strings.Cut(after, "/")
		if scheme != "hdfs" { // the name of a NameNode does not count (package dependencies)
			volume = scheme + ":" + authority
		}
		host, port := splitPort(authority)
		renameWord(w, &scheme, keptScheme)
		w.host(&host)
		out.WriteString(scheme + "://" + host + port)
		if slash {
			out.WriteByte('/')
		}
		rest = below
	}
	if below, ok := strings.CutPrefix(rest, "hdfs:"); ok {
		out.WriteString("hdfs:")
		rest = below
	}
	to := []string{volume}
	for i, name := range strings.Split(rest, "/") {
		if i > 0 {
			out.WriteByte('/')
		}
		if to = descend(to, name); name != "" && name != "." && name != ".." {
			clean := strings.Join(to, "\x00") // orders folder by folder
			name = w.name(folder, clean, clean)
		}
		out.WriteString(name)
	}
	*p = out.String()
}

// descend returns where one name of a path leads to.
func descend(to []string, name string) []string {
	switch {
	case name == "" || name == ".":
		return to
	case name == ".." && len(to) > 1:
		return to[:len(to)-1]
	}
	return append(to, name)
}

// app wants the form of an application's id, which holds no name.
func (w *walk) app(id *model.AppID) {
	rest, ok := strings.CutPrefix(string(*id), "application_")
	if *id != "" && (!ok || !isNumbers(rest, 2)) {
		w.fail("the application %q: want an id such as application_1789000000000_0001, which has no name in it", *id)
	}
}

// container wants the form of a container's id, which holds no name.
func (w *walk) container(id *string) {
	rest, ok := strings.CutPrefix(*id, "container_")
	if epoch, after, cut := strings.Cut(rest, "_"); cut && strings.HasPrefix(epoch, "e") && isNumbers(epoch[1:], 1) {
		rest = after
	}
	if *id != "" && (!ok || !isNumbers(rest, 4)) {
		w.fail("the container %q: want an id such as container_1789000000000_0001_01_000001, which has no name in it", *id)
	}
}

// isNumbers reports whether a text is n numbers with underscores between.
func isNumbers(s string, n int) bool {
	for part := range strings.SplitSeq(s, "_") {
		if n--; part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return n == 0
}
