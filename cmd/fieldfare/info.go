package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fieldfare/fieldfare/gturbo"
)

func (a *app) infoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info [NAME.gturbo]",
		Short: "Say what an install is, where it comes from and what it needs",
		Long:  "info reads the metadata of an install, without hashing the weights. Without a path: the model that chat would run.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("info takes one path, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := ""
			if len(args) == 1 {
				asked = args[0]
			}
			return a.info(cmd.Context(), asked, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// A fact is one line of info.
type fact struct {
	Key, Label string
	Value      any
	Text       string // for people; Value when empty
}

func (a *app) info(ctx context.Context, asked string, asJSON bool) error {
	path, err := a.locate(ctx, asked, false)
	if err != nil {
		return err
	}
	facts, err := describe(path)
	if err != nil {
		return err
	}
	if asJSON {
		object := map[string]any{}
		for _, f := range facts {
			object[f.Key] = f.Value
		}
		return json.NewEncoder(a.stdout).Encode(object)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range facts {
		text := f.Text
		if text == "" {
			text = fmt.Sprint(f.Value)
		}
		fmt.Fprintf(w, "%s\t%s\n", f.Label, text)
	}
	return w.Flush()
}

// describe reads the metadata of an install.
func describe(path string) ([]fact, error) {
	root, err := gturbo.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(gturbo.ManifestFile, gturbo.MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, gturbo.ErrPartial)
	}
	if err != nil {
		return nil, err
	}
	m, err := gturbo.DecodeManifest(data)
	if err != nil {
		return nil, err
	}
	var experts, all int64
	for name, f := range m.Files {
		all += int64(f.Size)
		if strings.HasPrefix(name, "packed_experts/layer_") {
			experts += int64(f.Size)
		}
	}
	facts := []fact{
		{"path", "path", root.Path(), ""},
		{"model", "model", m.ModelID, ""},
		{"source", "source index", m.SourceSnapshotHash, ""},
		{"manifest_sha256", "manifest", gturbo.SHA256(data), ""},
		{"layers", "layers", m.Arch.NumLayers, ""},
		{"experts", "experts", m.Arch.NumExperts, fmt.Sprintf("%d a layer, %d chosen a token, %s each",
			m.Arch.NumExperts, m.Arch.TopKExperts, size(int64(m.ExpertStride)))},
		{"vocabulary", "vocabulary", m.Arch.VocabSize, ""},
		{"bytes", "on disk", all, size(all)},
		{"resident_bytes", "stays resident", int64(m.Files[gturbo.WeightsFile].Size), size(int64(m.Files[gturbo.WeightsFile].Size))},
		{"expert_bytes", "streamed", experts, size(experts)},
	}
	return append(append(facts, receiptFacts(root)...), packFacts(root.Path())...), nil
}

// receiptFacts says when and how the install was last verified.
func receiptFacts(root *gturbo.Root) []fact {
	data, err := root.ReadFile(gturbo.ReceiptFile, gturbo.MaxReceiptSize)
	if err != nil {
		return []fact{{"verified", "verified", nil, "never (no receipt)"}}
	}
	r, err := gturbo.DecodeReceipt(data)
	if err != nil {
		return []fact{{"verified", "verified", nil, "unknown: " + err.Error()}}
	}
	facts := []fact{{"verified", "verified", r.VerificationTimestamp, r.VerificationTimestamp + " by " + r.ToolVersion}}
	if r.SourceRepoID != "" {
		facts = append(facts, fact{"repository", "repository", r.SourceRepoID, ""})
	}
	if r.SourceRevision != "" {
		facts = append(facts, fact{"revision", "revision", r.SourceRevision, ""})
	}
	return facts
}
