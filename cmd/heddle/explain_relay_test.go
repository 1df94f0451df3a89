package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"heddle/cmd/heddle/internal/exit"

	"github.com/google/go-cmp/cmp"
)

// TestExplainRelay prints explanations as the service words them.
func TestExplainRelay(t *testing.T) {
	t.Parallel()
	const row = `{"priority":10,"allocation_request_id":-1,"capability":{"memory_mib":1,"vcores":1},"resource_name":`
	any8 := row + `"*","count":8,"relax_locality":true}`
	only8 := row + `"*","count":8,"relax_locality":false}`
	onRack := row + `"/r1","count":6,"relax_locality":true}`
	key := func(asked, sent, rest string) string {
		return `{"priority":10,"allocation_request_id":-1,"asked":[` + asked + `],"asked_rows":1,"sent":[` + sent + `],` + rest + `}`
	}
	for name, tc := range map[string]struct{ relay, want string }{
		"no relay": {``, ``},
		"guarded":  {`,"unsteered":{"cause":"guard","text":"Steering is off."}`, "not steered: Steering is off.\n\n"},
		"no call":  {`,"relay":{"at_ms":50000,"enforcing":true,"attempts":[]}`, "relay: no allocate call of this application came through the relay ('heddle client-config' prints what a job sets)\n"},
		"pinned": {
			`,"relay":{"at_ms":50000,"enforcing":true,"attempts":[{"attempt":2,"keys":[` + key(any8, only8+`,`+onRack, `"sent_rows":5,"stage":"reduce","action":"pin","since_ms":38000,"deadline_ms":68200,"granted":{"/r2":1,"/r1":2},"text":"Asked for here."`) + `]}]}`,
			"reduce asks of attempt 2, priority 10, at the relay: Asked for here.\n  asked: 8 on any node\n  sent: 8, only 6 on /r1, 3 hosts\n  granted: 2 on /r1, 1 on /r2\n  pin for 12s, ends by itself in 18.2s\n\n",
		},
		"held": {
			`,"relay":{"at_ms":50000,"enforcing":true,"attempts":[{"attempt":1,"keys":[` + key(any8, only8, `"sent_rows":1,"stage":"reduce","action":"hold","since_ms":49900,"deadline_ms":49950,"text":"Held."`) + `]}]}`,
			"reduce asks of attempt 1, priority 10, at the relay: Held.\n  asked: 8 on any node\n  sent: 8, held back from every node\n  hold for 100ms, its deadline has passed: it ends at the application's next call\n\n",
		},
		"passed": {
			`,"relay":{"at_ms":50000,"enforcing":false,"attempts":[{"attempt":1,"keys":[` + key(any8, any8+`,`+onRack, `"sent_rows":2,"stage":"","cause":"type","text":"Passed."`) + `,` + key(any8, ``, `"sent_rows":0,"stage":"map","text":"Passed as asked."`) + `]}]}`,
			"unnamed asks of attempt 1, priority 10, at the relay: Passed.\n  asked: 8 on any node\n  sent: 8, preferably 6 on /r1\n\nmap asks of attempt 1, priority 10, at the relay: Passed as asked.\n  asked: 8 on any node\n  sent: nothing\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"application":"application_1_0001","policy":"fair","stages":[]` + tc.relay + `}`
			if !json.Valid([]byte(body)) {
				t.Fatalf("no JSON: %s", body)
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}))
			defer s.Close()
			code, out, errs := heddle(t, "explain", "application_1_0001", "--url="+s.URL)
			if diff := cmp.Diff(tc.want, out); code != exit.OK || diff != "" {
				t.Errorf("exit %d %s (-want +got):\n%s", code, errs, diff)
			}
		})
	}
}
