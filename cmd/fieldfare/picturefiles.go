//go:build !novision

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/vision"
	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
)

// parseBudget reads a number of soft tokens; auto is 0. what names the flag or argument.
func parseBudget(what, s string) (int, error) {
	if s == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err == nil {
		err = resize.CheckBudget(n)
	}
	if err != nil {
		return 0, misuse("%s takes auto or one of %v, not %q", what, resize.Budgets(), s)
	}
	return n, nil
}

// splitBudget takes a picture argument apart: a path, and the budget after an @, as in scene.png@560. A file that has
// such a name is that file.
func splitBudget(arg string) (path string, budget int, err error) {
	at := strings.LastIndexByte(arg, '@')
	if at <= 0 {
		return arg, 0, nil
	}
	if _, err := os.Lstat(arg); err == nil {
		return arg, 0, nil
	}
	if _, err := strconv.Atoi(arg[at+1:]); err != nil && arg[at+1:] != "auto" {
		return arg, 0, nil
	}
	budget, err = parseBudget(arg, arg[at+1:])
	return arg[:at], budget, err
}

// readPicture reads the picture that an argument names; "-" is standard input.
func (a *app) readPicture(arg string) (core.Media, error) {
	path, budget, err := splitBudget(arg)
	m := core.Media{Name: path, Budget: budget}
	if err != nil {
		return m, err
	}
	if path == "-" {
		m.Name = "standard input"
		m.Data, err = picture.Read(a.stdin, picture.Limits{})
	} else {
		m.Data, err = picture.ReadFile(path, picture.Limits{})
	}
	var system *fs.PathError // names the file itself
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = withHint(err, "check the path of the picture")
	case err != nil && !errors.As(err, &system):
		err = fmt.Errorf("%s: %w", m.Name, err)
	}
	return m, err
}

// readPictures reads pictures and has their headers judged, so that a bad one is refused before the model is loaded.
func (a *app) readPictures(args []string, f *imageFlags) ([]core.Media, error) {
	var media []core.Media
	var problems []error
	for _, arg := range args {
		m, err := a.readPicture(arg)
		if err == nil {
			media = append(media, m)
		}
		problems = append(problems, err)
	}
	problems = append(problems, f.judge(media))
	return media, errors.Join(problems...)
}

// judge refuses pictures by their headers, and remembers what those need that pass.
func (f *imageFlags) judge(media []core.Media) error {
	opts, err := f.prepare.options()
	if err != nil {
		return err
	}
	var problems []error
	for _, m := range media {
		budget := m.Budget
		if budget == 0 {
			budget = resize.Budgets()[0] // none is refused by one budget and admitted by another
		}
		if _, err = vision.Admit(m.Data, budget, opts); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.Name, err))
		}
		f.largest = max(f.largest, m.Budget)
	}
	f.wanted += len(media)
	return errors.Join(problems...)
}

// readPictureFile reads a picture that a file of messages names.
func readPictureFile(path string) ([]byte, error) { return picture.ReadFile(path, picture.Limits{}) }

// show has the picture that an argument names go with the next thing that the user says.
func (t *talk) show(ctx context.Context, arg string) error {
	m, err := t.app.readPicture(arg)
	if err != nil {
		return err
	}
	for _, x := range t.rt.Extensions() {
		if x.Err != nil {
			return x.Err
		}
	}
	admitted, err := t.images.extension.Admit(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	t.pending = append(t.pending, m)
	fmt.Fprintf(t.app.stderr, "%s: %s\n", m.Name, describeReceipt(admitted.Report.(vision.Receipt)))
	return nil
}

// pictureHint says what to do about a refused picture, in this program's own flags where it has some.
func pictureHint(err error) string {
	switch {
	case errors.Is(err, picture.ErrAnimated), errors.Is(err, picture.ErrFrame):
		return "--frame N takes one frame, counted from 1"
	case errors.Is(err, picture.ErrTIFF):
		return "--tiff admits TIFF files"
	case errors.Is(err, vision.ErrBudgetSize):
		return "start with a larger --image-tokens; scene.png@70 still makes one picture small"
	case errors.Is(err, vision.ErrNonFinite):
		return `the image pack may be damaged: "fieldfare verify NAME.gturbo" tells`
	}
	return picture.Hint(err)
}

// pictureEncoded is the account of one picture, for people and for programs.
type pictureEncoded struct {
	Name string `json:"name"`
	vision.Receipt
	TowerSeconds float64 `json:"tower_seconds"`
}

func (p pictureEncoded) String() string {
	return fmt.Sprintf("%s: %s; decoded in %.2f s, seen in %.2f s",
		p.Name, describeReceipt(p.Receipt), p.Seconds, p.TowerSeconds)
}

// describeReceipt says what a picture is and what became of it.
func describeReceipt(r vision.Receipt) string {
	s := fmt.Sprintf("%s, %d×%d", r.Format, r.Width, r.Height)
	if r.Orientation > 1 {
		s += fmt.Sprintf(", orientation %d", r.Orientation)
	}
	change := fmt.Sprintf("shrunk %.1f times", r.Shrink)
	switch {
	case r.Shrink < 0.995:
		change = fmt.Sprintf("enlarged %.1f times", 1/r.Shrink)
	case r.Shrink < 1.005:
		change = "as large"
	}
	s += fmt.Sprintf("; prepared as %d×%d (%s): %d tokens", r.ProcessedWidth, r.ProcessedHeight, change, r.SoftTokens)
	if r.Alpha != "none" {
		s += "; transparency: " + r.Alpha
	}
	for _, note := range r.Notes {
		s += "; " + note
	}
	return s
}

// showPictures has pictures reported to s as they are encoded.
func (f *imageFlags) showPictures(s sink) {
	f.encoded = func(e vision.Encoded) { s.picture(pictureEncoded{e.Name, e.Receipt, e.Tower.Seconds()}) }
}
