package residency

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimits(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	for name, c := range map[string]struct {
		files        fstest.MapFS
		limit, spare int64
	}{
		"no cgroups": {fstest.MapFS{}, 0, 0},
		"version 2, the tighter of max and high": {fstest.MapFS{
			"proc/self/cgroup":                 file("0::/a/b"),
			"sys/fs/cgroup/a/b/memory.max":     file("3000"),
			"sys/fs/cgroup/a/b/memory.high":    file("2500"),
			"sys/fs/cgroup/a/b/memory.current": file("1000"),
			"sys/fs/cgroup/a/b/memory.stat":    file("anon 100\ninactive_file 300\nactive_file 200"),
		}, 2500, 2000},
		"version 2, a group above is tighter": {fstest.MapFS{
			"proc/self/cgroup":               file("0::/a/b"),
			"sys/fs/cgroup/a/b/memory.max":   file("max"),
			"sys/fs/cgroup/a/memory.max":     file("2000"),
			"sys/fs/cgroup/a/memory.current": file("500"),
		}, 2000, 1500},
		"version 2, inside a container": {fstest.MapFS{
			"proc/self/cgroup":             file("0::/"),
			"sys/fs/cgroup/memory.max":     file("700"),
			"sys/fs/cgroup/memory.current": file("900"),
		}, 700, 0},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("5:cpu,cpuacct:/x\n4:memory:/job\n0::/"),
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": file("4000"),
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": file("1500"),
			"sys/fs/cgroup/memory/job/memory.stat":           file("total_inactive_file 500"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     file("9223372036854771712"),
		}, 4000, 3000},
		"version 1 without a limit": {fstest.MapFS{
			"proc/self/cgroup":                           file("4:memory:/"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712"),
		}, 0, 0},
		"lines that are none": {fstest.MapFS{"proc/self/cgroup": file("nonsense\n4:memory")}, 0, 0},
	} {
		if limit, spare := readCgroup(c.files); limit != c.limit || spare != c.spare {
			t.Errorf("%s: limit %d, spare %d; want %d, %d", name, limit, spare, c.limit, c.spare)
		}
	}
}

func TestMeminfo(t *testing.T) {
	const whole = "MemTotal:  1600 kB\nMemFree: 1 kB\nMemAvailable: 900 kB\n"
	m, err := readMeminfo(fstest.MapFS{"proc/meminfo": {Data: []byte(whole)}})
	if err != nil || m.Total != 1600<<10 || m.Available != 900<<10 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := readMeminfo(fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 5 kB\n")}}); err == nil {
		t.Error("a file without MemAvailable was read")
	}
	if m.Spare() != 800<<10 {
		t.Errorf("spare %d, want %d", m.Spare(), 800<<10)
	}
	m.Limit, m.LimitSpare = 1000<<10, 300<<10
	if m.Spare() != 300<<10 {
		t.Errorf("spare %d under a limit, want %d", m.Spare(), 300<<10)
	}
}

func TestThisMachineHasMemory(t *testing.T) {
	m, err := ReadMemory()
	if err != nil {
		t.Fatal(err)
	}
	if m.Total < 64<<20 || m.Available <= 0 || m.Available > m.Total || m.Spare() > m.Available {
		t.Errorf("%+v, spare %d", m, m.Spare())
	}
}
