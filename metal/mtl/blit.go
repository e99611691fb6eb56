package mtl

import "github.com/fieldfare/fieldfare/metal/driver"

// BlitEncoder is an id<MTLBlitCommandEncoder>, held by its pool as Encoder is.
// https://developer.apple.com/documentation/metal/mtlblitcommandencoder
type BlitEncoder struct {
	id   uintptr
	pool pool
}

// Blit opens an encoder for copies and fills.
// https://developer.apple.com/documentation/metal/mtlcommandbuffer/makeblitcommandencoder()
func (b *CommandBuffer) Blit() driver.BlitEncoder {
	e := &b.blit
	e.pool = push()
	e.id = send(b.id, msgBlitEncoder)
	return e
}

// Copy copies bytes between buffers.
// https://developer.apple.com/documentation/metal/mtlblitcommandencoder/copy(from:sourceoffset:to:destinationoffset:size:)
func (e *BlitEncoder) Copy(dst driver.Buffer, dstOffset int, src driver.Buffer, srcOffset, n int) {
	send(e.id, msgCopyBuffer, src.(*Buffer).id, uintptr(srcOffset), dst.(*Buffer).id, uintptr(dstOffset), uintptr(n))
}

// Fill sets bytes of a buffer.
// https://developer.apple.com/documentation/metal/mtlblitcommandencoder/fill(buffer:range:value:)
func (e *BlitEncoder) Fill(dst driver.Buffer, offset, n int, value byte) {
	send(e.id, msgFillBuffer, dst.(*Buffer).id, uintptr(offset), uintptr(n), uintptr(value))
}

// End closes the encoder.
func (e *BlitEncoder) End() {
	send(e.id, msgEndEncoding)
	e.id = 0
	e.pool.drain()
}
