package gturbo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

func decodeReceipt(data []byte) error {
	_, err := DecodeReceipt(data)
	return err
}

func newReceipt(t testing.TB) (*Manifest, []byte, *Receipt) {
	data := fixture(t, "manifest.json")
	m, err := DecodeManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	return m, data, NewReceipt(m, data, "/models/a.gturbo", "test", time.Date(2026, 8, 22, 12, 30, 5, 999, time.UTC))
}

func TestReceiptKeysAreRequired(t *testing.T) {
	_, _, c := newReceipt(t)
	c.SourceRepoID, c.SourceRevision = "a/b", "c"
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	record := []string{"files/model_weights.bin/size", "files/model_weights.bin/sha256"}
	required := append(record, receiptKeys.Required...)
	jsonRejections(t, data, required, receiptKeys.Optional, decodeReceipt)
}

func TestReceiptIsWrittenCanonically(t *testing.T) {
	_, manifest, c := newReceipt(t)
	c.SourceRepoID = "a/b"
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "files" : {
    "manifest.json" : {
      "sha256" : "` + SHA256(manifest) + `",
      "size" : 2219
    },
    "model_weights.bin" : {
`
	if !bytes.HasPrefix(data, []byte(want)) {
		t.Errorf("begins with\n%s", data[:len(want)])
	}
	end := `
  "manifestSha256" : "` + SHA256(manifest) + `",
  "modelDirectoryPath" : "/models/a.gturbo",
  "schemaVersion" : 1,
  "sourceRepoID" : "a/b",
  "toolVersion" : "test",
  "verificationTimestamp" : "2026-08-22T12:30:05Z"
}`
	if !bytes.HasSuffix(data, []byte(end)) {
		t.Errorf("ends with\n%s", data[len(data)-len(end):])
	}
	again, err := DecodeReceipt(data)
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := again.Encode(); err != nil || !bytes.Equal(twice, data) {
		t.Errorf("does not round trip: %v", err)
	}
}

func TestReceiptRejections(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	for _, c := range []struct {
		name   string
		change func(*Receipt)
		want   error
		detail string
	}{
		{"schema version 2", func(c *Receipt) { c.SchemaVersion = 2 }, ErrReceiptSchema, ""},
		{"another manifest", func(c *Receipt) { c.ManifestSHA256 = zeros }, ErrReceiptManifest,
			"manifest SHA mismatch"},
		{"another path", func(c *Receipt) { c.ModelDirectoryPath = "/models/alias.gturbo" }, ErrReceiptPath,
			"model directory mismatch"},
		{"a path of another spelling", func(c *Receipt) { c.ModelDirectoryPath += "/" }, ErrReceiptPath, ""},
		{"a file less", func(c *Receipt) { delete(c.Files, "model_weights.bin") }, ErrReceiptFiles,
			"missing [model_weights.bin]"},
		{"no manifest", func(c *Receipt) { delete(c.Files, ManifestFile) }, ErrReceiptFiles, "file set mismatch"},
		{"no files", func(c *Receipt) { c.Files = nil }, ErrReceiptFiles, ""},
		{"a file more", func(c *Receipt) { c.Files["x"] = FileRecord{} }, ErrReceiptFiles, "unexpected [x]"},
		{"another size of the manifest", func(c *Receipt) {
			c.Files[ManifestFile] = FileRecord{Size: 1, SHA256: c.ManifestSHA256}
		}, ErrReceiptRecord, ManifestFile},
		{"another digest of the manifest", func(c *Receipt) {
			c.Files[ManifestFile] = FileRecord{Size: 2219, SHA256: zeros}
		}, ErrReceiptRecord, ManifestFile},
		{"another size of a file", func(c *Receipt) {
			c.Files["model_weights.bin"] = FileRecord{Size: 1, SHA256: zeros}
		}, ErrReceiptRecord, "model_weights.bin"},
		{"another digest of a file", func(c *Receipt) {
			c.Files["model_weights.bin"] = FileRecord{Size: 16416, SHA256: strings.Repeat("1", 64)}
		}, ErrReceiptRecord, "model_weights.bin"},
		{"digests in upper case are the same",
			func(c *Receipt) { c.ManifestSHA256 = strings.ToUpper(c.ManifestSHA256) }, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, data, receipt := newReceipt(t)
			c.change(receipt)
			err := receipt.CheckBinding(SHA256(data), "/models/a.gturbo")
			if err == nil {
				err = receipt.CheckFiles(m, FileRecord{Size: uint64(len(data)), SHA256: SHA256(data)})
			}
			if !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, ErrReceipt) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.detail) {
				t.Fatalf("%q lacks %q", err, c.detail)
			}
		})
	}
}

func TestReceiptFormIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"not JSON":      {"x", strictjson.ErrSyntax},
		"empty":         {"", strictjson.ErrSyntax},
		"duplicate key": {`{"schemaVersion":1,"schemaVersion":1}`, strictjson.ErrDuplicate},
		"too large":     {strings.Repeat(" ", MaxReceiptSize+1), ErrMetadataCap},
	} {
		if err := decodeReceipt([]byte(c.data)); !errors.Is(err, c.want) || !errors.Is(err, ErrReceipt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
