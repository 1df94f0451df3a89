package strict_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/configs/strict"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	type parser interface{ UnmarshalText(text []byte) error }
	duration, size, rate := new(strict.Duration), new(strict.Size), new(strict.Rate)
	tests := []struct {
		text string
		into parser
		want float64 // ns, bytes, bytes/s
		as   string  // printed
	}{
		{"5s", duration, 5e9, "5s"},
		{"600s", duration, 600e9, "10m"},
		{"60m", duration, 3600e9, "1h"},
		{"90m", duration, 5400e9, "1h30m"},
		{"0s", duration, 0, "0s"},
		{"128MiB", size, 1 << 27, "128MiB"},
		{"1GB", size, 1e9, "1GB"},
		{"1024 MiB", size, 1 << 30, "1GiB"},
		{"0.29GB", size, 29e7, "290MB"},
		{"0B", size, 0, "0B"},
		{"1Gbps", rate, 125e6, "1Gbps"},
		{"125MB/s", rate, 125e6, "1Gbps"},
		{"250Mbps", rate, 31.25e6, "250Mbps"},
		{"8MiB/s", rate, 8 << 20, "8MiB/s"},
		{"8 bps", rate, 1, "8bps"},
	}
	for _, tt := range tests {
		if err := tt.into.UnmarshalText([]byte(tt.text)); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var got float64
		var as string
		switch v := tt.into.(type) {
		case *strict.Duration:
			got, as = float64(v.Std()), v.String()
		case *strict.Size:
			got, as = float64(*v), v.String()
		case *strict.Rate:
			got, as = float64(*v), v.String()
		}
		if got != tt.want || as != tt.as {
			t.Errorf("%s = %v printed %s, want %v printed %s", tt.text, got, as, tt.want, tt.as)
		}
	}
	for _, text := range []string{"", "5", "0", "s", "-5s", "5 s", "1d", "1e9"} {
		if err := duration.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("the duration %q was read as %v", text, duration)
		}
	}
	for _, text := range []string{"", "5", "MiB", "-5MiB", "1Mb", "128M", "1MB/s", "0.1B", "9999999TiB", "0x1MiB", "InfGB", "1e400GB", "1..5GB"} {
		if err := size.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("the size %q was read as %v", text, size)
		}
	}
	for _, text := range []string{"", "5", "1Gb", "1GB", "1Gbps/s", "1 G bps", "-1Gbps"} {
		if err := rate.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("the rate %q was read as %v", text, rate)
		}
	}
}

// TestUnitsReadBack holds that what is printed reads back as the same value.
func TestUnitsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := strict.Duration(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "duration"))
		s := strict.Size(rapid.Int64Range(0, 1<<50).Draw(t, "size"))
		r := strict.Rate(rapid.Float64Range(0, 1e15).Draw(t, "rate"))
		var d2 strict.Duration
		var s2 strict.Size
		var r2 strict.Rate
		if err := d2.UnmarshalText([]byte(d.String())); err != nil || d2 != d {
			t.Fatalf("%d printed %s reads as %d, %v", d, d, d2, err)
		}
		if err := s2.UnmarshalText([]byte(s.String())); err != nil || s2 != s {
			t.Fatalf("%d printed %s reads as %d, %v", s, s, s2, err)
		}
		if err := r2.UnmarshalText([]byte(r.String())); err != nil || r2 != r {
			t.Fatalf("%v printed %s reads as %v, %v", float64(r), r, float64(r2), err)
		}
	})
}
