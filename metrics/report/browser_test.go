package report

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// look loads a page in frames of a phone's and a desk's width, and writes what
// is cut off or missing there as JSON between marks.
const look = `<!DOCTYPE html><html><body>
<iframe src="index.html" width="360" height="800"></iframe>
<iframe src="index.html" width="1280" height="800"></iframe>
<script>
window.onload = function () {
	var said = [];
	document.querySelectorAll("iframe").forEach(function (frame) {
		var page = frame.contentDocument, root = page.documentElement, drawings = page.querySelectorAll("svg[role=img]");
		var say = function (text) { said.push(frame.width + " wide: " + text); };
		if (root.scrollWidth > root.clientWidth) { say("the page is " + root.scrollWidth + " wide"); }
		if (drawings.length < 8) { say("only " + drawings.length + " drawings"); }
		if (!page.querySelector("button")) { say("nothing to copy the command with"); }
		drawings.forEach(function (svg) {
			var name = svg.querySelector("title").textContent, view = svg.viewBox.baseVal;
			if (svg.getBoundingClientRect().width < 200) { say(name + ": hardly to be seen"); }
			svg.querySelectorAll("text, .line, .mark, .bar, .cells").forEach(function (part) {
				var box = part.getBBox(), move = part.transform.baseVal.consolidate();
				var left = box.x, right = box.x + box.width, top = box.y, bottom = box.y + box.height;
				if (move) {
					left = move.matrix.a * left + move.matrix.e; right = move.matrix.a * right + move.matrix.e;
					top = move.matrix.d * top + move.matrix.f; bottom = move.matrix.d * bottom + move.matrix.f;
				}
				if (left > -1.5 && top > -1.5 && right < view.width + 1.5 && bottom < view.height + 1.5) { return; }
				say(name + ": " + part.getAttribute("class") + " " + part.textContent + " is cut off: " + [left, top, right, bottom].join(" "));
			});
		});
	});
	document.body.textContent = "<<<" + JSON.stringify(said) + ">>>";
};
</script></body></html>`

// TestInBrowser looks at a page with Chromium, if it is there: nothing may be
// cut off, nor reach over the side.
func TestInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: nobody looks whether drawings fit the page (apt-get install chromium)")
	}
	in := sample(append(fivePolicies(), `nas{"threshold":0.75,"skips":"count","and_more":"of_it"}`), 2, 5000)
	dir := t.TempDir()
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "look.html"), []byte(look), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+filepath.Join(dir, "look.html")).Output()
	if err != nil {
		t.Skipf("chromium does not run here, nobody looks whether drawings fit the page: %v", err)
	}
	_, rest, _ := strings.Cut(string(out), "&lt;&lt;&lt;")
	text, _, found := strings.Cut(rest, "&gt;&gt;&gt;")
	var said []string
	if err := json.Unmarshal([]byte(text), &said); err != nil || !found {
		t.Fatalf("no answer from the browser (%v): %s", err, out)
	}
	for _, problem := range said {
		t.Error(problem)
	}
}
