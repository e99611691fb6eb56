package page_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe-core judges whether a page can be used with assistive technology. It is not committed: npm fetches it into the
// user's cache, once.
const (
	axePackage = "axe-core@4.14.1"
	axeSHA256  = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c" // of axe.min.js
)

// axe returns its source.
func axe(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "fieldfare-tests", axePackage+".min.js")
	if data, err := os.ReadFile(path); err == nil && sum(data) == axeSHA256 {
		return string(data)
	}
	data, err := fetchAxe(t.TempDir())
	if err != nil {
		missingTool(t, "%s is needed, from npm: %v", axePackage, err)
	}
	if got := sum(data); got != axeSHA256 {
		t.Fatalf("%s: axe.min.js has SHA-256 %s, want %s", axePackage, got, axeSHA256)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		t.Logf("axe is not kept for the next time: %v", err)
	}
	return string(data)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func fetchAxe(dir string) ([]byte, error) {
	cmd := exec.Command("npm", "pack", "--silent", axePackage)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	packed, err := os.Open(filepath.Join(dir, strings.TrimSpace(string(out))))
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("look for axe.min.js: %w", err)
		}
		if h.Name == "package/axe.min.js" {
			return io.ReadAll(files)
		}
	}
}

// accessible fails the test for serious and critical problems of what is on the screen.
func (b *tab) accessible(axe, what string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](axe))
	problems := js[[]string](b, `axe.run(document).then(({violations, passes}) => passes.length < 15 ? ["axe looked at next to nothing"] : violations
		.filter(({impact}) => impact === "serious" || impact === "critical")
		.flatMap(({id, help, nodes}) => nodes.map((node) => id + ": " + help + ": " + node.html + " " + node.failureSummary)))`)
	for _, p := range problems {
		b.t.Errorf("%s: %s", what, p)
	}
}

// specimen is a conversation with everything that can stand in one.
const specimen = `
	const { Store } = await import("/store.js");
	const { create, add } = await import("/conversation.js");
	const { defaults } = await import("/request.js");
	const store = await Store.open();
	const c = create(defaults);
	c.title = "Everything";
	const answer = (parent, more) => add(c, parent, {role: "assistant", state: "done", text: "", reasoning: "", calls: [], finish: "stop", model: "demo", ...more}).id;
	const canvas = new OffscreenCanvas(40, 30);
	canvas.getContext("2d").fillRect(5, 5, 20, 10);
	const picture = {id: "p1", name: "box.png", type: "image/png", bytes: 100, width: 40, height: 30, detail: "auto", receipt: {soft_tokens: 63}};
	let at = add(c, null, {role: "user", text: "Show me everything.", pictures: [picture]}).id;
	at = answer(at, {reasoning: "A *thought*.", thoughtSeconds: 2, text: [
		"# One", "Text with **bold**, *italic*, ` + "`code`" + ` and [a link](https://example.org).", "- a", "- b", "  1. c", "",
		"- [x] done", "- [ ] open", "", "> quoted", "", "| a | b |", "|---|--:|", "| 1 | 2 |", "", "` + "```go" + `", "func main() {} // " + "long ".repeat(60), "` + "```" + `"].join("\n"),
		usage: {prompt_tokens: 80, completion_tokens: 12, total_tokens: 92, prompt_tokens_details: {image_tokens: 63}},
		facts: {seed: 1, reuse: {tokens: 0}, experts: {hit_rate: 0.5, bytes_read: 1e6},
			timings: {decode_tokens_per_second: 31.4, first_token_seconds: 0.8, prefill_seconds: 0.7, decode_seconds: 1}}});
	at = add(c, at, {role: "user", text: "Add.", pictures: []}).id;
	at = answer(at, {calls: [{id: "c1", name: "add", arguments: '{"a": 1, "b": 2}'}, {id: "c2", name: "list", arguments: '{"of": [1, 2]}'}]});
	at = add(c, at, {role: "tool", call: "c1", name: "add", text: '{"value": 3}'}).id;
	at = add(c, at, {role: "tool", call: "c2", name: "list", text: "one, two"}).id;
	answer(at, {state: "stopped", text: "It is"});
	const leaf = answer(at, {state: "failed", error: {code: "unreachable", message: "The server does not answer."}});
	await store.save(c, [{id: "p1", blob: await canvas.convertToBlob()}]);
	location.hash = c.id;`

func TestNothingSeriousStandsInTheWay(t *testing.T) {
	source := axe(t)
	s := serve(t)
	for _, dark := range []bool{false, true} {
		for _, size := range []screen{desktop, phone} {
			if testing.Short() && (dark || size.touch) {
				continue
			}
			size.dark = dark
			name := fmt.Sprintf("%dpx dark=%v", size.width, dark)
			t.Run(name, func(t *testing.T) {
				b := open(t, s.URL(), size)
				b.accessible(source, "welcome")
				b.run(specimen)
				b.until(`document.querySelectorAll(".turn").length === 7 && document.querySelector(".thumb img").naturalWidth > 0`)
				b.run(`document.querySelectorAll("details").forEach((d) => (d.open = true))`)
				b.give("drop", pictures+"/e-color-1.jpg")
				b.write("And this?")
				b.until(`document.querySelector("#pictures .tokens")?.innerText`)
				b.accessible(source, "conversation")
				b.run(`document.querySelector("#state").click()`)
				b.until(`document.querySelector("#machine").innerText.includes("Context")`)
				b.accessible(source, "figures")
				b.run(`document.querySelector("#machine button").click()`)
				if size.touch {
					b.click("#history-open")
					b.accessible(source, "list")
					return // the rest looks as on a desktop
				}
				b.until(`document.querySelector("#conversations a")`)
				b.click("#conversations button")
				b.accessible(source, "menu")
				b.run(`document.querySelector(".menu").hidePopover()`)
				for _, dialog := range []string{"settings", "help", "key", "confirm", "lightbox"} {
					b.run(`document.querySelector("#` + dialog + `").showModal()`)
					b.accessible(source, dialog)
					b.run(`document.querySelector("#` + dialog + `").close()`)
				}
			})
		}
	}
}
