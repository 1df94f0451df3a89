package settings_test

import (
	"testing"

	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
)

func TestCountVCores(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	c.ResourceManager.CountVCores = true
	if s, err := settings.State(&c); err != nil || !s.CountVCores {
		t.Errorf("count_vcores does not reach the state: %v", err)
	}
}
