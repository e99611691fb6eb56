package mtl

import (
	"fmt"

	"github.com/fieldfare/fieldfare/metal/driver"
)

const commandBufferDomain = "MTLCommandBufferErrorDomain"

// kind sorts the error of a command buffer.
// https://developer.apple.com/documentation/metal/mtlcommandbuffererror
func (e nsError) kind() error {
	if e.domain != commandBufferDomain {
		return driver.ErrExecution
	}
	switch e.code {
	case commandBufferErrorTimeout:
		return driver.ErrTimeout
	case commandBufferErrorPageFault:
		return driver.ErrPageFault
	case commandBufferErrorOutOfMemory:
		return driver.ErrOutOfMemory
	case commandBufferErrorAccessRevoked, commandBufferErrorNotPermitted, commandBufferErrorDeviceRemoved:
		return driver.ErrDeviceLost
	}
	return driver.ErrExecution
}

func (e nsError) String() string { return fmt.Sprintf("%s (%s %d)", e.text, e.domain, e.code) }
