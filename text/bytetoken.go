package text

import "fmt"

// byteTokenText is how the file spells the token of one byte.
func byteTokenText(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

func isByteToken(text []byte) bool {
	_, ok := byteValue(text)
	return ok
}

// byteValue returns the byte that a token's text stands for, if it is spelled like one.
func byteValue(text []byte) (b byte, ok bool) {
	if len(text) != 6 || string(text[:3]) != "<0x" || text[5] != '>' {
		return 0, false
	}
	hi, lo := hexDigit(text[3]), hexDigit(text[4])
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0
}

// hexDigit returns the value of a hexadecimal digit, -1 for anything else.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
