package install

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/fieldfare/fieldfare/gturbo/strictjson"
)

// checksumsCap bounds the checksum file, inclusive. The pinned model's has 0.7 MB.
const checksumsCap = 16 << 20

const checksumsSchema = 1

// encodeChecksums writes what <install>.ranges.json holds: for each output the sizes of its blocks, which tile it
// from byte 0 on, and their CRC-32C values, eight hex digits each. The file lies beside the install and not in it,
// because the image pack's directory must hold four names and no other, and because another program's verifier would
// report it as unexpected. It proves nothing, it only says where to look: the file is bound to one manifest and
// ignored beside any other, and without it damage is named by file.
func encodeChecksums(manifestSHA256 string, p *Plan, m blockMap) []byte {
	type fileChecksums struct {
		Sizes []int64 `json:"blockSizes"`
		CRC   string  `json:"crc32c"`
	}
	files := map[string]fileChecksums{}
	for i := range p.Files {
		var f fileChecksums
		crcs := make([]byte, 0, 4*len(m[i]))
		for _, b := range m[i] {
			f.Sizes = append(f.Sizes, b.size)
			crcs = append(crcs, byte(b.crc>>24), byte(b.crc>>16), byte(b.crc>>8), byte(b.crc))
		}
		f.CRC = hex.EncodeToString(crcs)
		files[p.Files[i].Path] = f
	}
	data, err := json.Marshal(map[string]any{
		"schema":         checksumsSchema,
		"manifestSha256": manifestSHA256,
		"files":          files,
	})
	if err != nil {
		panic("BUG: checksums do not encode: " + err.Error())
	}
	return data
}

var (
	checksumsKeys = strictjson.Keys{Required: []string{"schema", "manifestSha256", "files"}}
	fileSumKeys   = strictjson.Keys{Required: []string{"blockSizes", "crc32c"}}
)

// loadChecksums reads the checksums beside an install by file. None at all, or those of another manifest, give nil: a
// tool that only points may be missing. So does a file that does not parse, because it may be what was damaged.
func loadChecksums(fsys FS, name, manifestSHA256 string) (map[string][]block, error) {
	raw, err := readSmall(fsys, name, checksumsCap)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sums, manifest, err := parseChecksums(raw)
	if err != nil || manifest != manifestSHA256 {
		return nil, nil
	}
	return sums, nil
}

func parseChecksums(raw []byte) (files map[string][]block, manifestSHA256 string, err error) {
	files = map[string][]block{}
	schema := 0
	err = strictjson.Parse(raw, func(r *strictjson.Reader) error {
		return r.Object(checksumsKeys, func(key string) error {
			switch key {
			case "schema":
				return r.Int(&schema)
			case "manifestSha256":
				return r.String(&manifestSHA256)
			default:
				return r.Map(func(path string) (err error) {
					files[path], err = readBlocks(r)
					return err
				})
			}
		})
	})
	if err == nil && schema != checksumsSchema {
		err = fmt.Errorf("schema %d, expected %d", schema, checksumsSchema)
	}
	return files, manifestSHA256, err
}

func readBlocks(r *strictjson.Reader) ([]block, error) {
	var blocks []block
	var digits string
	err := r.Object(fileSumKeys, func(key string) error {
		if key == "crc32c" {
			return r.String(&digits)
		}
		at := int64(0)
		return r.Array(func(int) error {
			b := block{to: at, kept: true}
			if err := r.Int64(&b.size); err != nil {
				return err
			}
			if b.size <= 0 || b.size > blockBytes {
				return fmt.Errorf("block of %d bytes", b.size)
			}
			at += b.size
			blocks = append(blocks, b)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	crcs, err := hex.DecodeString(digits)
	if err != nil || len(crcs) != 4*len(blocks) || len(blocks) == 0 {
		return nil, fmt.Errorf("%d blocks with %d hex digits", len(blocks), len(digits))
	}
	for i := range blocks {
		c := crcs[4*i:]
		blocks[i].crc = uint32(c[0])<<24 | uint32(c[1])<<16 | uint32(c[2])<<8 | uint32(c[3])
	}
	return blocks, nil
}
