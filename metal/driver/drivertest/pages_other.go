//go:build !unix

package drivertest

func pages(b *bench, n int) []byte {
	b.Skip("no device of any kind on this system")
	return nil
}
