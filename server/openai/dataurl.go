package openai

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// decodeDataURL returns the bytes of a data URL. Its media type counts for nothing: whoever takes the bytes looks at
// them. Scheme and parameters may be in any case, white space may stand anywhere, the alphabet may be that of URLs,
// padding may be missing. Anything that would have to be fetched or opened is refused.
func decodeDataURL(s, at string) ([]byte, *Error) {
	s = strings.TrimSpace(s)
	scheme, rest, found := strings.Cut(s, ":")
	if !found || !strings.EqualFold(strings.TrimSpace(scheme), "data") {
		return nil, refuse(CodeInvalidImageURL, at, "only data: URLs are taken, nothing is fetched or opened; got %s",
			whatURL(s))
	}
	header, payload, found := strings.Cut(rest, ",")
	if !found {
		return nil, refuse(CodeInvalidImageURL, at, "the data: URL has no comma")
	}
	encoded := false
	for i, parameter := range strings.Split(header, ";") {
		encoded = encoded || i > 0 && strings.EqualFold(strings.TrimSpace(parameter), "base64")
	}
	if strings.Contains(payload, "%") {
		unescaped, err := url.PathUnescape(payload)
		if err != nil {
			return nil, refuse(CodeInvalidImage, at, "the data: URL has a bad percent escape")
		}
		payload = unescaped
	}
	data := []byte(payload)
	if encoded {
		var err error
		if data, err = decodeBase64(payload); err != nil {
			return nil, refuse(CodeInvalidImage, at, "the data: URL is not base64: %v", err)
		}
	}
	if len(data) == 0 {
		return nil, refuse(CodeInvalidImage, at, "the data: URL is empty")
	}
	return data, nil
}

// whatURL describes what came in place of a data URL, without repeating it.
func whatURL(s string) string {
	lower := strings.ToLower(s)
	for _, scheme := range []string{"http:", "https:", "file:", "ftp:", "blob:"} {
		if strings.HasPrefix(lower, scheme) {
			return "a URL of scheme " + scheme
		}
	}
	switch {
	case s == "":
		return "an empty URL"
	case strings.ContainsAny(s[:1], `/\.~`) || len(s) > 2 && s[1] == ':':
		return "a file path"
	}
	return "something else"
}

// decodeBase64 reads both alphabets, with or without padding, white space left out.
func decodeBase64(s string) ([]byte, error) {
	clean := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n', '\f', '\v':
		case '-':
			clean = append(clean, '+')
		case '_':
			clean = append(clean, '/')
		default:
			clean = append(clean, c)
		}
	}
	for i := 0; i < 2 && len(clean) > 0 && clean[len(clean)-1] == '='; i++ {
		clean = clean[:len(clean)-1]
	}
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(data, clean)
	return data[:n], err
}
