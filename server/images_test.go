package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/vision/picture"
)

// dataURL is a file of the repository's test data as a data URL.
func dataURL(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return "data:;base64," + base64.StdEncoding.EncodeToString(data)
}

// picturePart is a message part with a picture.
func picturePart(url, detail string) string {
	return `{"type":"image_url","image_url":{"url":"` + url + `","detail":` + detail + `}}`
}

// look is a chat request about pictures.
func look(t testing.TB, question string, files ...string) string {
	t.Helper()
	return `{"temperature":0,"messages":[` + lookMessage(t, question, files...) + `]}`
}

func lookMessage(t testing.TB, question string, files ...string) string {
	t.Helper()
	var parts []string
	for _, f := range files {
		parts = append(parts, picturePart(dataURL(t, f), "null"))
	}
	parts = append(parts, `{"type":"text","text":`+quote(question)+`}`)
	return `{"role":"user","content":[` + strings.Join(parts, ",") + `]}`
}

// evalCase is a question about pictures with its right answer.
type evalCase struct {
	ID       string
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	Images   []string
	Expected string
}

func evalCases(t testing.TB) []evalCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "eval-images", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	return decode[[]evalCase](t, data)
}

// body is the case as a request.
func (c *evalCase) body(t testing.TB) string {
	var messages []string
	for _, m := range c.Messages {
		content := string(m.Content)
		var parts []struct{ Type, File, Text string }
		if json.Unmarshal(m.Content, &parts) == nil {
			var out []string
			for _, p := range parts {
				if p.Type == "image" {
					out = append(out, picturePart(dataURL(t, filepath.Join("eval-images", p.File)), `"auto"`))
				} else {
					out = append(out, `{"type":"text","text":`+quote(p.Text)+`}`)
				}
			}
			content = "[" + strings.Join(out, ",") + "]"
		}
		messages = append(messages, `{"role":"`+m.Role+`","content":`+content+`}`)
	}
	return `{"temperature":0,"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestPicturesAreAnswered(t *testing.T) {
	s := start(t)
	right, asked := 0, 0
	for i, c := range evalCases(t) {
		if i%6 != 0 {
			continue
		}
		asked++
		a := s.chat(c.body(t))
		if a.content()+"<turn|>" == c.Expected {
			right++
		} else {
			t.Logf("%s: %q, want %q", c.ID, a.content(), c.Expected)
		}
		if len(a.Extension.Images) != len(c.Images) || a.Usage.PromptDetails.Image < 48*len(c.Images) {
			t.Errorf("%s: %d receipts, %d image tokens for %d pictures", c.ID, len(a.Extension.Images), a.Usage.PromptDetails.Image, len(c.Images))
		}
	}
	if asked < 8 || right < asked-1 {
		t.Errorf("%d of %d answers are right", right, asked)
	}
}

const (
	scene = "goldens/image-png-describe.png"
	other = "goldens/image-multiturn.png"
)

func TestPicturesAreKnownByTheirContent(t *testing.T) {
	s := start(t)
	ask := func(file string) chatAnswer { return s.chat(look(t, "Describe the image.", file)) }
	first := ask(scene)
	if i := first.Extension.Images; len(i) != 1 || i[0].Cached || len(i[0].Digest) != 64 || i[0].Receipt["sha256"] == "" || i[0].Receipt["orientation"] != 1.0 {
		t.Errorf("the first time: %+v", i)
	}
	again := ask(scene)
	if i := again.Extension.Images; !i[0].Cached || i[0].Digest != first.Extension.Images[0].Digest || again.content() != first.content() {
		t.Errorf("the second time: %+v", i)
	}
	another := ask(other)
	if r := another.Extension.Reuse; another.Extension.Images[0].Cached || r.End != "another attachment" && r.End != "nothing to reuse" {
		t.Errorf("another picture: %+v, %+v", another.Extension.Images, r)
	}
	if another.content() == first.content() {
		t.Errorf("two pictures, one answer: %q", first.content())
	}
}

// TestPictureFollowUpsEqualColdRuns is TestFollowUpsEqualColdRuns with pictures in several turns.
func TestPictureFollowUpsEqualColdRuns(t *testing.T) {
	warm, cold := start(t), start(t)
	var d dialogue
	for turn, message := range []string{
		lookMessage(t, "Describe the image.", scene),
		`{"role":"user","content":"How many shapes are there?"}`,
		lookMessage(t, "Describe the image.", other),
		`{"role":"user","content":"Hello"}`,
	} {
		d.messages = append(d.messages, message)
		body := d.body(`"logprobs":true`)
		a := warm.chat(body)
		fresh := startWithout(t)
		fresh.SetModel(cold.rt)
		b := fresh.chat(body)
		if a.content() != b.content() || encode(t, a.Choices[0].Logprobs) != encode(t, b.Choices[0].Logprobs) {
			t.Fatalf("turn %d: warm %q, cold %q", turn, a.content(), b.content())
		}
		if turn > 0 && (!a.Extension.Images[0].Cached || a.Usage.PromptDetails.Cached == 0) {
			t.Errorf("turn %d: %+v, %+v", turn, a.Extension.Images, a.Extension.Reuse)
		}
		d.assistant(a.content())
	}
}

func TestPictureInAToolResult(t *testing.T) {
	s := start(t)
	status, data := s.post("/v1/chat/completions", `{"temperature":0,"messages":[{"role":"user","content":"Look"},
		{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"here"},`+picturePart(dataURL(t, scene), `"low"`)+`]},
		{"role":"user","content":"Describe the image."}]}`)
	if status != 200 {
		t.Fatalf("status %d: %s", status, data)
	}
	if a := decode[chatAnswer](t, data); len(a.Extension.Images) != 1 || a.Usage.PromptDetails.Image == 0 {
		t.Errorf("%+v", a)
	}
}

// imageError stands in for what the command tells the server about errors of pictures.
func imageError(err error) (code, hint string) {
	switch {
	case errors.Is(err, picture.ErrTruncated), errors.Is(err, picture.ErrDamaged):
		return "invalid_image", picture.Hint(err)
	case errors.Is(err, picture.ErrPixels), errors.Is(err, picture.ErrSide):
		return "image_too_large", picture.Hint(err)
	}
	return "", ""
}

func TestBadPictures(t *testing.T) {
	s := start(t, func(o *server.Options) { o.ImageError, o.MaxImageBytes = imageError, 1<<20 })
	large := "data:;base64," + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 1<<20+1))
	for _, c := range []struct {
		name, url, code string
		status          int
	}{
		{"no picture", "data:;base64,AAAA", "invalid_image", 400},
		{"a document", dataURL(t, "images/document.pdf"), "invalid_image", 400},
		{"cut in the header", dataURL(t, "images/jpeg-cut-in-header.jpg"), "invalid_image", 400},
		{"cut in the scan", dataURL(t, "images/jpeg-cut-in-scan.jpg"), "invalid_image", 400},
		{"too many pixels", dataURL(t, "images/jpeg-claims-8192x8192.jpg"), "image_too_large", 413},
		{"too many bytes", large, "image_too_large", 413},
		{"an address", "https://example.com/a.png", "invalid_image_url", 400},
		{"a path", "/etc/passwd", "invalid_image_url", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{"/v1/chat/completions", "/v1/chat/completions/input_tokens"} {
				status, data := s.post(path, `{"messages":[{"role":"user","content":[`+picturePart(c.url, `"auto"`)+`]}]}`)
				if status != c.status || decode[apiError](t, data).Error.Code != c.code {
					t.Errorf("%s: status %d: %s", path, status, data)
				}
			}
		})
	}
	if a := s.chat(say("Hello")); a.finish() != "stop" {
		t.Errorf("text ends with %q", a.finish())
	}
}

func TestPictureCostIsToldBefore(t *testing.T) {
	s := start(t)
	body := look(t, "Describe the image.", scene)
	_, data := s.post("/v1/chat/completions/input_tokens", body)
	cost := decode[struct {
		Total int `json:"input_tokens"`
		Image int `json:"image_tokens"`
	}](t, data)
	a := s.chat(body)
	if cost.Total != a.Usage.Prompt || cost.Image != a.Usage.PromptDetails.Image || cost.Image == 0 {
		t.Errorf("told %+v, used %+v", cost, a.Usage)
	}
}

func TestWorkEndsWhenTheClientLeavesDuringEncoding(t *testing.T) {
	s := start(t)
	f := s.follow(t, strings.TrimSuffix(look(t, "Describe the image.", scene, other), "}")+`,"stream":true,"return_progress":true}`)
	f.until(`"phase":"encode"`)
	f.leave()
	s.waitIdle()
	if a := s.chat(look(t, "Describe the image.", scene)); a.finish() != "stop" || a.content() == "" {
		t.Errorf("the next answer is %q", a.content())
	}
}
