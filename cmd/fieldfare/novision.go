//go:build novision

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/server"
)

// This build has no images: text needs nothing of what it leaves out.

type imageFlags struct{}

func (*imageFlags) add(*cobra.Command)                    {}
func (*imageFlags) addFiles(*cobra.Command, *[]string)    {}
func (*imageFlags) extensions() ([]core.Extension, error) { return nil, nil }
func (*imageFlags) check(string) error                    { return nil }
func (*imageFlags) failed(err error) (string, error)      { return "", err }
func (*imageFlags) showPictures(sink)                     {}
func (*imageFlags) wantEveryBudget()                      {}
func (*imageFlags) addServe(*cobra.Command)               {}
func (*imageFlags) serve(*server.Options) error           { return nil }

func (*talk) show(context.Context, string) error { return errNoImages }
func (*app) readPictures(args []string, _ *imageFlags) ([]core.Media, error) {
	if len(args) > 0 {
		return nil, errNoImages
	}
	return nil, nil
}
func (*benchRun) pictures(context.Context) error { return nil }

func (*app) addImageCommand(*cobra.Command) {}

func (*imageFlags) judge(media []core.Media) error {
	if len(media) > 0 {
		return errNoImages
	}
	return nil
}

func readPictureFile(string) ([]byte, error) { return nil, errNoImages }

func pictureHint(error) string { return "" }

func unpackDemoPack(context.Context, string) error { return nil }

func demoPicture() []core.Media { return nil }

func demoExtensions() ([]core.Extension, error) { return nil, nil }

var errNoImages = misuse("this fieldfare was built without images")
