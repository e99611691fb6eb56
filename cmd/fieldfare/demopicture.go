//go:build !novision

package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"github.com/fieldfare/fieldfare/core"
	"github.com/fieldfare/fieldfare/vision"
)

// demoPicture draws a scene of the kind that the demo model knows: a square on the left, a disc on the right.
func demoPicture() []core.Media {
	const w, h = 252, 168
	scene := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(scene, scene.Bounds(), image.NewUniform(color.RGBA{48, 32, 72, 255}), image.Point{}, draw.Src)
	draw.Draw(scene, image.Rect(30, 60, 78, 108), image.NewUniform(color.White), image.Point{}, draw.Src)
	for y := range h {
		for x := range w {
			if dx, dy := x-190, y-90; dx*dx+dy*dy < 30*30 {
				scene.Set(x, y, color.RGBA{40, 160, 70, 255})
			}
		}
	}
	var data bytes.Buffer
	if err := png.Encode(&data, scene); err != nil {
		panic("BUG: the demo picture cannot be encoded: " + err.Error())
	}
	return []core.Media{{Name: "scene.png", Data: data.Bytes()}}
}

func demoExtensions() ([]core.Extension, error) {
	x, err := vision.New(vision.Options{})
	return []core.Extension{x}, err
}
