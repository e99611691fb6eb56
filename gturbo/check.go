package gturbo

// CheckTensors holds the tensors that a writer has planned to what Open will demand of them, before any byte is
// written. index and layout must have passed their own checks.
func CheckTensors(arch *Arch, quant *Quant, index *Index, layout *Layout) error {
	if err := quant.checkRunnable(); err != nil {
		return err
	}
	s := schema{arch: arch, quant: quant, entries: indexEntries(index)}
	if err := s.check(); err != nil {
		return err
	}
	_, err := expertLayout(layout, arch, quant)
	return err
}
