package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fieldfare/fieldfare/core"
)

// Options configure a Server. The zero value serves on loopback without a page.
type Options struct {
	// Address is host:port, the host a literal address or localhost. Port 0 chooses one. Default: 127.0.0.1:8080.
	Address string
	// APIKey, unless empty, must come with every request as a bearer token. Needed for addresses beyond loopback.
	APIKey string
	// AllowedHosts are further names that the Host header may hold. Addresses and localhost need not be listed.
	AllowedHosts []string
	// AllowedOrigins are web origins, scheme://host[:port], whose pages may call the server. Its own needs no entry.
	AllowedOrigins []string

	// Names are what requests may call the model; the first is its id. Default: the install's folder name.
	Names []string
	// Sampling holds where a request says nothing.
	Sampling core.Sampling
	// Vision says what became of image input, by the error of the image extension, nil if it works. Unset, every
	// error counts as invalid.
	Vision func(err error) VisionState
	// ImageError gives the code for an error that a picture caused and a hint for the user; an empty code means that
	// the error is of another kind. Unset, no error is known as one.
	ImageError func(err error) (code, hint string)
	// ImageBudgets are the soft tokens that detail low and high ask for; auto is the extension's default. Default: 70,
	// and the extension's default.
	ImageBudgets struct{ Low, High int }

	// QueueLength is how many requests may wait while one is answered, 1 to 1000. Default: 16.
	QueueLength int
	// ConversationBytes bounds the memory of kept conversations; one is always kept. Default: 1 GiB.
	ConversationBytes int64
	// MaxBody is the most bytes of a request, 1 KiB to 1 GiB. Default: 96 MiB. All requests in work together hold at
	// most twice that.
	MaxBody int64
	// MaxImages and MaxImageBytes bound the pictures of a request. Defaults: 64, and 16 MiB each.
	MaxImages, MaxImageBytes int

	// KeepAlive is what a stream sends while there is nothing to say. Default: KeepAliveComment.
	KeepAlive KeepAlive
	// KeepAliveEvery is how long a stream is silent at most. Default: 1 s.
	KeepAliveEvery time.Duration
	// HeaderTimeout, BodyTimeout, WriteTimeout and IdleTimeout bound how long a client may take to send its header,
	// its body, to take a piece of the answer, and between requests. Defaults: 10 s, 60 s, 30 s, 2 min.
	HeaderTimeout, BodyTimeout, WriteTimeout, IdleTimeout time.Duration

	// Page, unless nil, is asked for what no route takes, and reports whether it answered.
	Page func(http.ResponseWriter, *http.Request) bool
	// Log takes one record per request. Default: discarded.
	Log *slog.Logger

	// Now, NewID and NewSeed are for tests that compare bytes. NewID returns what follows a prefix such as
	// "chatcmpl-". Defaults: the clock and random ones.
	Now     func() time.Time
	NewID   func() string
	NewSeed func() uint64
}

// KeepAlive is what a stream sends while it waits.
type KeepAlive string

const (
	KeepAliveComment  KeepAlive = "comment"  // a line that clients skip
	KeepAliveDelta    KeepAlive = "delta"    // a chunk without news
	KeepAliveProgress KeepAlive = "progress" // a chunk with prompt_progress
)

// VisionState says whether images are taken.
type VisionState string

const (
	VisionReady       VisionState = "ready"
	VisionMissing     VisionState = "missing" // no pack
	VisionInvalid     VisionState = "invalid" // a pack that is damaged or belongs to another model
	VisionUnsupported VisionState = "unsupported"
)

// Validate reports every problem; the error wraps ErrOptions.
func (o *Options) Validate() error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
	}
	if o.Address != "" {
		if host, _, err := net.SplitHostPort(o.Address); err != nil {
			bad("address: %v", err)
		} else if host != "localhost" && net.ParseIP(host) == nil {
			bad("address %q: expected an IP address or localhost", host)
		} else if !loopback(host) && o.APIKey == "" {
			problems = append(problems, fmt.Errorf("%w: %s", ErrExposed, o.Address))
		}
	}
	if o.APIKey != strings.TrimSpace(o.APIKey) {
		bad("the API key has blanks around it")
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			bad("origin %q: expected scheme://host or scheme://host:port", origin)
		}
	}
	within := func(name string, n, lo, hi int64) {
		if n != 0 && (n < lo || n > hi) {
			bad("%s %d is outside [%d, %d]", name, n, lo, hi)
		}
	}
	within("queue length", int64(o.QueueLength), 1, 1000)
	within("conversation memory", o.ConversationBytes, 1, 1<<46)
	within("request size", o.MaxBody, 1<<10, 1<<30)
	within("number of images", int64(o.MaxImages), 1, 1000)
	within("image size", int64(o.MaxImageBytes), 1, 1<<30)
	switch o.KeepAlive {
	case "", KeepAliveComment, KeepAliveDelta, KeepAliveProgress:
	default:
		bad("keep-alive %q is none of comment, delta, progress", o.KeepAlive)
	}
	for _, d := range []time.Duration{o.KeepAliveEvery, o.HeaderTimeout, o.BodyTimeout, o.WriteTimeout, o.IdleTimeout} {
		if d < 0 {
			bad("a time of %v", d)
		}
	}
	return errors.Join(problems...)
}

// loopback reports whether host, an address or localhost, can only be reached from this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o Options) withDefaults() Options {
	set(&o.Address, "127.0.0.1:8080")
	set(&o.ImageBudgets.Low, 70)
	set(&o.QueueLength, 16)
	set(&o.ConversationBytes, 1<<30)
	set(&o.MaxBody, 96<<20)
	set(&o.MaxImages, 64)
	set(&o.MaxImageBytes, 16<<20)
	set(&o.KeepAlive, KeepAliveComment)
	set(&o.KeepAliveEvery, time.Second)
	set(&o.HeaderTimeout, 10*time.Second)
	set(&o.BodyTimeout, time.Minute)
	set(&o.WriteTimeout, 30*time.Second)
	set(&o.IdleTimeout, 2*time.Minute)
	if o.Vision == nil {
		o.Vision = func(err error) VisionState {
			if err != nil {
				return VisionInvalid
			}
			return VisionReady
		}
	}
	if o.ImageError == nil {
		o.ImageError = func(error) (string, string) { return "", "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.NewSeed == nil {
		o.NewSeed = func() uint64 { return rand.Uint64() >> 11 } // JavaScript keeps it exactly
	}
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func newID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 24)
	for i := range id {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}
