package install

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const goodHeader = `{"__metadata__":{"format":"mlx"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},` +
	`"a":{"dtype":"U32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[16,16]}}   `

func TestHeaderIsRead(t *testing.T) {
	tensors, err := ParseHeader("s", []byte(goodHeader), headerLengthBytes+int64(len(goodHeader))+16)
	if err != nil {
		t.Fatal(err)
	}
	base := headerLengthBytes + int64(len(goodHeader))
	want := fmt.Sprint([]Tensor{
		{"a", "s", U32, []int64{}, base, 4}, {"b", "s", BF16, []int64{2, 3}, base + 4, 12}, {"e", "s", F32, []int64{0, 7}, base + 16, 0},
	})
	if got := fmt.Sprint(tensors); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHeaderRejections(t *testing.T) {
	tensor := func(dtype, shape, offsets string) string {
		return `{"t":{"dtype":` + dtype + `,"shape":` + shape + `,"data_offsets":` + offsets + `}}`
	}
	for name, text := range map[string]string{
		"no object":                    `[]`,
		"nothing":                      ``,
		"text after the object":        `{} {}`,
		"a tensor named twice":         `{"t":{"dtype":"U32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"U32","shape":[1],"data_offsets":[0,4]}}`,
		"a key twice":                  `{"t":{"dtype":"U32","dtype":"U32","shape":[1],"data_offsets":[0,4]}}`,
		"no dtype":                     `{"t":{"shape":[1],"data_offsets":[0,4]}}`,
		"no shape":                     `{"t":{"dtype":"U32","data_offsets":[0,4]}}`,
		"no offsets":                   `{"t":{"dtype":"U32","shape":[1]}}`,
		"an unknown type":              tensor(`"I8"`, `[4]`, `[0,4]`),
		"a type of null":               tensor(`null`, `[4]`, `[0,4]`),
		"one offset":                   tensor(`"U32"`, `[1]`, `[0]`),
		"three offsets":                tensor(`"U32"`, `[1]`, `[0,4,8]`),
		"begin after end":              tensor(`"U32"`, `[1]`, `[8,4]`),
		"a negative begin":             tensor(`"U32"`, `[1]`, `[-4,0]`),
		"an end beyond the file":       tensor(`"U32"`, `[1025]`, `[0,4100]`),
		"a size that is not the shape": tensor(`"U32"`, `[2]`, `[0,4]`),
		"a negative dimension":         tensor(`"U32"`, `[-1]`, `[0,4]`),
		"a product that overflows":     tensor(`"U32"`, `[4611686018427387904,4]`, `[0,0]`),
		"an overflow hidden by a zero": tensor(`"U32"`, `[4611686018427387904,4,0]`, `[0,0]`),
		"a null dimension":             tensor(`"U32"`, `[null]`, `[0,0]`),
		"a fractional offset":          tensor(`"U32"`, `[1]`, `[0,4.5]`),
		"a huge number":                tensor(`"U32"`, `[1]`, `[0,99999999999999999999]`),
	} {
		if _, err := ParseHeader("s", []byte(text), headerLengthBytes+int64(len(text))+4096); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeaderLength(t *testing.T) {
	for _, c := range []struct {
		name   string
		prefix []byte
		size   int64
		ok     bool
	}{
		{"empty", []byte{0, 0, 0, 0, 0, 0, 0, 0}, 8, true},
		{"the rest of the file", []byte{2, 0, 0, 0, 0, 0, 0, 0}, 10, true},
		{"one more than the file", []byte{3, 0, 0, 0, 0, 0, 0, 0}, 10, false},
		{"the cap", []byte{0, 0, 0, 1, 0, 0, 0, 0}, 1 << 30, true},
		{"one more than the cap", []byte{1, 0, 0, 1, 0, 0, 0, 0}, 1 << 30, false},
		{"more than 63 bits", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 1 << 30, false},
		{"seven bytes", []byte{0, 0, 0, 0, 0, 0, 0}, 1 << 30, false},
	} {
		if _, err := headerLength(c.prefix, c.size); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestIndexNamesShardsInTensorOrder(t *testing.T) {
	shards, err := ParseIndex([]byte(`{"metadata":{"x":1},"weight_map":{"c":"s1","a":"s2","b":"s1","d":"s3"}}`))
	if err != nil || !slices.Equal(shards, []string{"s2", "s1", "s3"}) {
		t.Errorf("got %v, %v", shards, err)
	}
}

func TestIndexRejections(t *testing.T) {
	for name, text := range map[string]string{
		"no object":              `[]`,
		"no weight_map":          `{"metadata":{}}`,
		"an empty weight_map":    `{"weight_map":{}}`,
		"a weight_map of null":   `{"weight_map":null}`,
		"two weight_maps":        `{"weight_map":{"a":"s"},"weight_map":{"a":"s"}}`,
		"a tensor twice":         `{"weight_map":{"a":"s","a":"s"}}`,
		"a shard of null":        `{"weight_map":{"a":null}}`,
		"a shard that is a path": `{"weight_map":{"a":"x/s"}}`,
		"a shard that climbs":    `{"weight_map":{"a":".."}}`,
		"a hidden shard":         `{"weight_map":{"a":".s"}}`,
		"a shard with a query":   `{"weight_map":{"a":"s?x"}}`,
		"a shard with a break":   `{"weight_map":{"a":"s\n"}}`,
		"a shard beyond ASCII":   `{"weight_map":{"a":"é"}}`,
		"an empty shard":         `{"weight_map":{"a":""}}`,
		"a drive":                `{"weight_map":{"a":"c:s"}}`,
		"text after it":          `{"weight_map":{"a":"s"}}x`,
	} {
		if _, err := ParseIndex([]byte(text)); !errors.Is(err, ErrIndex) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseIndex(make([]byte, indexCap+1)); !errors.Is(err, ErrIndex) {
		t.Errorf("beyond the cap: %v", err)
	}
}

// goodCheckpoint is a checkpoint file with two ranges.
func goodCheckpoint() *checkpoint {
	return &checkpoint{
		RepoID: "o/m", RequestedRevision: "main", ResolvedCommit: testCommit,
		SourceIndexSHA256: strings.Repeat("a", 64), PlanFingerprint: strings.Repeat("b", 64), TotalSourceBytes: 100,
		Completed: []completedRange{
			{ID: "range-00000001", Digest: strings.Repeat("d", 64), SourceBytes: 60, DestinationBytes: 50},
			{ID: "range-00000000", Digest: strings.Repeat("c", 64), SourceBytes: 40, DestinationBytes: 40},
		},
	}
}

func TestCheckpointIsWrittenCompactAndSorted(t *testing.T) {
	got := string(goodCheckpoint().encode())
	want := `{"completedRanges":[` +
		`{"destinationBytes":40,"destinationDigest":"` + strings.Repeat("c", 64) + `","id":"range-00000000","sourceBytes":40},` +
		`{"destinationBytes":50,"destinationDigest":"` + strings.Repeat("d", 64) + `","id":"range-00000001","sourceBytes":60}],` +
		`"planFingerprint":"` + strings.Repeat("b", 64) + `","repoID":"o/m","requestedRevision":"main",` +
		`"resolvedCommit":"` + testCommit + `","schema":1,"sourceIndexSHA256":"` + strings.Repeat("a", 64) + `",` +
		`"totalSourceBytes":100}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	back, err := parseCheckpoint([]byte(got))
	if err != nil || string(back.encode()) != got {
		t.Errorf("it does not read back: %v", err)
	}
}

func TestCheckpointRejections(t *testing.T) {
	good := string(goodCheckpoint().encode())
	for name, change := range map[string][2]string{
		"another schema":                    {`"schema":1`, `"schema":2`},
		"no schema":                         {`"schema":1,`, ``},
		"an empty repository":               {`"repoID":"o/m"`, `"repoID":""`},
		"a short commit":                    {testCommit, testCommit[1:]},
		"a short hash":                      {strings.Repeat("a", 64), "a"},
		"a short fingerprint":               {strings.Repeat("b", 64), "b"},
		"a total of nothing":                {`"totalSourceBytes":100`, `"totalSourceBytes":0`},
		"a total below the ranges":          {`"totalSourceBytes":100`, `"totalSourceBytes":99`},
		"a range twice":                     {"range-00000001", "range-00000000"},
		"a range without a name":            {"range-00000001", ""},
		"a short digest":                    {strings.Repeat("d", 64), "d"},
		"a range of no bytes":               {`"sourceBytes":60`, `"sourceBytes":0`},
		"a range that writes nothing":       {`"destinationBytes":50`, `"destinationBytes":0`},
		"destination bytes that overflow":   {`"destinationBytes":50`, `"destinationBytes":` + strconv.FormatInt(1<<63-1, 10)},
		"a negative size":                   {`"sourceBytes":60`, `"sourceBytes":-60`},
		"text after it":                     {`}]`, `}]]`},
		"a null in place of a required key": {`"repoID":"o/m"`, `"repoID":null`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := parseCheckpoint([]byte(text)); !errors.Is(err, ErrStateCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseCheckpoint(make([]byte, checkpointCap+1)); !errors.Is(err, ErrStateCorrupt) {
		t.Errorf("beyond the cap: %v", err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte(goodHeader), int64(16))
	f.Add([]byte(`{"t":{"dtype":"U32","shape":[4611686018427387904,4,0],"data_offsets":[0,0]}}`), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, payload int64) {
		if payload < 0 || payload > 1<<40 {
			return
		}
		size := headerLengthBytes + int64(len(raw)) + payload
		tensors, err := ParseHeader("s", raw, size)
		if err != nil {
			if !errors.Is(err, ErrHeader) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		for _, tensor := range tensors {
			n, ok := product(tensor.Shape, tensor.DType.Bytes())
			if !ok || n != tensor.Size || tensor.Offset < headerLengthBytes+int64(len(raw)) || tensor.Size > size-tensor.Offset {
				t.Fatalf("accepted %+v in a file of %d bytes", tensor, size)
			}
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"x":1},"weight_map":{"c":"s1","a":"s2"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		shards, err := ParseIndex(raw)
		if err != nil {
			if !errors.Is(err, ErrIndex) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, s := range shards {
			if !validFileName(s) || seen[s] {
				t.Fatalf("accepted shard %q", s)
			}
			seen[s] = true
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(goodCheckpoint().encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCheckpoint(raw)
		if err != nil {
			if !errors.Is(err, ErrStateCorrupt) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		again, err := parseCheckpoint(c.encode())
		if err != nil || string(again.encode()) != string(c.encode()) {
			t.Fatalf("accepted, but does not survive being written: %v", err)
		}
	})
}

func FuzzChecksums(f *testing.F) {
	f.Add([]byte(`{"files":{"a":{"blockSizes":[16384,7],"crc32c":"0011223344556677"}},"manifestSha256":"m","schema":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, _, err := parseChecksums(raw)
		if err != nil {
			return
		}
		for path, blocks := range files {
			at := int64(0)
			for _, b := range blocks {
				if b.to != at || b.size <= 0 || b.size > blockBytes {
					t.Fatalf("accepted block %+v of %s at %d", b, path, at)
				}
				at += b.size
			}
		}
	})
}

func FuzzResponseHeaders(f *testing.F) {
	f.Add(206, "bytes 0-7/100", "8", `"tag"`, "120", "application/octet-stream", "identity", testCommit, "100", "")
	f.Add(302, "", "0", `W/"tag"`, "Sat, 01 Aug 2026 12:00:30 GMT", "text/html; charset=x", "gzip", "x", "-1", "abc")
	f.Fuzz(func(t *testing.T, status int, contentRange, length, tag, retryAfter, kind, encoding, commit, size, xet string) {
		h := http.Header{}
		for key, value := range map[string]string{
			"Content-Range": contentRange, "ETag": tag, "Retry-After": retryAfter, "Content-Type": kind,
			"Content-Encoding": encoding, "X-Repo-Commit": commit, "X-Linked-Size": size, "X-Xet-Hash": xet,
		} {
			if value != "" {
				h.Set(key, value)
			}
		}
		n, err := strconv.ParseInt(length, 10, 64)
		if err != nil {
			n = -1
		}
		if meta, err := parseMeta(status, h, n); err == nil && (meta.size < 0 || meta.commit != "" && !isCommit(meta.commit)) {
			t.Fatalf("accepted %+v", meta)
		}
		if checkPartial(status, h, n, 0, 7, 100) == nil && (status != 206 || n != 8 || contentRange != "bytes 0-7/100") {
			t.Fatalf("accepted status %d, %q, %d bytes", status, contentRange, n)
		}
		if got, err := checkTag(h, "", "earlier"); err == nil && got != "earlier" {
			t.Fatalf("tag %q took the place of another", got)
		}
		if got, err := checkTag(h, "hash", ""); err == nil && got != "hash" {
			t.Fatalf("tag %q passed for the hash", got)
		}
		refusal := newHTTPError(&http.Response{StatusCode: status, Header: h})
		if strings.ContainsAny(refusal.Error(), "\r\n") {
			t.Fatalf("%q has a line break", refusal)
		}
		if wait, err := (backoff{}).withDefaults().delay(1, refusal); err == nil && (wait < 0 || wait > maxRetryAfter+maxJitter+1e10) {
			t.Fatalf("a wait of %v", wait)
		}
	})
}
