package residency

import "errors"

var (
	// ErrRead: an expert's bytes could not be read in full. The message names layer, expert, offset and byte counts;
	// the cause (syscall.EIO, io.ErrUnexpectedEOF) is wrapped as well.
	ErrRead = errors.New("cannot read expert")
	// ErrOpen: a layer's file could not be opened, or its slots not allocated.
	ErrOpen = errors.New("cannot open layer")
	// ErrUncached: the file system cannot read past the page cache.
	ErrUncached = errors.New("uncached reads are not supported here")
	// ErrNoSlot: the caller holds every slot of the layer and asks for one more expert.
	ErrNoSlot = errors.New("no slot is free")
	// ErrClosed: the streamer has been closed.
	ErrClosed = errors.New("streamer is closed")
	// ErrBudget: no plan fits the memory. The message has the floor and what it is made of.
	ErrBudget = errors.New("too little memory")
	// ErrOptions: an options field is out of its bounds.
	ErrOptions = errors.New("bad option")
)
