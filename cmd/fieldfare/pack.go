package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldfare/fieldfare/gturbo/install"
	"github.com/fieldfare/fieldfare/visionpack"
)

// packBeside returns the image pack of the model at path, or nothing when there is none.
func packBeside(path string) (string, error) {
	pack, err := visionpack.Path(path)
	if err == nil {
		err = visionpack.Find(pack)
	}
	if errors.Is(err, visionpack.ErrNotFound) || errors.Is(err, visionpack.ErrTextPath) {
		return "", nil
	}
	return pack, err
}

// packFacts describes the image pack beside the model at path, for info.
func packFacts(path string) []fact {
	pack, err := packBeside(path)
	if err == nil && pack == "" {
		return []fact{{"vision", "images", nil, "no image pack"}}
	}
	if err == nil {
		var facts []fact
		if facts, err = openPackFacts(pack, path); err == nil {
			return facts
		}
	}
	return []fact{
		{"vision_path", "image pack", pack, ""},
		{"vision_error", "images", err.Error(), "unusable: " + err.Error()},
	}
}

func openPackFacts(pack, path string) ([]fact, error) {
	text, err := visionpack.ReadText(path)
	if err != nil {
		return nil, err
	}
	p, err := visionpack.Open(context.Background(), pack, text)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	bytes, tower := int64(p.Manifest().Files[visionpack.WeightsFile].Size), p.Tower()
	return []fact{
		{"vision_path", "image pack", p.Path(), ""},
		{"vision", "images", p.Processor().MaxSoftTokens, fmt.Sprintf("up to %d tokens each; %d tower layers, %s",
			p.Processor().MaxSoftTokens, tower.Layers, size(bytes))},
		{"vision_bytes", "image tower", bytes, size(bytes)},
		{"vision_manifest_sha256", "pack manifest", p.ManifestSHA256(), ""},
	}, nil
}

// verifyPack checks the image pack beside the model at path; without one the report is nil.
func verifyPack(ctx context.Context, path string, bar *bar) (*visionpack.Report, error) {
	pack, err := packBeside(path)
	if pack == "" || err != nil {
		return nil, err
	}
	text, err := visionpack.ReadText(path)
	if err != nil {
		return nil, err
	}
	report, err := visionpack.Verify(ctx, pack, text, visionpack.VerifyOptions{
		Progress: func(_ string, done, total int64) { bar.bytes("verifying the image pack", done, total) },
	})
	bar.clear()
	return report, err
}

// repairPack repairs the image pack beside the model at o.Path; without one the report is nil.
func repairPack(ctx context.Context, o install.RepairOptions) (pack string, report *install.RepairReport, err error) {
	text := o.Path
	if pack, err = packBeside(text); pack == "" || err != nil {
		return "", nil, err
	}
	o.Path = pack
	report, err = install.RepairPack(ctx, o, text)
	return pack, report, err
}
