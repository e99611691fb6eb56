package mtl

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/fieldfare/fieldfare/metal/driver"
)

var errNotDarwin = fmt.Errorf("%w: metal is part of macOS", driver.ErrUnavailable)

// The C functions of the runtime and the framework.
var c struct {
	msgSend, msgSendStruct uintptr
	alloc, retain, release uintptr
	push, pop              uintptr
	createDevice           uintptr
	registerName, getClass func(string) uintptr
	sendForFloat           func(id, sel uintptr) float64
	sendForSize            func(id, sel uintptr) size
}

// size mirrors MTLSize.
type size struct{ width, height, depth uintptr }

var loading struct {
	sync.Mutex
	done bool
	path string
}

// load opens the framework and registers selectors and classes, once per process.
func load(path string) error {
	loading.Lock()
	defer loading.Unlock()
	if loading.done {
		if path != loading.path {
			return fmt.Errorf("metal framework %q is loaded: a process has one, not %q too", loading.path, path)
		}
		return nil
	}
	libraries, err := openLibraries(path)
	if err != nil {
		return err
	}
	if err := bindFunctions(libraries); err != nil {
		return err
	}
	for _, m := range messages {
		m.sel = c.registerName(m.selector[1:])
	}
	for _, k := range classes {
		if k.id = c.getClass(k.name); k.id == 0 {
			return fmt.Errorf("%w: the runtime has no class %s", driver.ErrUnavailable, k.name)
		}
	}
	loading.done, loading.path = true, path
	return nil
}

func bindFunctions(libraries []uintptr) error {
	var missing []string
	find := func(name string) uintptr {
		for _, l := range libraries {
			if p, err := symbol(l, name); err == nil && p != 0 {
				return p
			}
		}
		missing = append(missing, name)
		return 0
	}
	c.msgSend = find("objc_msgSend")
	c.msgSendStruct = find(structSender)
	c.alloc, c.retain, c.release = find("objc_alloc"), find("objc_retain"), find("objc_release")
	c.push, c.pop = find("objc_autoreleasePoolPush"), find("objc_autoreleasePoolPop")
	c.createDevice = find("MTLCreateSystemDefaultDevice")
	registerName, getClass := find("sel_registerName"), find("objc_getClass")
	if len(missing) > 0 {
		return fmt.Errorf("%w: missing functions: %s", driver.ErrUnavailable, strings.Join(missing, ", "))
	}
	purego.RegisterFunc(&c.registerName, registerName)
	purego.RegisterFunc(&c.getClass, getClass)
	purego.RegisterFunc(&c.sendForFloat, c.msgSend)
	purego.RegisterFunc(&c.sendForSize, c.msgSendStruct)
	return nil
}

// Options says which framework to load.
type Options struct {
	// Framework is a shared library that plays the Objective-C runtime, Foundation and Metal; default: the system's.
	Framework string
}

// Open gives the system's default device, or an error that wraps driver.ErrUnavailable.
func Open(o Options) (*Device, error) {
	if err := load(o.Framework); err != nil {
		if errors.Is(err, driver.ErrUnavailable) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %v", driver.ErrUnavailable, err)
	}
	p := push()
	defer p.drain()
	id := call(c.createDevice, 0)
	if id == 0 {
		return nil, fmt.Errorf("%w: the system has no default metal device", driver.ErrUnavailable)
	}
	return newDevice(id), nil
}
