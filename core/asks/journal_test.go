package asks_test

import (
	"errors"
	"strings"
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// journals are tables at work, as written.
func journals(tb testing.TB) [][]byte {
	tb.Helper()
	r := newRig(limits(), site(2, 2, 2))
	r.plans[model.StageReduce] = asks.Target{Racks: on("/r1", 2, "/r2", 1)}
	r.plans[model.StageMap] = asks.Target{Racks: on("/r1", 1), Hold: true, Until: 9000}
	var out [][]byte
	write := func() {
		data, err := r.table.Marshal()
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, data)
	}
	write()
	r.ask(row(10, "*", 3), row(20, "*", 1), row(20, "/r1", 1), row(20, "w11", 1), row(7, "*", 1))
	r.grant(10, "w11", "w21", "w99")
	write()
	r.intent.Site = without(site(2, 2, 2), []string{"w12"}, []string{"/r2"})
	r.ask()
	r.table.Request(r.now, &asks.Request{ResponseID: r.id, BlacklistAdd: []string{"w22"}, Scheduling: true}, &r.intent)
	r.table.Response(r.now, &asks.Response{ResponseID: 9, LostHosts: []string{"w12"}}, nil)
	write()
	return out
}

// FuzzUnmarshal: whatever is read is refused, or a table that works and is written and read again.
func FuzzUnmarshal(f *testing.F) {
	for _, data := range journals(f) {
		f.Add(data)
	}
	f.Add([]byte(`{"format":1,"keys":[{"priority":10,"id":-1,"raw":1,"own":{"*":{"n":1}},"batches":[{"at":0,"n":1}],"racks":[{"rack":"/r1","quota":3}]}],"raws":["AA=="]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRig(limits(), site(2, 2, 2))
		r.plans[model.StageReduce] = asks.Target{Racks: on("/r1", 2)}
		r.plans[model.StageMap] = asks.Target{Racks: on("/r1", 1)}
		if err := r.table.Unmarshal(data); err != nil {
			if !errors.Is(err, asks.ErrJournal) {
				t.Fatalf("another error: %v", err)
			}
			return
		}
		r.table.Keys()
		r.table.Own()
		r.ask()
		r.grant(10, "w11", "w12")
		r.ask(row(10, "*", 2), row(20, "*", 2), row(20, "/r1", 2))
		data, err := r.table.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := asks.New(limits()).Unmarshal(data); err != nil {
			t.Fatalf("written after it was read: %v\n%s", err, data)
		}
	})
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	good := string(journals(t)[1])
	for name, c := range map[string]struct{ old, repl string }{
		"nothing":         {good, ""},
		"not JSON":        {good, "\x00"},
		"a later format":  {`"format":1`, `"format":2`},
		"no format":       {`"format":1`, `"format":0`},
		"no such raw row": {`"raw":1`, `"raw":99`},
		"counts":          {`"own":{"*":{"n":1,`, `"own":{"*":{"n":5,`},
		"a negative one":  {`"own":{"*":{"n":1,`, `"own":{"*":{"n":-1,`},
		"keys twice":      {`"priority":10`, `"priority":7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, c.old, c.repl, 1)
			if bad == good {
				t.Fatalf("nothing was broken in\n%s", good)
			}
			table := asks.New(limits())
			if err := table.Unmarshal([]byte(bad)); !errors.Is(err, asks.ErrJournal) {
				t.Errorf("got %v, want %v", err, asks.ErrJournal)
			}
			if data, err := table.Marshal(); err != nil || string(data) != `{"format":1}` {
				t.Errorf("the table is not as it was: %s, %v", data, err)
			}
		})
	}
}
