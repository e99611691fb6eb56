package openai

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestDataURLSpellings(t *testing.T) {
	want := "\xff\xfb\xf0 picture??"
	std := base64.StdEncoding.EncodeToString([]byte(want))
	web := base64.URLEncoding.EncodeToString([]byte(want))
	if std == web || !strings.HasSuffix(std, "=") {
		t.Fatal("the picture does not tell the spellings apart")
	}
	for name, url := range map[string]string{
		"plain":                         "data:image/png;base64," + std,
		"capitals":                      "DATA:IMAGE/PNG;BASE64," + std,
		"no media type":                 "data:;base64," + std,
		"a wrong media type":            "data:text/html;base64," + std,
		"an odd media type":             "data:picture;base64," + std,
		"parameters":                    "data:image/png;name=a.png;charset=utf-8;base64," + std,
		"blanks in the header":          "data: image/png ; base64 ," + std,
		"blanks around":                 " \n data:image/png;base64," + std + "\n",
		"lines in the data":             "data:image/png;base64," + std[:4] + "\r\n" + std[4:8] + " \t" + std[8:],
		"the alphabet of URLs":          "data:image/png;base64," + web,
		"no padding":                    "data:image/png;base64," + strings.TrimRight(std, "="),
		"escaped signs":                 "data:image/png;base64," + strings.NewReplacer("+", "%2B", "/", "%2f", "=", "%3D").Replace(std),
		"escapes and no base64":         "data:image/png,%FF%FB%F0%20picture%3F%3F",
		"base64 is the last of several": "data:image/png;base64;base64," + std,
	} {
		if got, err := decodeDataURL(url, "at"); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestRefusedURLs(t *testing.T) {
	for _, c := range []struct{ url, code, names string }{
		{"http://example.com/a.png", CodeInvalidImageURL, "http:"},
		{"HTTPS://example.com/a.png", CodeInvalidImageURL, "https:"},
		{"file:///etc/passwd", CodeInvalidImageURL, "file:"},
		{"ftp://example.com/a", CodeInvalidImageURL, "ftp:"},
		{"/etc/passwd", CodeInvalidImageURL, "a file path"},
		{`C:\a.png`, CodeInvalidImageURL, "a file path"},
		{"../a.png", CodeInvalidImageURL, "a file path"},
		{"~/a.png", CodeInvalidImageURL, "a file path"},
		{"", CodeInvalidImageURL, "empty"},
		{"iVBORw0KGgo=", CodeInvalidImageURL, "something else"},
		{"data:image/png;base64", CodeInvalidImageURL, "comma"},
		{"data:image/png;base64,", CodeInvalidImage, "empty"},
		{"data:image/png;base64,=", CodeInvalidImage, "empty"},
		{"data:image/png;base64,A", CodeInvalidImage, "base64"},
		{"data:image/png;base64,AA=A", CodeInvalidImage, "base64"},
		{"data:image/png;base64,AA===", CodeInvalidImage, "base64"},
		{"data:image/png;base64,A!AA", CodeInvalidImage, "base64"},
		{"data:image/png,%zz", CodeInvalidImage, "escape"},
		{"x data:image/png;base64,AAAA", CodeInvalidImageURL, "something else"},
	} {
		_, err := decodeDataURL(c.url, "at")
		if err == nil || err.Code != c.code || !strings.Contains(err.Message, c.names) {
			t.Errorf("%q: got %v, want %s about %q", c.url, err, c.code, c.names)
		}
		if err != nil && len(c.url) > 12 && strings.Contains(err.Message, c.url) {
			t.Errorf("%q is repeated in %q", c.url, err.Message)
		}
	}
}

func TestDetailChoosesTheBudget(t *testing.T) {
	o := Options{Images: Images{Low: 70, High: 1120}}
	for detail, want := range map[string]int{`"low"`: 70, `"auto"`: 0, `"high"`: 1120, `null`: 0} {
		c, err := DecodeChat([]byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x","detail":`+detail+`}}]}]}`), o)
		if err != nil || len(c.Media) != 1 || c.Media[0].Budget != want || string(c.Media[0].Data) != "x" {
			t.Errorf("detail %s: %+v, %v", detail, c, err)
		}
	}
}
