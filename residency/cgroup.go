package residency

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The parsers of Linux's files take the root of the file system, so that they are tested anywhere.

// readMeminfo reads /proc/meminfo.
func readMeminfo(root fs.FS) (Memory, error) {
	fields, err := readFields(root, "proc/meminfo")
	if err != nil {
		return Memory{}, err
	}
	total, available := fields["MemTotal:"]<<10, fields["MemAvailable:"]<<10
	if total <= 0 || available <= 0 {
		return Memory{}, errors.New("/proc/meminfo: no MemTotal or no MemAvailable")
	}
	return Memory{Total: total, Available: available}, nil
}

// readFields reads lines of a name and a number.
func readFields(root fs.FS, name string) (map[string]int64, error) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	fields := map[string]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			fields[words[0]] = n
		}
	}
	return fields, nil
}

// A hierarchy names the files of one version of cgroups.
type hierarchy struct {
	mount  string
	limits []string // the lowest counts
	usage  string
	cache  []string // keys of memory.stat: pages of files, which the kernel takes back before it kills
}

var (
	cgroup1 = hierarchy{
		mount: "sys/fs/cgroup/memory", limits: []string{"memory.limit_in_bytes"}, usage: "memory.usage_in_bytes",
		cache: []string{"total_inactive_file", "total_active_file"},
	}
	cgroup2 = hierarchy{
		mount: "sys/fs/cgroup", limits: []string{"memory.max", "memory.high"}, usage: "memory.current",
		cache: []string{"inactive_file", "active_file"},
	}
)

// readCgroup returns the tightest memory limit on this process and what is left under it; 0, 0 if there is none. Limits
// of the groups above count too.
func readCgroup(root fs.FS) (limit, spare int64) {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		// hierarchy-ID:controllers:path; version 2 has ID 0 and no controllers
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		h := cgroup1
		if parts[0] == "0" && parts[1] == "" {
			h = cgroup2
		} else if !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			l, s := h.read(root, path.Join(h.mount, dir))
			if l > 0 && (limit == 0 || s < spare) {
				limit, spare = l, s
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit, spare
}

// unlimited is about what the kernel writes for "no limit" in version 1: the largest multiple of a page.
const unlimited = 1 << 60

// read returns one group's limit and what is left under it; 0, 0 if it has none.
func (h hierarchy) read(root fs.FS, dir string) (limit, spare int64) {
	for _, name := range h.limits {
		n, err := readNumber(root, path.Join(dir, name))
		if err == nil && n < unlimited && (limit == 0 || n < limit) {
			limit = n
		}
	}
	if limit == 0 {
		return 0, 0
	}
	used, err := readNumber(root, path.Join(dir, h.usage))
	if err != nil {
		used = 0
	}
	if stat, err := readFields(root, path.Join(dir, "memory.stat")); err == nil {
		for _, key := range h.cache {
			used -= stat[key]
		}
	}
	return limit, max(0, limit-max(0, used))
}

func readNumber(root fs.FS, name string) (int64, error) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
