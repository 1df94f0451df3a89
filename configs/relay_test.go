package configs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/core/model"
)

func TestRelayListeners(t *testing.T) {
	t.Parallel()
	tests := []struct{ dir, text, want, from string }{
		{
			"single", "mode: enforce", "[{address: 127.0.0.1:7930, upstream: master.example.com:8030}]",
			"hadoop testdata/hadoop/single/yarn-site.xml:3 yarn.resourcemanager.hostname",
		},
		{
			"ha", "mode: enforce\nrelay: {listen: \"10.0.0.5:8100\"}",
			"[{rm: rm1, address: 10.0.0.5:8100, upstream: rm1.example.com:8030}, {rm: rm2, address: 10.0.0.5:8101, upstream: rm2.example.com:8030}]",
			"hadoop testdata/hadoop/ha/yarn-site.xml:7 yarn.resourcemanager.ha.rm-ids",
		},
		{
			"ha", "mode: advise\nrelay: {listen: \"[::1]:0\"}",
			`[{rm: rm1, address: "[::1]:0", upstream: rm1.example.com:8030}, {rm: rm2, address: "[::1]:0", upstream: rm2.example.com:8030}]`,
			"hadoop testdata/hadoop/ha/yarn-site.xml:7 yarn.resourcemanager.ha.rm-ids",
		},
		{"ha", "mode: advise", "", "default"},
		{"ha", "mode: observe\nrelay: {listen: \"10.0.0.5:8100\"}", "", "default"},
		{
			"client", "mode: enforce", "[{address: 127.0.0.1:7930, upstream: master.example.com:8030}]",
			"hadoop testdata/hadoop/client/yarn-site.xml:31 yarn.resourcemanager.scheduler.address.direct",
		},
		{
			"haclient", "mode: enforce",
			"[{rm: rm1, address: 127.0.0.1:7930, upstream: rm1.example.com:8030}, {rm: rm2, address: 127.0.0.1:7931, upstream: rm2.example.com:8030}]",
			"hadoop testdata/hadoop/haclient/yarn-site.xml:7 yarn.resourcemanager.ha.rm-ids",
		},
		{"clientsimple", "mode: enforce\nrelay: {listeners: [{address: \"10.0.0.5:1\", upstream: \"rm:8030\"}]}", "[{address: 10.0.0.5:1, upstream: rm:8030}]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.dir+" "+tt.text, func(t *testing.T) {
			t.Parallel()
			env := []string{"JHS_HOST=jhs"}
			l := load(t, configs.Options{File: write(t, tt.text), Env: env, HadoopConfDir: "testdata/hadoop/" + tt.dir})
			for _, e := range l.Entries() {
				if e.Path == "relay.listeners" && (e.Value != tt.want || tt.from != "" && e.Origin.String() != tt.from) {
					t.Errorf("got %s from %s\nwant %s from %s", e.Value, e.Origin, tt.want, tt.from)
				}
			}
			if runs := l.Config.RelayRuns(); runs != (tt.want != "") {
				t.Errorf("RelayRuns() = %v", runs)
			}
			again := load(t, configs.Options{Env: printed(l)})
			if diff := cmp.Diff(l.Config, again.Config); diff != "" {
				t.Errorf("printed and read again (-first +again):\n%s", diff)
			}
		})
	}
}

func TestRelayProblems(t *testing.T) {
	t.Parallel()
	const hadoopFree = "resource_manager: {urls: [\"http://rm:8088\"]}\nhdfs: {enabled: false}\n"
	tests := []struct {
		dir, text string
		want      []string
	}{
		{"", hadoopFree + "mode: enforce", []string{"relay.listeners: not known; give hadoop.conf_dir"}},
		{"", hadoopFree + "mode: advise\nrelay: {listen: \"7930\"}", []string{":4: relay.listen: \"7930\": want host:port"}},
		{"haincomplete", "mode: enforce\nresource_manager: {urls: [\"http://rm:8088\"]}", []string{"haincomplete/yarn-site.xml:7 yarn.resourcemanager.ha.rm-ids: relay.listeners: ResourceManager \"rm2\" has no address"}},
		{"ha", "mode: enforce\nrelay: {listen: \"10.0.0.5:65535\"}", []string{"relay.listeners: 10.0.0.5:65535 leaves no port for ResourceManager 2"}},
		{"clientsimple", "mode: enforce", []string{"yarn.resourcemanager.scheduler.address: relay.listeners[0].upstream: 127.0.0.1:7930 is a relay, not the ResourceManager"}},
		{"single", "mode: enforce\nrelay: {limits: {hold_by_rank: true}}", []string{":2: relay.limits.hold_by_rank: holds nothing with hold_max 0s"}},
		{"single", "mode: enforce\nrelay: {limits: {hold_max: 10s}}", []string{":2: relay.limits.hold_max: 10s: a hold needs a second heddle, named by relay.peers"}},
		{"single", "mode: enforce\nrelay: {peers: [\"master.example.com:8030\"]}", []string{"master.example.com:8030 is a relay"}},
	}
	for _, tt := range tests {
		t.Run(tt.dir+" "+tt.text, func(t *testing.T) {
			t.Parallel()
			opts := configs.Options{File: write(t, tt.text)}
			if tt.dir != "" {
				opts.HadoopConfDir = "testdata/hadoop/" + tt.dir
			}
			compare(t, problems(t, opts), tt.want)
		})
	}
	for _, ok := range []string{"relay: {limits: {hold_max: 10s}}\nadvanced: {relay: {limits: {hold_without_peer: true}}}", "relay: {peers: [\"h2:7930\"], limits: {hold_max: 10s}}"} {
		load(t, options(write(t, "mode: enforce\n"+ok)))
	}
}

// TestRelayEnvironment holds that lists of entries can be given by the
// environment, and that each of their problems is told.
func TestRelayEnvironment(t *testing.T) {
	t.Parallel()
	opts := options(write(t, "mode: enforce"))
	opts.Env = []string{
		"HEDDLE_RELAY_SCOPES=[{queues: [root.a, root.b]}, {users: [alice]}]", "HEDDLE_RELAY_STAGES=[]",
		"HEDDLE_RELAY_LIMITS_SPREAD=even", "HEDDLE_RELAY_PEERS=h2:7930, h3:7930", "XDG_STATE_HOME=/home/x/state",
	}
	l := load(t, opts)
	r := l.Config.Relay
	want := []configs.RelayScope{{Queues: []string{"root.a", "root.b"}}, {Users: []string{"alice"}}}
	if diff := cmp.Diff(want, r.Scopes); diff != "" || len(r.Stages) != 0 || r.Limits.Spread != configs.SpreadEven || len(r.Peers) != 2 {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	opts.Env = []string{"HEDDLE_RELAY_SCOPES=[{queue: [root.a]}, {users: alice}]", "HEDDLE_RELAY_STAGES=TEZ"}
	compare(t, problems(t, opts), []string{
		"environment HEDDLE_RELAY_SCOPES: relay.scopes: [0].queue: unknown key; did you mean queues?\n[1].users: want a list, found a single value",
		"environment HEDDLE_RELAY_STAGES: relay.stages: want a list of keys and values, found a single value",
	})
}

// The place of the history: what the key says, else where the environment keeps
// state, else none.
func TestStatePlaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		env  []string
		want string
	}{
		{"", nil, " <- default"},
		{"", []string{"XDG_STATE_HOME=/home/x/state"}, "/home/x/state/heddle/history.json <- environment XDG_STATE_HOME"},
		{"", []string{"XDG_STATE_HOME=/home/x/state", "STATE_DIRECTORY=/var/lib/heddle-a:/var/lib/b"}, "/var/lib/heddle-a/history.json <- environment STATE_DIRECTORY"},
		{"", []string{"XDG_STATE_HOME=state"}, " <- default"},
		{"/data/it", []string{"XDG_STATE_HOME=/home/x/state"}, "/data/it <- "},
		{`""`, []string{"XDG_STATE_HOME=/home/x/state"}, " <- "},
	}
	for _, tt := range tests {
		text := ""
		if tt.text != "" {
			text = "state: {history_file: " + tt.text + "}"
		}
		opts := options(write(t, text))
		opts.Env = tt.env
		for _, e := range load(t, opts).Entries() {
			if got := e.Value + " <- " + e.Origin.String(); e.Path == "state.history_file" && !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q with %q: %s is %s, want %s", tt.text, tt.env, e.Path, got, tt.want)
			}
		}
	}
}

func TestRelayNotices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dir, text string
		want      []string
	}{
		{"single", "mode: enforce", []string{"the relay listens on 127.0.0.1:7930, which only applications on this machine reach"}},
		{"single", "mode: enforce\nrelay: {listen: \"10.0.0.5:7930\"}", nil},
		{"single", "mode: observe\nrelay: {listen: \"10.0.0.5:7930\"}", []string{"relay.listen has no effect in mode observe"}},
		{"hafull", "mode: advise\nrelay: {listen: \"10.0.0.5:7930\"}\nmapreduce: {enabled: false}", []string{
			"hafull/yarn-site.xml:64: hadoop.rpc.protection is privacy: the relay forwards every call unchanged and can rewrite none",
		}},
		{"hafull", "mode: advise\nmapreduce: {enabled: false}", nil},
	}
	for _, tt := range tests {
		opts := options(write(t, tt.text))
		opts.HadoopConfDir = "testdata/hadoop/" + tt.dir
		compare(t, load(t, opts).Notices, tt.want)
	}
}

func TestRelayReload(t *testing.T) {
	t.Parallel()
	old := load(t, options(write(t, "mode: enforce"))).Config
	next := load(t, options("testdata/relay.good.yml")).Config
	next.Mode = configs.ModeAdvise
	changed, refused := configs.Reloadable(&old, &next)
	for _, key := range []string{"advertise", "peers", "scopes", "opt_out_tag", "stages", "limits.pin_deadline", "limits.wait_max", "limits.hold_max", "limits.spread", "limits.decide_in"} {
		if !slices.Contains(changed, "relay."+key) {
			t.Errorf("relay.%s is not taken over", key)
		}
	}
	if !slices.Contains(changed, "mode") {
		t.Error("steering cannot be switched off")
	}
	want := []string{"relay.listen", "relay.listeners", "relay.max_connections", "relay.max_connections_per_address", "relay.socket", "relay.web_listen_address", "advanced.relay.auth_timeout", "advanced.relay.max_unauthenticated", "advanced.relay.dial_timeout"}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	merged := configs.Reload(&old, &next)
	if again, still := configs.Reloadable(&merged, &next); len(again) != 0 || !slices.Equal(still, want) {
		t.Errorf("after the reload %v and %v differ", again, still)
	}
	if back, _ := configs.Reloadable(&old, &merged); !slices.Equal(back, changed) {
		t.Errorf("the reload changed %v, not %v", back, changed)
	}
}

// TestModeReload: the mode says whether asks are rewritten, and no more, while
// the relay runs before and after.
func TestModeReload(t *testing.T) {
	t.Parallel()
	enforce := load(t, options(write(t, "mode: enforce"))).Config
	for text, want := range map[string]bool{
		"mode: advise\nrelay: {listen: \"127.0.0.1:7930\"}": true,
		"mode: advise":  false, // the relay would stop
		"mode: observe": false,
	} {
		next := load(t, options(write(t, text))).Config
		changed, refused := configs.Reloadable(&enforce, &next)
		if slices.Contains(changed, "mode") != want || slices.Contains(refused, "mode") == want {
			t.Errorf("%q: changed %v, refused %v", text, changed, refused)
		}
	}
}

func TestRelayStages(t *testing.T) {
	t.Parallel()
	with, without := true, false
	var got []*bool
	for _, s := range configs.Default().Relay.Stages {
		got = append(got, s.Local())
	}
	if diff := cmp.Diff([]*bool{nil, nil, nil, &with, &without}, got); diff != "" {
		t.Errorf("Local() of the defaults (-want +got):\n%s", diff)
	}
	stages := load(t, options("testdata/relay.good.yml")).Config.Relay.Stages
	want := []configs.RelayStage{
		{Type: "MAPREDUCE", Priorities: []int{20, 16, 0}, Stage: model.StageMap},
		{Type: "TEZ", LocalRows: configs.LocalWithout, Stage: model.StageReduce},
		{Type: "TEZ", LocalRows: configs.LocalAny, Stage: model.StageOther},
	}
	if diff := cmp.Diff(want, stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}
