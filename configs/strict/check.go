package strict

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Validator gathers what is wrong with the values of a document.
type Validator struct {
	paths    map[any]string // by the pointer to a key's field, or to a row
	Problems Problems
}

// newValidator returns a validator that finds the path of a key or row by the address
// of its field, so that checks name fields of the struct instead of paths.
func newValidator(d *Document) *Validator {
	v := &Validator{paths: map[any]string{}}
	for _, k := range d.Keys {
		v.paths[k.Field.Addr().Interface()] = k.Path
		for _, row := range rowKeys(k) {
			v.paths[row.Field.Addr().Interface()] = row.Path
		}
	}
	return v
}

// Path returns the path of the key or row that a pointer to a field belongs to.
func (v *Validator) Path(field any) string { return v.paths[field] }

// Add adds a problem of the key whose field is pointed to. also points to
// further fields that the problem speaks of.
func (v *Validator) Add(field any, message string, also ...any) {
	p := &Problem{Path: v.paths[field], Message: message}
	for _, other := range also {
		p.also = append(p.also, v.paths[other])
	}
	v.Problems = append(v.Problems, p)
}

// AddPath adds a problem of a row or of an entry of a map.
func (v *Validator) AddPath(path, message string, also ...string) {
	v.Problems = append(v.Problems, &Problem{Path: path, Message: message, also: also})
}

// tags checks a key against the tags of its field.
func (v *Validator) tags(k Key) {
	if limits, ok := k.Tag.Lookup("range"); ok {
		if rates, isMap := reflect.TypeAssert[map[string]Rate](k.Field); !isMap {
			v.inRange(k.Path, k.Field, limits)
		} else {
			for _, name := range slices.Sorted(maps.Keys(rates)) {
				v.inRange(k.Path+"."+name, reflect.ValueOf(rates[name]), limits)
			}
		}
	}
	if allowed, ok := k.Tag.Lookup("oneof"); ok && !slices.Contains(strings.Split(allowed, ","), k.Field.String()) {
		message := fmt.Sprintf("%q: want one of %s", k.Field.String(), strings.Join(splitList(allowed), ", "))
		if old, replacement, found := strings.Cut(k.Tag.Get("removed"), "="); found && old == k.Field.String() {
			message = fmt.Sprintf("%q was removed: use %s", old, replacement)
		}
		v.AddPath(k.Path, message)
	}
	for _, name := range splitList(k.Tag.Get("format")) {
		items, isList := reflect.TypeAssert[[]string](k.Field)
		switch {
		case name == "unique":
			v.unique(k.Path, items)
		case isList:
			for _, item := range items {
				v.format(k.Path, name, item)
			}
		case k.Field.String() != "" || k.Tag.Get("default") != "":
			v.format(k.Path, name, k.Field.String())
		}
	}
}

// inRange checks a value against limits such as "100ms..1h".
func (v *Validator) inRange(path string, value reflect.Value, limits string) {
	low, high, _ := strings.Cut(limits, "..")
	below, above := compareText(value, low) < 0, compareText(value, high) > 0
	_, hasUnit := reflect.TypeAssert[encoding.TextMarshaler](value)
	switch {
	case !below && !above:
	case !hasUnit:
		v.AddPath(path, fmt.Sprintf("%s: must be from %s to %s", TextOf(value), low, high))
	case below:
		v.AddPath(path, fmt.Sprintf("%s: must be at least %s", TextOf(value), low))
	default:
		v.AddPath(path, fmt.Sprintf("%s: must be at most %s", TextOf(value), high))
	}
}

// compareText compares a number of any kind with a limit of a tag.
func compareText(value reflect.Value, limit string) int {
	other, err := parseText(value.Type(), limit, &Hints{})
	if err != nil {
		panic("strict: a range tag holds " + err.Error())
	}
	if value.CanInt() {
		return cmp.Compare(value.Int(), other.Int())
	}
	return cmp.Compare(value.Float(), other.Float())
}

// unique checks that a list names nothing twice.
func (v *Validator) unique(path string, list []string) {
	seen := map[string]bool{}
	for _, item := range list {
		k := strings.TrimSuffix(item, "/")
		if seen[k] {
			v.AddPath(path, fmt.Sprintf("%q is given twice", item))
		}
		seen[k] = true
	}
}

// format checks a text against one of the formats.
func (v *Validator) format(path, name, text string) {
	check, ok := formats()[name]
	if !ok {
		panic("strict: a format tag holds " + name)
	}
	if problem := check(text); problem != "" {
		v.AddPath(path, problem)
	}
}

// formats returns the formats of texts by name. Each returns what is wrong with
// a text, "" for nothing.
func formats() map[string]func(text string) string {
	want := func(what string, ok func(text string) bool) func(string) string {
		return func(text string) string {
			if ok(text) {
				return ""
			}
			return fmt.Sprintf("%q: want %s", text, what)
		}
	}
	isWord := func(text string) bool { return text != "" && !strings.ContainsAny(text, ", \t") }
	return map[string]func(string) string{
		"url":       checkURL,
		"address":   want("host:port", func(text string) bool { host, port := hostPort(text); return host != "" && port > 0 }),
		"listen":    want("host:port, such as 127.0.0.1:7909", func(text string) bool { _, port := hostPort(text); return port >= 0 }),
		"host":      want("a host name or IP address, without a port", isHost),
		"principal": want("service/host, such as HTTP/_HOST@EXAMPLE.COM", isServicePrincipal),
		"path":      want("an absolute path", func(text string) bool { return text == "" || filepath.IsAbs(text) }),
		"name":      want("one name, without spaces or commas", isWord),
		"tag":       want("one tag, without spaces or commas", func(text string) bool { return text == "" || isWord(text) }),
	}
}

// hostPort splits an address; the port is -1 when it is none.
func hostPort(text string) (host string, port int) {
	host, portText, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil || strings.ContainsAny(host, "/@, ") {
		return "", -1
	}
	return host, int(n)
}

// isHost reports whether a text is a host name or an IP address.
func isHost(text string) bool {
	return net.ParseIP(text) != nil || text != "" && !strings.ContainsAny(text, ":/@, \t[]")
}

// isServicePrincipal reports whether a text is "service/host", with or without
// a realm.
func isServicePrincipal(text string) bool {
	name, _, _ := strings.Cut(text, "@")
	service, host, ok := strings.Cut(name, "/")
	return ok && service != "" && host != "" && !strings.ContainsAny(text, " \t")
}

// checkURL checks the base URL of a service.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "not a URL; want one such as http://host:8088" // url.Error repeats the text, which may hold a password
	case u.User != nil:
		return "a URL with a user or password is not accepted; authentication is set in the section security"
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.Contains(text, ","):
		return fmt.Sprintf("%q: want a URL such as http://host:8088", text)
	case u.RawQuery != "" || u.Fragment != "" || strings.Contains(text, "?"):
		return fmt.Sprintf("%q: want a base URL, without a query", text)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return fmt.Sprintf("%q: bad port %s", text, p)
		}
	}
	return ""
}
