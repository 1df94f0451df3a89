package configs

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// within checks low <= value <= high.
func within[T interface {
	cmp.Ordered
	fmt.Stringer
}](v *validator, path string, value, low, high T) {
	switch {
	case value < low:
		v.add(path, fmt.Sprintf("%s: must be at least %s", value, low))
	case value > high:
		v.add(path, fmt.Sprintf("%s: must be at most %s", value, high))
	}
}

// number checks low <= value <= high of a plain number.
func number[T int | float64](v *validator, path string, value, low, high T) {
	if value < low || value > high {
		v.add(path, fmt.Sprintf("%v: must be from %v to %v", value, low, high))
	}
}

// oneOf checks that value is one of the allowed ones.
func oneOf[T ~string](v *validator, path string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	v.add(path, fmt.Sprintf("%q: want one of %s", value, strings.Join(names, ", ")))
}

const (
	hundredMs = Duration(100 * time.Millisecond)
	second    = Duration(time.Second)
	minute    = Duration(time.Minute)
	hour      = Duration(time.Hour)
	day       = 24 * hour
)

// baseURL checks the base URL of a service.
func baseURL(v *validator, path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		v.add(path, "not a URL; want one such as http://host:8088") // url.Error repeats the text, which may hold a password
	case u.User != nil:
		v.add(path, "a URL with a user or password is not accepted; authentication is set in the section security")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		v.add(path, fmt.Sprintf("%q: want a URL such as http://host:8088", text))
	case u.RawQuery != "" || u.Fragment != "" || strings.Contains(text, "?"):
		v.add(path, fmt.Sprintf("%q: want a base URL, without a query", text))
	default:
		if p := u.Port(); p != "" {
			if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
				v.add(path, fmt.Sprintf("%q: bad port %s", text, p))
			}
		}
	}
}

// unique checks that a list names nothing twice.
func unique(v *validator, path string, list []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if k := strings.TrimSuffix(s, "/"); seen[k] {
			v.add(path, fmt.Sprintf("%q is given twice", s))
		} else {
			seen[k] = true
		}
	}
}

// budget checks the limits of what is spent on one of Hadoop's services.
func budget(v *validator, section string, requests float64, bytes Rate, timeout Duration) {
	number(v, section+".requests_per_second", requests, 0.1, 100_000)
	within(v, section+".bytes_per_second", bytes, Rate(1<<10), 1000*gbps)
	within(v, section+".timeout", timeout, hundredMs, 10*minute)
}

// hostPort checks an address to connect to.
func hostPort(v *validator, path, text string) {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || n == 0 || host == "" || strings.ContainsAny(host, "/@ ") {
		v.add(path, fmt.Sprintf("%q: want host:port", text))
	}
}

// principal checks a service's principal, "service/host" with or without a realm.
func principal(v *validator, path, text string) {
	name, _, _ := strings.Cut(text, "@")
	service, host, ok := strings.Cut(name, "/")
	if !ok || service == "" || host == "" || strings.ContainsAny(text, " \t") {
		v.add(path, fmt.Sprintf("%q: want service/host, such as HTTP/_HOST@EXAMPLE.COM", text))
	}
}

// listenAddress checks an address to listen on, "" aside.
func listenAddress(v *validator, path, text string) {
	if text == "" {
		return
	}
	host, port, err := net.SplitHostPort(text)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || strings.ContainsAny(host, "/@ ") {
		v.add(path, fmt.Sprintf("%q: want host:port, such as %s", text, DefaultRelayAddress))
	}
}

// isHost reports whether a text is a host name or an IP address.
func isHost(text string) bool {
	if net.ParseIP(text) != nil {
		return true
	}
	return text != "" && !strings.ContainsAny(text, ":/@, \t[]")
}
