package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long the page may take for anything. It is for slow machines; nothing waits for it when all is well.
const patience = time.Minute

// browser is one headless Chromium for all tests; each test has a profile of its own in it.
var browser struct {
	once  sync.Once
	ctx   context.Context
	close []context.CancelFunc
	err   error
}

func closeBrowser() {
	for i := len(browser.close) - 1; i >= 0; i-- {
		browser.close[i]()
	}
}

// missingTool fails where CI must have the tool, and skips elsewhere.
func missingTool(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func startBrowser() {
	var path string
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		browser.err = exec.ErrNotFound
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	browser.close = append(browser.close, cancel)
	browser.ctx, cancel = chromedp.NewContext(allocator)
	browser.close = append(browser.close, cancel)
	browser.err = chromedp.Do(browser.ctx)
}

// A tab is a page in a profile of its own. Whatever the browser complains about fails its test: errors, violations of
// the policy, requests that found nothing.
type tab struct {
	t   testing.TB
	ctx context.Context
	url string

	mu       sync.Mutex
	problems []string
	excused  []string
}

// screen is what the browser pretends to be.
type screen struct {
	width, height int64
	touch, dark   bool
}

var (
	desktop = screen{width: 1280, height: 800}
	phone   = screen{width: 390, height: 844, touch: true}
)

// open opens the page at url and waits until it has heard from the server.
func open(t testing.TB, url string, s screen) *tab {
	t.Helper()
	b := openBlank(t, s)
	b.load(url)
	b.until(`document.querySelector("#state").dataset.state === "ready"`)
	return b
}

func openBlank(t testing.TB, s screen) *tab {
	t.Helper()
	browser.once.Do(startBrowser)
	if browser.err != nil {
		missingTool(t, "a headless Chromium is needed: %v", browser.err)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	go listen(b, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		b.complain("exception: %v", e.ExceptionDetails)
	})
	go listen(b, log.EntryAdded, func(e log.EventEntryAdded) {
		if e.Entry.Level == log.EntryLevelError {
			b.complain("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	})
	t.Cleanup(b.judge)
	call(b, log.Enable, cdp.Empty{})
	b.pretend(s)
	call(b, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.violations = [];
		addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));`})
	return b
}

// pretend sets what the browser says of its screen.
func (b *tab) pretend(s screen) {
	b.t.Helper()
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.touch,
	})
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: s.touch})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
	}})
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// listen hands events to hear until the tab closes.
func listen[E any](b *tab, kind cdp.Event[E], hear func(E)) {
	for e, err := range chromedp.Events(b.ctx, kind) {
		if err != nil {
			return
		}
		hear(e)
	}
}

func (b *tab) load(url string) {
	b.t.Helper()
	b.url = url
	b.do(chromedp.Navigate(url))
}

func (b *tab) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// excuse says that the test itself causes complaints that hold text.
func (b *tab) excuse(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.excused = append(b.excused, text)
}

// judge fails the test for what the browser complained about.
func (b *tab) judge() {
	violations, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`window.violations ?? []`))
	if err != nil && !b.t.Failed() {
		b.t.Errorf("ask for violations of the policy: %v", err)
	}
	for _, v := range violations {
		b.t.Errorf("the page violates its policy: %s", v)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		if !b.excusable(p) {
			b.t.Errorf("the browser complains: %s", p)
		}
	}
}

func (b *tab) excusable(problem string) bool {
	for _, text := range b.excused {
		if strings.Contains(problem, text) {
			return true
		}
	}
	return false
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js runs an expression, awaiting promises, and returns its value.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// run runs statements.
func (b *tab) run(statements string) {
	b.t.Helper()
	js[chromedp.Void](b, "(async () => {"+statements+"})()")
}

// until waits for an expression to be true. The page looks by itself, so that waiting costs little.
func (b *tab) until(expression string) {
	b.t.Helper()
	look := fmt.Sprintf(`(async () => {
		for (let i = 0; i < 50; i++) {
			if (await (%s)) return true;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		return false;
	})()`, expression)
	for deadline := time.Now().Add(patience); !js[bool](b, look); {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within %v; the page shows %q", expression, patience, js[string](b, `document.body.innerText`))
		}
	}
}

// click clicks what the selector names, with a real mouse event.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelector(%s)?.checkVisibility()`, quote(selector)))
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// enter inserts text where the focus is, as an input method would.
func (b *tab) enter(text string) {
	b.t.Helper()
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// press presses a key with modifiers held.
func (b *tab) press(key string, held ...chromedp.Modifier) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(held...)))
}

// write puts a question into the composer.
func (b *tab) write(question string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS("#question")))
	b.enter(question)
}

// ask writes a question and sends it.
func (b *tab) ask(question string) {
	b.t.Helper()
	b.write(question)
	b.send()
}

// send presses Enter as a keyboard does: a page that keeps the key gets no line break after it.
func (b *tab) send() {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		e := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13}
		if kind == input.DispatchKeyEventTypeKeyDown {
			e.Text = kb.Enter
		}
		call(b, input.DispatchKeyEvent, e)
	}
}

// answered waits until the last answer is complete and returns its text.
func (b *tab) answered() string {
	b.t.Helper()
	b.until(`document.querySelector(".answer") && !document.querySelector(".answer.running")`)
	return js[string](b, `[...document.querySelectorAll(".answer > .prose")].at(-1).innerText`)
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return js[string](b, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? ""`, quote(selector)))
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}
