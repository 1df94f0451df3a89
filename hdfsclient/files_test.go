package hdfsclient

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnproxy/rest"
)

// content is what the fake DataNode has of a file of so many bytes.
func content(size int64) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

// TestOpen reads files of several ranges from the DataNode that the NameNode names.
func TestOpen(t *testing.T) {
	t.Parallel()
	standby, f := newFake(t), newFake(t)
	standby.standby = true
	f.put("/done/large", 10)
	f.put("/done/2026/small", 1)
	f.put("/done/gone", 1)
	f.put("/done/short", 1)
	f.put("/done/empty", 0)
	asked := 0
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if user := r.URL.Query().Get("user.name"); user != "" {
			t.Errorf("the DataNode is sent the user %s", user)
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		length, _ := strconv.Atoi(r.URL.Query().Get("length"))
		switch {
		case strings.HasSuffix(r.URL.Path, "/gone"):
			remote(w, 404, "FileNotFoundException", "File does not exist")
			return
		case strings.HasSuffix(r.URL.Path, "/short"):
			length = 0
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(content(10 * fakeBlock)[from : from+length])
	}))
	defer data.Close()
	f.override = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("op") != "OPEN" {
			return false
		}
		at := data.URL + r.URL.Path + "?offset=" + r.URL.Query().Get("offset") + "&length=" + r.URL.Query().Get("length")
		http.Redirect(w, r, at, http.StatusTemporaryRedirect)
		return true
	}
	first, second := httptest.NewServer(standby), httptest.NewServer(f)
	defer first.Close()
	defer second.Close()
	c, err := New(Config{NameNodes: []string{first.URL, second.URL}, User: "ann"}, Options{Base: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(path string) ([]byte, error) {
		r, err := c.Open(t.Context(), path)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	for path, size := range map[string]int64{"/done/large": 10 * fakeBlock, "hdfs://nn:8020/done/2026/small": fakeBlock, "webhdfs://nn/done/empty": 0} {
		before := asked
		got, err := read(path)
		if err != nil || !bytes.Equal(got, content(size)) || asked-before != int((size+readChunk-1)/readChunk) {
			t.Errorf("%s: %d bytes in %d requests, %v", path, len(got), asked-before, err)
		}
	}
	var notFound *NotFoundError
	var notFile *NotFileError
	if _, err := read("/done/none"); !errors.As(err, &notFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := read("/done"); !errors.As(err, &notFile) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := read("/done/gone"); !errors.As(err, &notFound) {
		t.Errorf("a file that is gone at the DataNode: %v", err)
	}
	if _, err := read("/done/short"); err == nil || !strings.Contains(err.Error(), "read /done/short: 0 bytes at 0, asked for 1048576") {
		t.Errorf("an answer that is too short: %v", err)
	}
}

// A NameNode behind TLS cannot send the reader to a DataNode without it.
func TestOpenRefusesDowngrade(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/a", 1)
	f.override = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("op") != "OPEN" {
			return false
		}
		http.Redirect(w, r, "http://dn:9864/a", http.StatusTemporaryRedirect)
		return true
	}
	nn := httptest.NewTLSServer(f)
	defer nn.Close()
	c, err := New(Config{NameNodes: []string{nn.URL}}, Options{Base: nn.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Open(t.Context(), "/a")
	if err != nil {
		t.Fatal(err)
	}
	var redirect *rest.RedirectError
	if _, err := io.ReadAll(r); err == nil || errors.As(err, &redirect) || !strings.Contains(err.Error(), "redirects from https to http://dn:9864/a") {
		t.Errorf("%v", err)
	}
}

// TestFiles lists files at any depth, over several pages.
func TestFiles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	want := []string{"/done/.hidden", "/done/2026/11/21/000000/b", "/done/2026/11/22/000001/c", "/done/_a", "/done/a"}
	for _, name := range append(want, "/other/x") {
		f.put(name, 1)
	}
	f.pageSize = 2
	nn := httptest.NewServer(f)
	defer nn.Close()
	c, err := New(Config{NameNodes: []string{nn.URL}}, Options{Base: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list := func(path string) (got []string, err error) {
		err = c.Files(t.Context(), path, func(p string) error {
			got = append(got, p)
			return nil
		})
		slices.Sort(got)
		return got, err
	}
	if got, err := list("hdfs:///done/"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := list("/done/a"); err != nil || !cmp.Equal(got, []string{"/done/a"}) {
		t.Errorf("%v, %v", got, err)
	}
	var notFound *NotFoundError
	if _, err := list("/none"); !errors.As(err, &notFound) {
		t.Errorf("%v", err)
	}
	stop := errors.New("stop")
	if err := c.Files(t.Context(), "/done", func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
