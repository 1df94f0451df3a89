package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/policylist"

	"github.com/google/go-cmp/cmp"
)

const policiesIntro = `# Policies

<!-- Generated from the entries in core/policy/*, and the parameters' tags by: go test ./cmd/heddle -run PolicyDoc -update -->

` + "`heddle policies`" + ` prints what is on this page, for the binary at hand. A policy is chosen in the configuration:

` + "```yaml" + `
policy:
  name: shufflewatcher
  params: {scan: full, window_s: 600}
` + "```" + `

Every policy has two settings of its parameters: the defaults, and with ` + "`preset: paper`" + ` the rule as its paper prints it. A
table says "as printed" where the two differ; parameters beside ` + "`preset`" + ` go before it.

An unknown key or a value out of range is refused when the configuration is loaded. Every policy answers offers
("start this task on the offered node"); those marked so also plan (racks and counts per job and stage). For the others the
engine offers every free container once and counts where the policy put the tasks.

"live" is what the plans do to the asks of applications in mode ` + "`enforce`" + `, at the default parameters: racks on which maps,
reduces and executors are asked for, and holds, under which a stage asks for nothing for some time. The order of jobs is the
scheduler's, because no ask carries a rank: in mode ` + "`enforce`" + ` a policy with nothing there leaves every ask as it is, and
` + "`heddle serve`" + ` warns of it. The conformance suite holds the column against the plans of its scenes.

When a rack counts as saturated is not a policy's but the cluster state's (` + "`network` in [config.md](config.md)" + `): a moving
average of the uplink's busier direction, set at 0.80 of its capacity and cleared 0.05 below. What a job shuffles is measured
on its own maps, and before the first of them is done expected from earlier runs of the user and name (` + "`state.history_file`" + `).

Where a policy differs from its paper, and why, stands at the code it concerns (` + "`core/policy/<name>`" + `); the larger points
are listed here.
`

const policiesEnd = `
## A policy of your own

A folder under ` + "`core/policy`" + ` with an ` + "`Entry`" + `, what the policy does and what it changes, which ` + "`core/policy/builtin`" + ` lists; the tag ` + "`doc`" + ` of each
parameter tells of it on this page. The conformance suite (` + "`core/policy/policytest`" + `) runs over whatever is registered. See the
checklist in [CONTRIBUTING.md](../CONTRIBUTING.md).
`

// policyDoc renders the page.
func policyDoc(list []policylist.Policy) string {
	var b strings.Builder
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	b.WriteString(policiesIntro)
	b.WriteString("\n| name | from | in a sentence | plans | live |\n|---|---|---|---|---|\n")
	for i := range list {
		p, plans := &list[i], ""
		if p.Plans {
			plans = "yes"
		}
		live := strings.Join(p.Live, ", ")
		if live == "" {
			live = "nothing: ranks jobs only"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s | %s |\n", p.Name, strings.ToLower(p.Name), cell(p.Paper), cell(p.Summary), plans, live)
	}
	for i := range list {
		p := &list[i]
		fmt.Fprintf(&b, "\n## %s\n\nFrom: %s.\n", p.Name, strings.TrimSuffix(p.Paper, "."))
		if p.About != "" {
			fmt.Fprintf(&b, "\n%s\n", p.About)
		} else {
			fmt.Fprintf(&b, "\n%s%s.\n", strings.ToUpper(p.Summary[:1]), p.Summary[1:])
		}
		if len(p.Parameters) == 0 {
			b.WriteString("\nNo parameters.\n")
		} else {
			b.WriteString("\n| parameter | default | meaning (paper section) |\n|---|---|---|\n")
		}
		for _, one := range p.Parameters {
			value := "`" + cell(string(one.Default)) + "`"
			if one.Printed != nil {
				value += ", as printed `" + cell(string(one.Printed)) + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", one.Key, value, cell(one.Doc))
		}
		if len(p.Changed) > 0 {
			b.WriteString("\nWhere heddle differs:\n\n")
		}
		for _, c := range p.Changed {
			fmt.Fprintf(&b, "- %s\n", c)
		}
	}
	b.WriteString(policiesEnd)
	return b.String()
}

// TestPolicyDoc: docs/policies.md is what the registry says.
func TestPolicyDoc(t *testing.T) {
	t.Parallel()
	list, err := policylist.All()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "policies.md")
	if *update {
		if err := os.WriteFile(path, []byte(policyDoc(list)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), policyDoc(list)); diff != "" {
		t.Errorf("docs/policies.md is not what the code says; go test ./cmd/heddle -run PolicyDoc -update (-page +code):\n%s", diff)
	}
}

// TestPoliciesAreTold: every policy says what its parameters mean, in texts that
// fit their place. Which do not say what they do and change is logged.
func TestPoliciesAreTold(t *testing.T) {
	t.Parallel()
	list, err := policylist.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		p := &list[i]
		if p.About == "" {
			t.Logf("%s: does not say what it does (About)", p.Name)
		}
		if len(p.Changed) == 0 {
			t.Logf("%s: does not say what is changed (Changed)", p.Name)
		}
		for _, one := range p.Parameters {
			if one.Doc == "" {
				t.Errorf("%s: %s has no tag doc", p.Name, one.Key)
			}
		}
		for _, line := range append([]string{p.Summary, p.Paper}, p.Changed...) {
			if line == "" || strings.Contains(line, "\n") || strings.TrimSpace(line) != line {
				t.Errorf("%s: want one line, is %q", p.Name, line)
			}
		}
	}
}

// TestPoliciesText: the list for people has all of it, in lines that fit.
func TestPoliciesText(t *testing.T) {
	t.Parallel()
	p := policylist.Policy{
		Name: "toy", Summary: "in a sentence", Paper: "Somebody, Somewhere", About: strings.Repeat("what it does ", 20) + "\n\nand more",
		Parameters: []policylist.Param{{Key: "wait_s", Default: json.RawMessage("5"), Doc: strings.Repeat("how long ", 20)}}, Changed: []string{strings.Repeat("what is different ", 20)},
	}
	var b bytes.Buffer
	printPolicy(&b, &p)
	for line := range strings.Lines(b.String()) {
		if len(strings.TrimRight(line, "\n")) > textWidth || strings.HasSuffix(line, " \n") {
			t.Errorf("%q", line)
		}
	}
	flat := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"toy in a sentence from: Somebody, Somewhere live: nothing: it ranks jobs only, and no ask carries a rank what it does what it", "it does and more parameters: wait_s = 5 how long", "changed against the paper: - what is different what"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in %s", want, flat)
		}
	}
}
