// Package mixin holds what a site gives to its Prometheus and its Grafana to
// watch heddle: a dashboard, recording rules and alert rules. The rules expect
// the scrape job to be called "heddle"; every alert has a heading of its name in
// docs/runbook.md.
package mixin

import (
	"embed"
	"io/fs"
)

//go:embed dashboard.json rules.yml alerts.yml
var files embed.FS

// Files returns dashboard.json (Grafana), rules.yml (recording rules) and
// alerts.yml (alert rules), the last two as Prometheus' rule_files.
func Files() fs.FS { return files }
