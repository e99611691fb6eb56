package install

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// fileMeta is what the hub's answer to HEAD says about a file.
type fileMeta struct {
	size   int64
	commit string // empty when the server does not say
	xet    string
}

// parseMeta reads the headers of an answer to HEAD. The hub answers for large files with a redirect to its storage and
// puts what matters into the redirect itself.
func parseMeta(status int, h http.Header, contentLength int64) (fileMeta, error) {
	meta := fileMeta{xet: strings.ToLower(h.Get("X-Xet-Hash"))}
	if commit := h.Get("X-Repo-Commit"); commit != "" {
		if !isCommit(commit) {
			return meta, fmt.Errorf("%w: X-Repo-Commit is %q", ErrProtocol, clip(commit))
		}
		meta.commit = strings.ToLower(commit)
	}
	switch linked := h.Get("X-Linked-Size"); {
	case linked != "":
		n, err := strconv.ParseInt(linked, 10, 64)
		if err != nil || n < 0 {
			return meta, fmt.Errorf("%w: X-Linked-Size is %q", ErrProtocol, clip(linked))
		}
		meta.size = n
	case status/100 == 2 && contentLength >= 0:
		if err := refuseWebPage(h); err != nil {
			return meta, err
		}
		meta.size = contentLength
	default:
		return meta, fmt.Errorf("%w: status %d tells no size of the file", ErrProtocol, status)
	}
	return meta, nil
}

// checkPartial holds the answer to a range request to what was asked: bytes first to last of total. Nothing of the
// body has been read.
func checkPartial(status int, h http.Header, contentLength, first, last, total int64) error {
	if status == http.StatusOK {
		if err := refuseWebPage(h); err != nil {
			return err
		}
		return fmt.Errorf("%w: status 200 to a range request; the server does not serve ranges", ErrProtocol)
	}
	if status != http.StatusPartialContent {
		return fmt.Errorf("%w: status %d to a range request", ErrProtocol, status)
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fmt.Errorf("%w: content encoding %q", ErrProtocol, clip(encoding))
	}
	want := fmt.Sprintf("bytes %d-%d/%d", first, last, total)
	if got := h.Get("Content-Range"); got != want {
		if _, size, ok := strings.Cut(got, "/"); ok && size != strconv.FormatInt(total, 10) && size != "*" {
			return fmt.Errorf("%w: the file has %s bytes now, it had %d", ErrSourceChanged, clip(size), total)
		}
		return fmt.Errorf("%w: Content-Range is %q, expected %q", ErrProtocol, clip(got), want)
	}
	if contentLength != last-first+1 {
		return fmt.Errorf("%w: Content-Length is %d, expected %d", ErrProtocol, contentLength, last-first+1)
	}
	return nil
}

// checkTag holds an ETag to the content hash that the hub has named, or else to the tag of earlier ranges; it returns
// the tag to expect from then on.
func checkTag(h http.Header, xet, earlier string) (string, error) {
	raw := strings.TrimSpace(h.Get("ETag"))
	tag := strings.ToLower(strings.Trim(raw, `"`))
	weak := strings.HasPrefix(raw, "W/")
	switch {
	case xet != "" && (weak || tag == ""):
		return "", fmt.Errorf("%w: ETag is %q, expected the strong tag %q", ErrProtocol, clip(raw), xet)
	case xet != "" && tag != xet:
		return "", fmt.Errorf("%w: its content hash is %q, expected %q", ErrSourceChanged, clip(tag), xet)
	case weak || tag == "":
		return earlier, nil // says nothing about bytes
	case earlier != "" && tag != earlier:
		return "", fmt.Errorf("%w: its ETag is %q, it was %q", ErrSourceChanged, clip(tag), earlier)
	}
	return tag, nil
}

// refuseWebPage recognises the page that a login portal or a proxy puts in place of a file.
func refuseWebPage(h http.Header) error {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && kind == "text/html" {
		return fmt.Errorf("%w: a web page instead of the file (a login portal, a proxy?)", ErrProtocol)
	}
	return nil
}

// parseRetryAfter reads seconds or one of the three date forms.
func parseRetryAfter(value string, now time.Time) (time.Duration, error) {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(2*maxRetryAfter/time.Second))) * time.Second, nil
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, fmt.Errorf("%w: Retry-After is %q", ErrProtocol, clip(value))
	}
	return max(0, at.Sub(now)), nil
}

func isCommit(s string) bool {
	if len(s) != 40 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// clip keeps a server's words in an error short and on one line.
func clip(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
