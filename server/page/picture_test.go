package page_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const pictures = "../../testdata/eval-images"

// A pictureCase is a question about one picture that the demo model answers rightly.
type pictureCase struct{ file, question, answer string }

// pictureCases returns questions about one picture each, of different kinds and formats.
func pictureCases(t testing.TB, ids ...string) []pictureCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pictures, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ID, Expected string
		Images       []string
		Messages     []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var out []pictureCase
	for _, id := range ids {
		for _, c := range all {
			if c.ID != id {
				continue
			}
			p := pictureCase{file: filepath.Join(pictures, c.Images[0]), answer: strings.TrimSuffix(c.Expected, "<turn|>")}
			var parts []struct{ Type, Text string }
			if err := json.Unmarshal(c.Messages[0].Content, &parts); err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				p.question += part.Text
			}
			out = append(out, p)
		}
	}
	if len(out) != len(ids) {
		t.Fatalf("found %d of %d questions", len(out), len(ids))
	}
	return out
}

// give hands a file to the page as the user would: event is drop or paste.
func (b *tab) give(event, file string) {
	b.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run(fmt.Sprintf(`
		const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0));
		const transfer = new DataTransfer();
		transfer.items.add(new File([bytes], %s));
		const target = document.querySelector("#question");
		if (%q === "paste") target.dispatchEvent(new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true, cancelable: true}));
		else for (const type of ["dragenter", "dragover", "drop"]) {
			target.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
		}`, base64.StdEncoding.EncodeToString(data), quote(filepath.Base(file)), event))
}

func TestPicturesAreSeen(t *testing.T) {
	s := serve(t)
	cases := pictureCases(t, "e-describe-0", "e-color-1", "e-text-0")
	for i, how := range []string{"drop", "paste", "picker"} {
		t.Run(how, func(t *testing.T) {
			c := cases[i]
			b := open(t, s.URL(), desktop)
			if how == "picker" {
				path, err := filepath.Abs(c.file)
				if err != nil {
					t.Fatal(err)
				}
				b.do(chromedp.SetUploadFiles(chromedp.CSS("#picker"), []string{path}))
			} else {
				b.give(how, c.file)
			}
			b.until(`/^\d+ tokens$/.test(document.querySelector("#pictures .tokens")?.innerText)`)
			told := b.text("#pictures .tokens")
			b.ask(c.question)
			if got := b.answered(); got != c.answer {
				t.Errorf("%s: answer %q, want %q", c.question, got, c.answer)
			}
			if got := b.text(".question figcaption"); got != told {
				t.Errorf("the picture was told to cost %s and took %s", told, got)
			}
			if !js[bool](b, `document.querySelector("#drop").hidden && document.querySelector("#pictures").hidden`) {
				t.Error("after sending, the picture is still in the composer")
			}
		})
	}
}

func TestDetailChangesWhatAPictureCosts(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.give("drop", filepath.Join(pictures, "e-describe-0.jpg"))
	b.until(`/^\d+ tokens$/.test(document.querySelector("#pictures .tokens")?.innerText)`)
	auto := b.text("#pictures .tokens")
	b.run(`const select = document.querySelector("#pictures select");
		select.value = "high";
		select.dispatchEvent(new Event("change"));`)
	b.until(`/^\d+ tokens$/.test(document.querySelector("#pictures .tokens").innerText) &&
		document.querySelector("#pictures .tokens").innerText !== ` + quote(auto))
	b.click(`#pictures button[aria-label^="Remove"]`)
	b.until(`document.querySelector("#pictures").hidden && document.activeElement.id === "question"`)
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.give("drop", "picture_test.go")
	b.until(`document.querySelector(".toast")?.innerText === "picture_test.go is not a picture that can be read here."`)
	if js[int](b, `document.querySelectorAll("#pictures li").length`) != 0 {
		t.Error("it was attached")
	}
}

// A format that only the browser reads is converted by it.
func TestAFormatOfTheBrowserIsConverted(t *testing.T) {
	b := open(t, serve(t).URL(), desktop)
	b.give("drop", "../../testdata/images/avif.avif")
	b.until(`document.querySelector("#pictures .tokens")?.innerText || document.querySelector(".toast")`)
	toast := b.text(".toast")
	if !strings.Contains(toast, "avif.avif was converted to PNG") && !strings.Contains(toast, "is not a picture") {
		t.Errorf("the notice is %q", toast)
	}
}
