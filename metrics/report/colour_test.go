package report

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// colour is linear RGB, each 0 to 1.
type colour [3]float64

func parseColour(t *testing.T, text string) colour {
	t.Helper()
	hex := strings.TrimPrefix(text, "#")
	if len(hex) == 3 {
		hex = strings.Repeat(hex[:1], 2) + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:], 2)
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		t.Fatalf("%q is not a colour", text)
	}
	var c colour
	for i := range c {
		part := float64(v>>(16-8*i)&0xff) / 255
		if part <= .04045 {
			c[i] = part / 12.92
		} else {
			c[i] = math.Pow((part+.055)/1.055, 2.4)
		}
	}
	return c
}

func (c colour) luminance() float64 { return .2126*c[0] + .7152*c[1] + .0722*c[2] }

// contrast is WCAG 2's ratio, 1 to 21.
func contrast(a, b colour) float64 {
	lighter, darker := max(a.luminance(), b.luminance()), min(a.luminance(), b.luminance())
	return (lighter + .05) / (darker + .05)
}

// seen is a colour as it is seen with a complete lack of one kind of cones
// (Machado, Oliveira and Fernandes 2009, table 1, severity 1).
func (c colour) seen(with [3]colour) colour {
	var s colour
	for i, row := range with {
		s[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return s
}

// lab is CIE L*a*b* for D65.
func (c colour) lab() [3]float64 {
	f := func(v float64) float64 {
		if v > .008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16./116
	}
	x := f((.4124*c[0] + .3576*c[1] + .1805*c[2]) / .95047)
	y := f(c.luminance())
	z := f((.0193*c[0] + .1192*c[1] + .9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func distance(a, b colour) float64 {
	p, q := a.lab(), b.lab()
	return math.Sqrt((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2]))
}

func vision() map[string][3]colour {
	return map[string][3]colour{
		"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protanopia":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
		"deuteranopia": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}},
		"tritanopia":   {{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}},
	}
}

// TestPalette wants the colours of policies to stand out from the page (WCAG 2,
// 1.4.11: 3 to 1) and from each other, whatever cones somebody has. A distance
// of 2.3 is just noticeable; dashes and marks differ too.
func TestPalette(t *testing.T) {
	t.Parallel()
	const least = 15
	for mode, theme := range themes(t) {
		for i := range colours {
			name := "s" + digits(i)
			c := parseColour(t, theme[name])
			if r := contrast(c, parseColour(t, theme["back"])); r < 3 {
				t.Errorf("mode %d: %s has contrast %.2f to the page, want 3", mode, name, r)
			}
			for j := range i {
				for lack, v := range vision() {
					other := parseColour(t, theme["s"+digits(j)])
					if d := distance(c.seen(v), other.seen(v)); d < least {
						t.Errorf("mode %d: %s and s%d are %.1f apart with %s, want %d", mode, name, j, d, lack, least)
					}
				}
			}
		}
		for _, text := range []string{"fore", "quiet"} {
			for _, back := range []string{"back", "panel"} {
				if r := contrast(parseColour(t, theme[text]), parseColour(t, theme[back])); r < 4.5 {
					t.Errorf("mode %d: text %s has contrast %.2f to %s, want 4.5", mode, text, r, back)
				}
			}
		}
	}
}

// TestLevelsOfUtilisation wants the colours of heat maps to go one way in
// lightness, away from that of the page, in steps that can be told apart.
func TestLevelsOfUtilisation(t *testing.T) {
	t.Parallel()
	for mode, theme := range themes(t) {
		back := parseColour(t, theme["back"]).lab()[0]
		last := back
		for level := range levels {
			light := parseColour(t, theme["u"+digits(level)]).lab()[0]
			step := light - last
			if mode == 0 {
				step = -step
			}
			if step < 3 {
				t.Errorf("mode %d: level %d is %.1f further from the page than the one before, want 3", mode, level, step)
			}
			last = light
		}
	}
}
