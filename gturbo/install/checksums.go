package install

import (
	"encoding/hex"
	"encoding/json"
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
