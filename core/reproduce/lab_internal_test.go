package reproduce

import "testing"

// A change comes out with its sign in every seed and a median from half to twice the paper's.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  []float64
		want float64
		v    Verdict
		note string
	}{
		{[]float64{20, 39, 60}, 39, Yes, ""},
		{[]float64{19.5, 19.5}, 39, Yes, ""},
		{[]float64{19, 19, 70}, 39, No, "the sign, not the size"},
		{[]float64{79}, 39, No, "the sign, not the size"},
		{[]float64{-1, 39, 39}, 39, No, "not the paper's sign with every seed"},
		{[]float64{0}, -10, No, "not the paper's sign with every seed"},
		{[]float64{-12}, -10, Yes, ""},
	} {
		if v, note := (&claim{"x", c.got, c.want}).shape(); v != c.v || note != c.note {
			t.Errorf("%v for %g: %s, %q", c.got, c.want, v, note)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][]float64{"2.0 (1.0 to 4.0)": {4, 1, 2}, "1.5 (1.0 to 2.0)": {2, 1}, "3.0": {3.01, 2.99}} {
		if got := spread("%.1f", of); got != want {
			t.Errorf("%v is %q, want %q", of, got, want)
		}
	}
}

// Rows say together which of their changes fail, and where to look further.
func TestClaims(t *testing.T) {
	t.Parallel()
	r := claims("X1", "x", claim{"a", []float64{1}, 10}, claim{"b", []float64{10}, 10}, claim{"c", []float64{-1}, 10}, claim{"d", []float64{100}, 10})
	if want := "the sign, not the size: a, d; not the paper's sign with every seed: c"; r.Verdict != No || r.Note != want || r.Paper != "a +10 %, b +10 %, c +10 %, d +10 %" {
		t.Errorf("%+v, want %q", r, want)
	}
	rows := pointed([]Row{r, r.noted("tried y"), claims("X2", "x", claim{"b", []float64{10}, 10})}, "X9")
	if rows[0].Note != r.Note+"; what was tried stands at X9" || rows[1].Note != r.Note+"; tried y" || rows[2].Note != "" {
		t.Errorf("%q, %q, %q", rows[0].Note, rows[1].Note, rows[2].Note)
	}
}
