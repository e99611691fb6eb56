package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server"
)

func TestAQuestionIsAnswered(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.write("Please count from 15 to 24.")
	b.until(`/^\d+ tokens/.test(document.querySelector("#cost").innerText)`)
	cost := strings.Fields(b.text("#cost"))[0]
	b.send()
	if got, want := b.answered(), "15, 16, 17, 18, 19, 20, 21, 22, 23, 24."; got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
	if facts := js[string](b, `document.querySelector(".facts dl").textContent`); !strings.Contains(facts, "Prompt"+cost+" tokens") {
		t.Errorf("the cost was told as %s tokens, the facts say %s", cost, facts)
	}
	if title := b.text("#title"); title != "Please count from 15 to 24." {
		t.Errorf("title %q", title)
	}
	b.until(`document.querySelector("#announcer").textContent.startsWith("Answer: 15, 16")`)
	if got := js[string](b, `document.activeElement.id`); got != "question" {
		t.Errorf("after an answer the focus is on %q", got)
	}
}

// set changes a setting of the conversation, by the name of its field.
func (b *tab) set(field, value string) {
	b.t.Helper()
	b.run(`document.querySelector("#settings-open").click();
		const field = document.querySelector("#settings form").elements.namedItem(` + quote(field) + `);
		field.value = ` + quote(value) + `;
		field.dispatchEvent(new Event("input", {bubbles: true}));
		document.querySelector("#settings").close();`)
}

// noisy makes the demo model write noise until the context is full, unless a request says otherwise.
func noisy(o *server.Options) { o.Sampling = core.Sampling{Temperature: 100, Seed: 3} }

func TestAnAnswerStreamsAndStops(t *testing.T) {
	b := open(t, serve(t, noisy).URL(), desktop)
	b.ask("Tell me a story.")
	for _, letters := range []int{20, 40, 60, 80} { // it grows, and the one that is looked at is not complete
		b.until(fmt.Sprintf(`document.querySelector(".answer.running > .prose")?.innerText.length > %d`, letters))
	}
	b.press(kb.Escape)
	if got := b.answered(); len(got) < 80 {
		t.Errorf("after stopping the answer is %q", got)
	}
	if got := b.text(".answer .notes"); got != "Stopped." {
		t.Errorf("the note is %q", got)
	}
	b.until(`document.querySelector("#state-text").innerText.startsWith("demo")`)
	before := js[int](b, `document.querySelector(".answer > .prose").innerText.length`)
	b.set("temperature", "0")
	b.ask("What is the capital of Austria?")
	b.until(`document.querySelectorAll(".answer").length === 2`)
	b.answered()
	if after := js[int](b, `document.querySelector(".answer > .prose").innerText.length`); after != before {
		t.Errorf("the stopped answer went from %d to %d letters", before, after)
	}
}

func TestAnotherAnswerStandsBesideTheFirst(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.ask("Reverse \"brick\".")
	first := b.answered()
	b.click(`.answer button[aria-label="Answer again"]`)
	b.until(`document.querySelector(".answer .variants span").innerText === "2 / 2"`)
	if second := b.answered(); second != first || first != "kcirb" {
		t.Errorf("answers %q and %q, want kcirb twice", first, second)
	}
	b.click(`.answer button[aria-label="Previous answer"]`)
	b.until(`document.querySelector(".answer .variants span").innerText === "1 / 2"`)
}

func TestAnEditedQuestionStandsBesideTheFirst(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.ask("Uppercase the word \"radio\".")
	if got := b.answered(); got != "RADIO" {
		t.Errorf("answer %q, want RADIO", got)
	}
	b.press(kb.ArrowUp)
	b.until(`document.querySelector("#question").value.includes("radio") && !document.querySelector("#editing").hidden`)
	b.run(`document.querySelector("#question").value = ""`)
	b.ask("Uppercase the word \"brick\".")
	b.until(`document.querySelector(".question .variants span").innerText === "2 / 2"`)
	if got := b.answered(); got != "BRICK" {
		t.Errorf("answer to the other wording %q, want BRICK", got)
	}
	b.click(`.question button[aria-label="Previous wording"]`)
	b.until(`document.querySelector(".answer > .prose").innerText === "RADIO"`)
}

func TestThoughtsAreFoldedWhenTheAnswerBegins(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.click("#think")
	b.ask("What is the capital of Austria?")
	if got := b.answered(); got != "The capital of Austria is Vienna." {
		t.Errorf("answer %q", got)
	}
	if js[bool](b, `document.querySelector(".thought").open`) {
		t.Error("the thought stayed open")
	}
	if got := b.text(".thought summary"); !strings.HasPrefix(got, "Thought for ") {
		t.Errorf("summary %q", got)
	}
	b.click(".thought summary")
	if got := b.text(".thought .prose"); !strings.Contains(got, "Vienna") {
		t.Errorf("thought %q", got)
	}
}
