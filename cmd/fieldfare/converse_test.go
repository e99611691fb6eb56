//go:build !novision

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/vision/picture"
)

// Pictures that a person shows in a conversation go with what they say next, and stay for later turns.
func TestPicturesWaitForWhatIsSaidNext(t *testing.T) {
	model := filepath.Join(t.TempDir(), "demo.gturbo")
	if err := install.Materialise(t.Context(), testdata.Demo(), model); err != nil {
		t.Fatal(err)
	}
	if err := unpackDemoPack(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	var f modelFlags
	cmd := &cobra.Command{}
	f.add(cmd)
	f.images.add(cmd)
	f.model, f.quiet = model, true
	rt, err := a.load(t.Context(), &f)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	session, err := rt.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	conversation := &talk{app: a, rt: rt, session: session, sink: a.newSink(false, true), images: &f.images}
	say := func(s string) string {
		t.Helper()
		stdout.Reset()
		conversation.say(s)
		if err := conversation.ask(context.Background()); err != nil {
			t.Fatal(err)
		}
		return stdout.String()
	}
	show := func(name string) error { return conversation.show(t.Context(), "../../testdata/"+name) }

	if err := show("images/avif.avif"); !errors.Is(err, picture.ErrAVIF) {
		t.Errorf("a picture that cannot be decoded: %v", err)
	}
	if err := show("images/none.png"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no picture: %v", err)
	}
	if err := show("images/scene.png@140"); err == nil || !strings.Contains(hintFor(err), "--image-tokens") {
		t.Errorf("more tokens than the model was loaded for: %v", err)
	}
	if len(conversation.pending) > 0 {
		t.Error("a refused picture waits")
	}
	if err := show("images/scene.png"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(), "scene.png: PNG, 251×167; prepared as 480×288") {
		t.Errorf("of the picture is said %q", &stderr)
	}
	if got := say("What shape is on the left?"); got != "A small white star.\n" {
		t.Errorf("answered %q", got)
	}
	if got := say("How many shapes are there in total?"); !strings.Contains(got, "3 shapes") {
		t.Errorf("answered %q", got)
	}
	if len(conversation.media) != 1 || len(conversation.pending) != 0 {
		t.Errorf("%d pictures in the conversation, %d wait", len(conversation.media), len(conversation.pending))
	}

	before := len(conversation.conv.Messages)
	if err := show("goldens/image-multiturn.png"); err != nil {
		t.Fatal(err)
	}
	conversation.say(strings.Repeat("too much ", 2000))
	if err := conversation.ask(t.Context()); !errors.Is(err, core.ErrContextLength) {
		t.Errorf("a message that does not fit: %v", err)
	}
	conversation.unsay(1)
	if len(conversation.media) != 1 || len(conversation.conv.Messages) != before {
		t.Errorf("%d pictures and %d messages are left", len(conversation.media), len(conversation.conv.Messages))
	}
}
