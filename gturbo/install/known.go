package install

// KnownSource is a checkpoint that this program was made for, recognised by the hash of its index.
type KnownSource struct {
	Name        string // for people
	RepoID      string
	Revision    string // the commit, 40 hex digits; empty where there is none
	IndexSHA256 string
}

// Pinned is the checkpoint that an install fetches when nothing else is asked for.
var Pinned = KnownSource{
	Name:        "Gemma 4 26B-A4B IT 4-bit",
	RepoID:      "mlx-community/gemma-4-26b-a4b-it-4bit",
	Revision:    "0d77464eeb233a2da68ebf9d7dc4edaac7db956d",
	IndexSHA256: "bf198c9f5ea6462addca1966e5dd669c407537a876e82cf06db9084c5c850b13",
}

// Sizes of the pinned checkpoint, for people who decide before anything is fetched.
const (
	PinnedDownloadBytes  = 14_620_479_420
	PinnedInstalledBytes = 14_291_921_884
)

// Demo is the small trained model that ships with the program.
var Demo = KnownSource{
	Name:        "fieldfare demo",
	RepoID:      "fieldfare/gemma4-demo",
	IndexSHA256: "8d38db74c0d12c5e4f040de859ea57590953209b0ca89a2c63453fbdaf912473",
}

// KnownSources lists the checkpoints that are installed without being asked twice.
func KnownSources() []KnownSource { return []KnownSource{Pinned, Demo} }

// unknownModelID is the model id of an install from a checkpoint that nobody has vouched for.
const unknownModelID = "unknown/snapshot"

// known returns the entry whose index has this hash.
func known(indexSHA256 string) (KnownSource, bool) {
	for _, k := range KnownSources() {
		if k.IndexSHA256 == indexSHA256 {
			return k, true
		}
	}
	return KnownSource{}, false
}
