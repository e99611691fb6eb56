package mtl

import "unsafe"

// newString makes an NSString, which the caller owns.
// https://developer.apple.com/documentation/foundation/nsstring
func newString(s string) uintptr {
	text := append([]byte(s), 0)
	return send(call(c.alloc, classString.id), msgInitCString, uintptr(unsafe.Pointer(&text[0])), utf8Encoding)
}

// goString copies the text of an NSString; "" for nil.
func goString(id uintptr) string {
	if id == 0 {
		return ""
	}
	p := pointer(send(id, msgUTF8))
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// pointer turns an address outside the Go heap into a pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// stringDictionary makes an autoreleased NSDictionary of strings.
// https://developer.apple.com/documentation/foundation/nsdictionary
func stringDictionary(m map[string]string) uintptr {
	var keys, values []uintptr
	for k, v := range m {
		keys, values = append(keys, newString(k)), append(values, newString(v))
	}
	d := send(classDictionary.id, msgDictionary, uintptr(unsafe.Pointer(unsafe.SliceData(values))),
		uintptr(unsafe.Pointer(unsafe.SliceData(keys))), uintptr(len(keys)))
	for i := range keys {
		release(keys[i])
		release(values[i])
	}
	return d
}

// nsError is what an NSError says.
type nsError struct {
	domain string
	code   int
	text   string
}

// readError copies an NSError; it is called inside a pool.
func readError(id uintptr) nsError {
	if id == 0 {
		return nsError{text: "no reason given"}
	}
	return nsError{goString(send(id, msgErrorDomain)), int(send(id, msgErrorCode)), goString(send(id, msgErrorDescribe))}
}
