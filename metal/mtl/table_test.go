package mtl

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldfare/fieldfare/metal/driver"
)

// readTable reads a file of tab-separated lines under a header, all of n columns.
func readTable(t *testing.T, path string, n int) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != n {
			t.Fatalf("%s: %q has %d columns, not %d", path, line, len(row), n)
		}
		rows = append(rows, row)
	}
	return rows[1:]
}

func TestMessagesAreThoseOfApplesHeaders(t *testing.T) {
	known := map[string]bool{}
	for _, row := range readTable(t, "testdata/selectors.tsv", 4) {
		known[strings.Join(row, "\t")] = true
	}
	for _, m := range messages {
		if line := strings.Join([]string{m.class, m.selector, m.result, m.arguments}, "\t"); !known[line] {
			t.Errorf("not in the headers: %s", line)
		}
	}
}

func TestEachColonOfASelectorHasOneArgument(t *testing.T) {
	for _, m := range messages {
		arguments := 0
		if m.arguments != "" {
			arguments = len(strings.Split(m.arguments, "; "))
		}
		if colons := strings.Count(m.selector, ":"); colons != arguments {
			t.Errorf("%s: %d colons, %d arguments", m.selector, colons, arguments)
		}
	}
}

func TestMessagesAreDeclaredOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range messages {
		if key := m.class + m.selector; seen[key] {
			t.Errorf("%s %s is declared twice", m.class, m.selector)
		} else {
			seen[key] = true
		}
	}
}

func TestConstantsAreThoseOfApplesHeaders(t *testing.T) {
	ours := map[string]int{
		"ResourceStorageModeShared":       resourceStorageModeShared,
		"DispatchTypeSerial":              dispatchTypeSerial,
		"DispatchTypeConcurrent":          dispatchTypeConcurrent,
		"BarrierScopeBuffers":             barrierScopeBuffers,
		"CommandBufferStatusCompleted":    commandBufferStatusCompleted,
		"CommandBufferStatusError":        commandBufferStatusError,
		"GPUFamilyApple1":                 gpuFamilyApple1,
		"GPUFamilyApple9":                 gpuFamilyApple9,
		"GPUFamilyMetal3":                 gpuFamilyMetal3,
		"LanguageVersion3_0":              languageVersion3_0,
		"CommandBufferErrorTimeout":       commandBufferErrorTimeout,
		"CommandBufferErrorPageFault":     commandBufferErrorPageFault,
		"CommandBufferErrorAccessRevoked": commandBufferErrorAccessRevoked,
		"CommandBufferErrorNotPermitted":  commandBufferErrorNotPermitted,
		"CommandBufferErrorOutOfMemory":   commandBufferErrorOutOfMemory,
		"CommandBufferErrorDeviceRemoved": commandBufferErrorDeviceRemoved,
		"DataTypeBool":                    int(dataTypes[driver.KindBool]),
		"DataTypeInt":                     int(dataTypes[driver.KindInt]),
		"DataTypeUInt":                    int(dataTypes[driver.KindUint]),
		"DataTypeUShort":                  int(dataTypes[driver.KindUshort]),
		"DataTypeFloat":                   int(dataTypes[driver.KindFloat]),
	}
	rows := readTable(t, "testdata/enums.tsv", 4)
	if len(rows) != len(ours) {
		t.Errorf("%d constants in the table, %d here", len(rows), len(ours))
	}
	for _, row := range rows {
		value, err := strconv.Atoi(row[3])
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := ours[row[2]]; !ok || got != value {
			t.Errorf("%s is %d here, %d in the headers", row[2], got, value)
		}
	}
}
