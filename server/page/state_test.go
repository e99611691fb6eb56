package page_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/server"
)

func TestLoadingAndFailureAreShown(t *testing.T) {
	s, _ := serveWithout(t)
	s.SetLoading(30, 100)
	b := openBlank(t, desktop)
	b.excuse("503")
	b.load(s.URL())
	b.until(`document.querySelector("#state-text").innerText === "Loading 30 %"`)
	b.until(`document.querySelector("#notice progress")?.value === 30`)
	b.ask("Good morning")
	b.until(`document.querySelector(".toast")?.innerText.startsWith("The model is not ready yet")`)
	if got := js[string](b, `document.querySelector("#question").value`); got != "Good morning" {
		t.Errorf("the question became %q", got)
	}
	s.SetFailed(errors.New("gemma4.gturbo is damaged"))
	b.until(`document.querySelector("#notice").innerText.includes("gemma4.gturbo is damaged")`)
	rt := loadDemo(t)
	s.SetModel(rt)
	b.until(`document.querySelector("#state").dataset.state === "ready" && document.querySelector("#notice").hidden`)
	b.send()
	if got := b.answered(); got != "Good morning! How can I help you?" {
		t.Errorf("answer %q", got)
	}
	stop(t, s)
	b.excuse("ERR_CONNECTION_REFUSED")
	b.until(`document.querySelector("#state").dataset.state === "unreachable"`)
	if got := b.text("#notice"); !strings.Contains(got, "fieldfare serve") {
		t.Errorf("the notice is %q", got)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

func TestAKeyIsAskedFor(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.APIKey = "right" })
	b := openBlank(t, desktop)
	b.excuse("401")
	b.load(s.URL())
	b.until(`document.querySelector("#state").dataset.state === "locked"`)
	b.click("#notice button")
	b.enter("wrong")
	b.send()
	b.until(`document.querySelector("#state").dataset.state === "locked" && !document.querySelector("#key").open`)
	b.click("#notice button")
	b.enter("right")
	b.send()
	b.until(`document.querySelector("#state").dataset.state === "ready"`)
	b.ask("Good morning")
	if got := b.answered(); got != "Good morning! How can I help you?" {
		t.Errorf("answer %q", got)
	}
}

func TestAnErrorComesWithAdviceAndAWayOn(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.excuse("400")
	b.write(strings.Repeat("word ", 5000))
	b.until(`document.querySelector("#cost").innerText.includes("do not fit the context of 4,096")`)
	b.send()
	b.until(`document.querySelector(".failure")?.innerText.includes("maximum context length is 4096 tokens")`)
	if got := b.text(".failure .hint"); !strings.Contains(got, "--max-context") {
		t.Errorf("the hint is %q", got)
	}
	b.until(`document.querySelector("#announcer").textContent.startsWith("No answer: ")`)
}

func TestWithoutAPackPicturesAreRefusedWithTheReason(t *testing.T) {
	s, _ := serveWithout(t)
	rt := loadBlind(t)
	s.SetModel(rt)
	t.Cleanup(func() {
		stop(t, s)
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	b := open(t, s.URL(), desktop)
	b.give("drop", pictures+"/e-color-1.jpg")
	b.until(`document.querySelector(".toast")?.innerText === "Pictures cannot be read: no image pack is installed."`)
	b.click("#state")
	b.until(`document.querySelector("#machine").innerText.includes("no image pack is installed")`)
}

func TestThePanelShowsTheMachine(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.ask("Please count from 15 to 24.")
	b.answered()
	b.click("#state")
	for _, text := range []string{"cpu", "4,096 tokens", "tokens/s writing", "found in memory", "outside the Go heap", "A read takes"} {
		b.until(`document.querySelector("#machine").innerText.includes(` + quote(text) + `)`)
	}
}
