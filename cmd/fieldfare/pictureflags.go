//go:build !novision

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/testdata"
	"github.com/fieldfare/fieldfare/vision"
	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/visionpack"
)

// imageFlags say how pictures are taken. Commands that take pictures add them, and only those load the extension; a
// build with the tag novision has an imageFlags without it.
type imageFlags struct {
	added     bool
	pack      string
	residency string
	tokens    string
	high      string // serve only
	prepare   prepareFlags

	wanted    int // pictures that are sure to come: without a usable pack the model is not even loaded
	largest   int // of the budgets that they name
	encoded   func(vision.Encoded)
	extension *vision.Extension
}

func (f *imageFlags) add(cmd *cobra.Command) {
	f.added = true
	flags := cmd.Flags()
	flags.StringVar(&f.pack, "vision-pack", "", "the image pack's directory (default: NAME.vision.gturbo beside the model)")
	flags.StringVar(&f.residency, "residency", vision.OnDemand.String(),
		"on-demand gives expert memory to the image tower and back; keep-ready holds both")
	flags.StringVar(&f.tokens, "image-tokens", "auto",
		"most tokens of a picture: 70, 140, 280, 560, 1120, or what the model was made for")
	f.prepare.add(cmd)
}

// addFiles adds the flag for pictures on the command line.
func (f *imageFlags) addFiles(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "image", nil,
		"a picture, - for standard input; FILE@280 chooses its tokens (repeatable)")
}

// prepareFlags say how pictures are read.
type prepareFlags struct {
	alpha string
	frame int
	tiff  bool
}

func (f *prepareFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.alpha, "alpha", picture.White.String(),
		"transparency: white composites on it, drop ignores it as the reference does")
	flags.IntVar(&f.frame, "frame", 0, "which frame of an animated picture to take, counted from 1")
	flags.BoolVar(&f.tiff, "tiff", false, "admit TIFF files")
}

func (f *prepareFlags) options() (vision.PictureOptions, error) {
	alpha, err := picture.ParseAlpha(f.alpha)
	if err != nil {
		err = &misuseError{fmt.Errorf("--alpha: %w", err)}
	} else if f.frame < 0 {
		err = misuse("--frame counts from 1, got %d", f.frame)
	}
	return vision.PictureOptions{Picture: picture.Options{Alpha: alpha, Frame: f.frame, TIFF: f.tiff}}, err
}

// extensions makes the extension that the flags ask for; nothing is opened yet.
func (f *imageFlags) extensions() ([]core.Extension, error) {
	if !f.added {
		return nil, nil
	}
	residency, err := vision.ParseResidency(f.residency)
	if err != nil {
		err = &misuseError{err}
	}
	budget, tokensErr := parseBudget("--image-tokens", f.tokens)
	prepare, prepareErr := f.prepare.options()
	if err := errors.Join(err, tokensErr, prepareErr); err != nil {
		return nil, err
	}
	f.extension, err = vision.New(vision.Options{
		Pack: f.pack, Budget: budget, MaxBudget: max(budget, f.largest), Residency: residency, Picture: prepare,
		Encoded: f.encoded,
	})
	if err != nil {
		return nil, &misuseError{err}
	}
	return []core.Extension{f.extension}, nil
}

// check refuses pictures before the model at path is loaded, when there is no pack for them.
func (f *imageFlags) check(path string) error {
	pack := f.pack
	if f.wanted == 0 && pack == "" {
		return nil
	}
	if pack == "" {
		var err error
		if pack, err = visionpack.Path(path); err != nil {
			return err
		}
	}
	return visionpack.Find(pack)
}

// failed says what a failed extension means: nothing where no picture was asked for and no pack is there, a notice
// where a pack is there and cannot be used, an error where pictures or this very pack were asked for.
func (f *imageFlags) failed(err error) (notice string, fatal error) {
	switch {
	case f.wanted > 0 || f.pack != "":
		return "", err
	case errors.Is(err, visionpack.ErrNotFound), errors.Is(err, visionpack.ErrTextPath):
		return "", nil
	}
	return fmt.Sprintf("pictures are not possible: %v", err), nil
}

// unpackDemoPack writes the demo model's image pack beside the demo model.
func unpackDemoPack(ctx context.Context, demo string) error {
	pack, err := visionpack.Path(demo)
	if err != nil {
		return err
	}
	return install.MaterialisePack(ctx, testdata.DemoVision(), pack)
}
