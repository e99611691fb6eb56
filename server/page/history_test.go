package page_test

import (
	"path/filepath"
	"testing"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestReloadingFindsTheConversation(t *testing.T) {
	s := serve(t)
	c := pictureCases(t, "e-color-1")[0]
	b := open(t, s.URL(), desktop)
	b.give("drop", c.file)
	b.until(`document.querySelector("#pictures .tokens")?.innerText`)
	b.ask(c.question)
	b.answered()
	b.click("#new")
	b.ask("Good morning")
	b.answered()
	b.write("half a quest")

	b.do(chromedp.Reload())
	b.until(`document.querySelectorAll("#conversations li").length === 2`)
	b.until(`document.querySelector(".answer > .prose")?.innerText === "Good morning! How can I help you?"`)
	b.until(`document.querySelector("#question").value === "half a quest"`)
	b.click("#conversations li:last-child a")
	b.until(`document.querySelector(".answer > .prose")?.innerText === ` + quote(c.answer))
	b.until(`document.querySelector(".question .thumb img")?.naturalWidth > 0`)

	// The picture goes into the follow-up, too.
	b.ask("What colour is it?")
	b.answered()
	if got := b.text(".answer:last-child .facts"); got == "" {
		t.Error("the follow-up has no figures")
	}
	if !js[bool](b, `document.querySelector(".answer:last-child .facts dl").textContent.includes("of them pictures")`) {
		t.Error("the follow-up was asked without the picture")
	}
}

func TestConversationsAreRenamedDeletedAndBroughtBack(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.ask("Good morning")
	b.answered()
	b.click(`#conversations button[aria-label="More for Good morning"]`)
	b.until(`document.activeElement.innerText === "Rename"`)
	b.send()
	b.until(`document.activeElement.className === "rename"`)
	b.enter("Greetings")
	b.send()
	b.until(`document.querySelector("#conversations a")?.innerText === "Greetings" && document.querySelector("#title").innerText === "Greetings"`)

	b.click(`#conversations button[aria-label="More for Greetings"]`)
	b.press(kb.ArrowUp)
	b.until(`document.activeElement.innerText === "Delete"`)
	b.send()
	b.until(`document.querySelectorAll("#conversations a").length === 0 && document.activeElement.id === "new"`)
	b.click(".toast button")
	b.until(`document.querySelector("#conversations a")?.innerText === "Greetings"`)
}

func TestSearchFindsWordsOfAnswers(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	for _, q := range []string{"Good morning", "What is the capital of Austria?"} {
		b.click("#new")
		b.ask(q)
		b.answered()
	}
	b.until(`document.querySelectorAll("#conversations a").length === 2`) // both are kept
	b.press("k", chromedp.ModifierCtrl)
	b.until(`document.activeElement.id === "search"`)
	b.enter("vienna")
	b.until(`document.querySelectorAll("#conversations a").length === 1`)
	if got := b.text("#conversations a"); got != "What is the capital of Austria?" {
		t.Errorf("found %q", got)
	}
}

// What was exported comes back as it was, beside what is there; a file that is no export changes nothing.
func TestExportsComeBack(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.give("drop", filepath.Join(pictures, "e-color-1.jpg"))
	b.until(`document.querySelector("#pictures .tokens")?.innerText`)
	b.ask("What colour is the triangle?")
	b.answered()
	b.run(`
		const { Store } = await import("/store.js");
		const { exported } = await import("/transfer.js");
		const store = await Store.open();
		window.file = await exported(store, (await store.headings()).map((h) => h.id));
		window.importing = async (text) => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([text], "conversations.json"));
			const input = document.querySelector("#import-file");
			input.files = transfer.files;
			input.dispatchEvent(new Event("change"));
		};
		importing(file);`)
	b.until(`document.querySelectorAll("#conversations a").length === 2`)
	same := js[bool](b, `(async () => {
		const { Store } = await import("/store.js");
		const { exported } = await import("/transfer.js");
		const store = await Store.open();
		const plain = async (ids) => (await exported(store, ids)).replace(/"n[0-9a-f]{24}"/g, "id").replace(/"exported".*/, "");
		const [a, b] = await store.headings();
		const [one, two] = [JSON.parse(await exported(store, [a.id])), JSON.parse(await exported(store, [b.id]))];
		const text = (f) => f.conversations[0].nodes.map((n) => n.text + n.state + JSON.stringify(n.facts?.timings)).join();
		return text(one) === text(two) && Object.values(one.pictures).join() === Object.values(two.pictures).join();
	})()`)
	if !same {
		t.Error("the imported conversation is another one")
	}
	for _, bad := range []string{
		`{`, `{}`, `[]`, `null`,
		`{"format":"fieldfare-conversations","version":2,"conversations":[]}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[]}]}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[{"id":"a","parent":"b","role":"user"}]}]}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[{"id":"a","parent":null,"role":"root"}]}]}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[{"id":"a","parent":null,"role":"user","pictures":[{"id":"p"}]}]}]}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[{"id":"a","parent":null,"role":"user","pictures":[{"id":"p"}]}]}],"pictures":{"p":"data:text/html;base64,AAAA"}}`,
		`{"format":"fieldfare-conversations","version":1,"conversations":[{"nodes":[{"id":"a","parent":"a","role":"user"}]}]}`,
	} {
		b.run(`document.querySelectorAll(".toast").forEach((toast) => toast.remove()); importing(` + quote(bad) + `)`)
		b.until(`document.querySelector(".toast")?.innerText.startsWith("Nothing was imported.")`)
	}
	if n := js[int](b, `document.querySelectorAll("#conversations a").length`); n != 2 {
		t.Errorf("after refused imports there are %d conversations, want 2", n)
	}
}

func TestADeletedConversationStaysDeletedWhenItsAnswerEnds(t *testing.T) {
	b := open(t, serve(t, noisy).URL(), desktop)
	b.ask("Tell me a story.")
	b.until(`document.querySelector(".answer.running > .prose")?.innerText.length > 20`)
	b.click(`#conversations button[aria-label^="More for"]`)
	b.press(kb.ArrowUp)
	b.send()
	b.until(`document.querySelectorAll("#conversations a").length === 0 && document.querySelectorAll(".turn").length === 0`)
	b.until(`fetch("/health").then((r) => r.json()).then((h) => h.queue.running === 0)`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector("#conversations .hint")`)
}

// An answer goes on while another conversation is looked at.
func TestAnAnswerGoesOnInTheBackground(t *testing.T) {
	b := open(t, serve(t, noisy).URL(), desktop)
	b.ask("Tell me a story.")
	b.until(`document.querySelector(".answer.running > .prose")?.innerText.length > 20`)
	b.click("#new")
	b.until(`document.querySelectorAll(".turn").length === 0 && document.querySelector("#conversations li.running a:not([aria-current])")`)
	b.click("#conversations a")
	b.until(`document.querySelector(".answer.running > .prose")?.innerText.length > 100`)
	b.click("#stop")
	b.answered()
}

// A browser that refuses storage still holds a conversation, and says that it will not last.
func TestWithoutStorageThePageStillTalks(t *testing.T) {
	s := serve(t)
	b := openBlank(t, desktop)
	call(b, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		for (const name of ["indexedDB", "localStorage", "sessionStorage"]) {
			Object.defineProperty(window, name, {get() { throw new DOMException("denied", "SecurityError"); }});
		}`})
	b.load(s.URL())
	b.until(`document.querySelector(".toast")?.innerText.startsWith("This browser window keeps no history")`)
	b.until(`document.querySelector("#state").dataset.state === "ready"`)
	b.ask("Good morning")
	if got := b.answered(); got != "Good morning! How can I help you?" {
		t.Errorf("answer %q", got)
	}
	b.click("#new")
	b.click("#conversations a")
	b.until(`document.querySelectorAll(".turn").length === 2`)
}
