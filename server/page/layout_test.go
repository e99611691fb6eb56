package page_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// overflowing are the elements that stick out of the screen sideways, unless something around them scrolls.
const overflowing = `[...document.querySelectorAll("body *")].filter((e) => {
	const box = e.getBoundingClientRect();
	if (!e.checkVisibility({visibilityProperty: true}) || box.width === 0 || e.closest(".unseen, .skip, svg")) return false;
	for (let p = e.parentElement; p; p = p.parentElement) if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX) && p !== document.body) return false;
	return box.right > innerWidth + 1 || box.left < -1;
}).map((e) => e.outerHTML.slice(0, 100))`

// fits fails the test when the page must be scrolled sideways.
func (b *tab) fits(what string) {
	b.t.Helper()
	if width := js[int](b, `document.documentElement.scrollWidth - innerWidth`); width > 0 {
		b.t.Errorf("%s: the page is %d pixels too wide", what, width)
	}
	for _, e := range js[[]string](b, overflowing) {
		b.t.Errorf("%s: sticks out: %s", what, e)
	}
	if js[bool](b, `document.querySelector("#scroller").scrollWidth > document.querySelector("#scroller").clientWidth`) {
		b.t.Errorf("%s: the conversation scrolls sideways", what)
	}
}

func TestEverythingFitsTheScreen(t *testing.T) {
	s := serve(t)
	widths := []int64{320, 390, 800, 801, 1280}
	if testing.Short() {
		widths = widths[1:2]
	}
	for _, width := range widths {
		t.Run(strconv.FormatInt(width, 10), func(t *testing.T) {
			b := open(t, s.URL(), screen{width: width, height: 844, touch: width < 800})
			b.fits("welcome")
			b.run(specimen)
			b.until(`document.querySelectorAll(".turn").length === 7`)
			b.run(`document.querySelectorAll("details").forEach((d) => (d.open = true))`)
			b.give("drop", pictures+"/e-color-1.jpg")
			b.write("And this? " + strings.Repeat("x", 200))
			b.until(`document.querySelector("#pictures .tokens")?.innerText`)
			b.fits("conversation")
			b.run(`document.querySelector("#state").click()`)
			b.until(`document.querySelector("#machine").innerText.includes("Context")`)
			b.fits("figures")
			b.run(`document.querySelector("#machine button").click()`)
			if width <= 800 {
				b.click("#history-open")
				b.fits("list")
				b.press(kb.Escape)
				b.until(`document.activeElement.id === "history-open"`)
			}
			for _, dialog := range []string{"settings", "help", "key", "confirm", "lightbox"} {
				b.run(`document.querySelector("#` + dialog + `").showModal()`)
				b.fits(dialog)
				b.run(`document.querySelector("#` + dialog + `").close()`)
			}
		})
	}
}

// On a phone Enter begins a new line, for there the button is nearer.
func TestOnAPhoneEnterBeginsALine(t *testing.T) {
	b := open(t, serve(t).URL(), phone)
	b.ask("Good morning")
	b.until(`document.querySelector("#question").value === "Good morning\n"`)
	b.click("#send")
	if got := b.answered(); got != "Good morning! How can I help you?" {
		t.Errorf("answer %q", got)
	}
	b.fits("answer")
}

func TestTheKeyboardReachesEverything(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.press(",", chromedp.ModifierCtrl)
	b.until(`document.querySelector("#settings").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#settings").open`)
	b.press("/", chromedp.ModifierCtrl)
	b.until(`document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.press("i", chromedp.ModifierCtrl)
	b.until(`!document.querySelector("#machine").hidden && document.activeElement.ariaLabel === "Close the figures"`)
	b.press(kb.Escape)
	b.until(`document.querySelector("#machine").hidden && document.activeElement.id === "state"`)
	b.ask("Good morning")
	b.answered()
	b.press("O", chromedp.ModifierCtrl, chromedp.ModifierShift)
	b.until(`document.querySelector("#title").innerText === "New conversation" && document.activeElement.id === "question"`)
	seen := map[string]bool{}
	for range 40 {
		b.press(kb.Tab)
		seen[js[string](b, `document.activeElement.id || document.activeElement.innerText || document.activeElement.ariaLabel || ""`)] = true
	}
	for _, want := range []string{"new", "search", "Good morning", "theme", "settings-open", "state", "attach", "think", "question"} {
		if !seen[want] {
			t.Errorf("Tab does not reach %q; it reached %v", want, seen)
		}
	}
}

func TestTheThemeIsKept(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	paper := `getComputedStyle(document.documentElement).backgroundColor`
	light := js[string](b, paper)
	b.click("#theme")
	b.click("#theme") // the system's, light, dark
	if dark := js[string](b, paper); dark == light {
		t.Errorf("dark and light are both %s", light)
	}
	b.do(chromedp.Reload())
	b.until(`document.querySelector("#theme").title === "Colours: dark"`)
	if again := js[string](b, paper); again == light {
		t.Error("after reloading the page is light")
	}
}
