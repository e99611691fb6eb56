package gturbo

// LayerID names one transformer layer, 0 to L-1.
type LayerID int

// ExpertID names one routed expert within its layer, 0 to E-1 (the logical id, not the physical rank in the file).
type ExpertID int
