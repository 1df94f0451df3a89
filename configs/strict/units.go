package strict

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/core/model"
)

// Duration is a span of time, written with its unit: "500ms", "5s", "1h30m".
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Model returns d in the core's milliseconds.
func (d Duration) Model() model.Duration { return model.Duration(time.Duration(d).Milliseconds()) }

// String returns d with units and without parts that are zero: "10m", not "10m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A number without a unit
// and a negative span are errors.
func (d *Duration) UnmarshalText(text []byte) error {
	const want = "want a duration with its unit, such as 500ms, 5s or 10m"
	s := strings.TrimSpace(string(text))
	if s == "0" { // time.ParseDuration would let this one pass without a unit
		return errors.New("0 has no unit: " + want)
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q: %s", s, want)
	}
	if parsed < 0 {
		return fmt.Errorf("%q is negative: %s", s, want)
	}
	*d = Duration(parsed)
	return nil
}

// Size is an amount of data in bytes, written with its unit: "128MiB", "1GB".
type Size int64

// Bytes returns s in the core's type.
func (s Size) Bytes() model.Bytes { return model.Bytes(s) }

// String returns s in the unit that prints it shortest.
func (s Size) String() string { return shortest(float64(s), sizeUnits()) }

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A number without a unit,
// a negative size and a fraction of a byte are errors.
func (s *Size) UnmarshalText(text []byte) error {
	const want = "want a size with its unit, such as 64KiB, 128MiB or 1GB"
	v, err := parseQuantity(string(text), sizeUnits(), want)
	if err != nil {
		return err
	}
	if v >= math.MaxInt64 {
		return fmt.Errorf("%q is too large", text)
	}
	whole := math.Round(v)
	if math.Abs(v-whole) > 1e-3 { // 0.29GB is whole but for the last bit of the product
		return fmt.Errorf("%q is not a whole number of bytes", text)
	}
	*s = Size(whole)
	return nil
}

// Rate is an amount of data per second in bytes/s, written with its unit: link
// rates in decimal bits ("1Gbps", "250Mbps"), others in bytes ("125MB/s",
// "8MiB/s").
type Rate float64

// BytesPerSecond returns r in the core's type.
func (r Rate) BytesPerSecond() model.BytesPerSecond { return model.BytesPerSecond(r) }

// String returns r in the unit that prints it shortest, in bits where that is as short.
func (r Rate) String() string { return shortest(float64(r), rateUnits()) }

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A number without a unit
// and a negative rate are errors.
func (r *Rate) UnmarshalText(text []byte) error {
	const want = "want a rate with its unit, such as 1Gbps, 250Mbps (decimal bits) or 125MB/s, 8MiB/s (bytes)"
	v, err := parseQuantity(string(text), rateUnits(), want)
	if err != nil {
		return err
	}
	*r = Rate(v)
	return nil
}

type unit struct {
	name  string
	bytes float64
}

// sizeUnits lists the units of sizes; among equal ones the first is printed.
func sizeUnits() []unit {
	return []unit{
		{"B", 1},
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"KB", 1e3},
		{"kB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
	}
}

// rateUnits lists the units of rates; among equal ones the first is printed.
func rateUnits() []unit {
	units := []unit{
		{"bps", 1.0 / 8},
		{"Kbps", 1e3 / 8},
		{"kbps", 1e3 / 8},
		{"Mbps", 1e6 / 8},
		{"Gbps", 1e9 / 8},
		{"Tbps", 1e12 / 8},
	}
	for _, u := range sizeUnits() {
		units = append(units, unit{u.name + "/s", u.bytes})
	}
	return units
}

// parseQuantity reads a number and one of the units, with or without a space
// between them.
func parseQuantity(text string, units []unit, want string) (float64, error) {
	s := strings.TrimSpace(text)
	end := strings.LastIndexAny(s, "0123456789.") + 1
	number, name := s[:end], strings.TrimSpace(s[end:])
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "xXpP_+") {
		return 0, fmt.Errorf("%q: %s", s, want)
	}
	if v < 0 {
		return 0, fmt.Errorf("%q is negative: %s", s, want)
	}
	if name == "" {
		return 0, fmt.Errorf("%q has no unit: %s", s, want)
	}
	for _, u := range units {
		if u.name == name {
			return v * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("%q has the unknown unit %q: %s", s, name, want)
}

// shortest prints v bytes in the unit that takes the fewest characters and
// reads back as exactly v.
func shortest(v float64, units []unit) string {
	best := ""
	for _, u := range units {
		number := strconv.FormatFloat(v/u.bytes, 'f', -1, 64)
		back, err := strconv.ParseFloat(number, 64)
		if err != nil || back*u.bytes != v {
			continue
		}
		if s := number + u.name; best == "" || len(s) < len(best) {
			best = s
		}
	}
	if best == "" { // every unit loses a digit: the smallest one always exists
		best = strconv.FormatFloat(v/units[0].bytes, 'f', -1, 64) + units[0].name
	}
	return best
}
