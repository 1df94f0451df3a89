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
		{[]float64{19, 19, 70}, 39, No, "x: the sign, not the size"},
		{[]float64{79}, 39, No, "x: the sign, not the size"},
		{[]float64{-1, 39, 39}, 39, No, "x: not the paper's sign with every seed"},
		{[]float64{0}, -10, No, "x: not the paper's sign with every seed"},
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
	if got := []string{letters(0), letters(25), letters(26), letters(27), letters(26 * 27)}; got[0] != "a" || got[1] != "z" || got[2] != "aa" || got[3] != "ab" || got[4] != "aaa" {
		t.Errorf("%q", got)
	}
}
