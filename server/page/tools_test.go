package page_test

import "testing"

const addTool = `[{"name": "add", "description": "Adds two integers", "parameters": {"type": "object", "properties":
	{"a": {"type": "number", "description": "The first number."}, "b": {"type": "number", "description": "The second number."}},
	"required": ["a", "b"]}}]`

func TestACallIsShownAndItsResultSentBack(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.set("tools", addTool)
	b.set("system", "You can use tools.")
	b.ask("Calculate the sum of 929 and 509.")
	b.answered()
	if got, want := b.text(".call"), "Calls add\na\n929\nb\n509\nResult"; got != want {
		t.Errorf("the call reads %q, want %q", got, want)
	}
	b.click(".call textarea")
	b.enter(`{"value": 1438}`)
	b.click(`.calls button[type="submit"]`)
	b.until(`document.querySelectorAll(".answer").length === 2`)
	if got, want := b.answered(), "The sum of 929 and 509 is 1438."; got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
	if got, want := b.text(".turn.call"), "Result of add\nvalue\n1438"; got != want {
		t.Errorf("the result reads %q, want %q", got, want)
	}
}

func TestFunctionsThatAreNoneAreRefused(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	for _, bad := range []string{"{", `[{"description": "nameless"}]`, `7`} {
		b.run(`document.querySelector("#settings-open").click();
			const field = document.querySelector("#settings form").elements.namedItem("tools");
			field.closest("details").open = true;
			field.value = ` + quote(bad) + `;
			field.dispatchEvent(new Event("input", {bubbles: true}));`)
		b.until(`document.querySelector("#tools-problem").innerText !== ""`)
		b.run(`document.querySelector("#settings").close()`)
	}
	b.ask("Good morning")
	if got := b.answered(); got != "Good morning! How can I help you?" {
		t.Errorf("answer %q", got)
	}
}
