package settings_test

import (
	"testing"

	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
	"heddle/core/guard"
	"heddle/core/model"
)

func TestCountVCores(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	c.ResourceManager.CountVCores = true
	if s, err := settings.State(&c); err != nil || !s.CountVCores {
		t.Errorf("count_vcores does not reach the state: %v", err)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	want := guard.Params{Enabled: true, Window: 60 * model.Minute, MinApplications: 10, Margin: 0.05, OffFor: 6 * 60 * model.Minute}
	if got := settings.Guard(&c); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
	c.Guard.Control = 0.1
	if got := settings.Guard(&c); got.Control != 0.1 {
		t.Errorf("control %v", got.Control)
	}
}
