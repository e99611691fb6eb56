//go:build !novision

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/server"
	"github.com/fieldfare/fieldfare/server/openai"
	"github.com/fieldfare/fieldfare/vision"
	"github.com/fieldfare/fieldfare/vision/picture"
	"github.com/fieldfare/fieldfare/vision/resize"
	"github.com/fieldfare/fieldfare/visionpack"
)

// addServe adds the flag that only a server has: its clients ask for detail, not for tokens.
func (f *imageFlags) addServe(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.high, "image-tokens-high", "auto",
		"most tokens of a picture whose client asks for high detail; more need more memory (auto: as --image-tokens)")
}

// serve tells a server what pictures cost and what their errors mean.
func (f *imageFlags) serve(o *server.Options) error {
	high, err := parseBudget("--image-tokens-high", f.high)
	if err != nil {
		return err
	}
	f.largest = max(f.largest, high)
	o.ImageBudgets.High = high
	o.Vision, o.ImageError = visionState, imageError
	return nil
}

// visionState sorts the errors of the extension's start.
func visionState(err error) server.VisionState {
	switch {
	case err == nil:
		return server.VisionReady
	case errors.Is(err, visionpack.ErrNotFound), errors.Is(err, visionpack.ErrTextPath):
		return server.VisionMissing
	case errors.Is(err, vision.ErrBackend), errors.Is(err, visionpack.ErrTower):
		return server.VisionUnsupported
	}
	return server.VisionInvalid
}

// imageCodes gives the API's code for what can be wrong with a picture.
var imageCodes = []struct {
	code string
	errs []error
}{
	{openai.CodeImageTooLarge, []error{
		picture.ErrEncodedBytes, picture.ErrPixels, picture.ErrSide, picture.ErrDecodedBytes,
	}},
	{openai.CodeUnsupportedImage, []error{
		picture.ErrFormat, picture.ErrHEIF, picture.ErrAVIF, picture.ErrTIFF, picture.ErrUnsupported,
		picture.ErrAnimated, picture.ErrFrame,
	}},
	{openai.CodeInvalidImage, []error{
		picture.ErrDamaged, picture.ErrTruncated, picture.ErrZeroSize, picture.ErrDecoder, resize.ErrSize,
	}},
	{openai.CodeInvalidValue, []error{vision.ErrBudgetSize, resize.ErrBudget}},
}

func imageError(err error) (code, hint string) {
	for _, c := range imageCodes {
		for _, of := range c.errs {
			if errors.Is(err, of) {
				return c.code, picture.Hint(err)
			}
		}
	}
	return "", ""
}
