package install

import "github.com/fieldfare/fieldfare/gturbo"

// Artifact is what one install produces: the outputs of a plan, small files, and the documents that seal them. The
// text model and the image pack are two artifacts of one engine.
type Artifact struct {
	Plan *Plan
	Dirs []string // below the install, parents first
	Side []SideFile
	// Documents are files whose bytes the plan already determines. They are made late, because one of them is larger
	// than everything else that an install holds in memory.
	Documents []Document
	// Seal makes the closing documents from the hash of every other file. The manifest is written before the receipt.
	Seal func(files map[string]gturbo.FileRecord) (manifest, receipt []byte, err error)
}

// SideFile is a small file that is copied from the source as it is.
type SideFile struct {
	Name     string // in the source
	Path     string // below the install
	Cap      int64  // largest accepted size in bytes, inclusive
	Optional bool   // the source may lack it
}

// Document is a small file that is written whole.
type Document struct {
	Path   string
	Encode func() ([]byte, error)
}

// owns reports whether path, relative with slashes, is a file or directory that the finished artifact has.
func (a *Artifact) owns(path string) bool {
	if path == manifestName || path == receiptName {
		return true
	}
	for i := range a.Documents {
		if a.Documents[i].Path == path {
			return true
		}
	}
	for _, dir := range a.Dirs {
		if dir == path {
			return true
		}
	}
	for i := range a.Side {
		if a.Side[i].Path == path {
			return true
		}
	}
	for i := range a.Plan.Files {
		if a.Plan.Files[i].Path == path {
			return true
		}
	}
	return false
}
