package figures

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const executes = 100

// Resident memory after the start, after 100 Executes one after another, and the peak of 100 at once. The storage
// answers at once and the early phase is on, so a serial Execute takes about a second.
func TestMemory(t *testing.T) {
	for _, contender := range contenders {
		t.Run(contender.name, func(t *testing.T) {
			// Beside each other: a process's memory does not depend on who else is busy, and it halves the time.
			t.Parallel()
			plugin, items := prepare(t, contender.builtin)
			pid := processOf(t, contender.builtin)
			start := resident(t, pid, "VmRSS")
			if _, err := plugin.Action.AppliesTo(); err != nil {
				t.Fatal(err)
			}
			// AppliesTo may begin a warm-up beside its answer.
			time.Sleep(time.Second)
			t.Logf("%-9s after the start: %6.1f MiB, after AppliesTo %6.1f MiB", contender.name, start, resident(t, pid, "VmRSS"))

			backup := bench.NewBackup("memory")
			begin := time.Now()
			for _, item := range items {
				if _, _, _, _, err := plugin.Action.Execute(item, backup); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%-9s after %d serial Executes (%s): %6.1f MiB", contender.name, executes, time.Since(begin).Round(time.Second), resident(t, pid, "VmRSS"))

			// From here the kernel's high-water mark is that of the parallel ones.
			_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
			begin = time.Now()
			var group sync.WaitGroup
			for _, item := range items {
				group.Go(func() {
					if _, _, _, _, err := plugin.Action.Execute(item, backup); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			t.Logf("%-9s peak of %d parallel Executes (%s): %6.1f MiB, afterwards %6.1f MiB", contender.name, executes,
				time.Since(begin).Round(time.Second), resident(t, pid, "VmHWM"), resident(t, pid, "VmRSS"))
		})
	}
}

func prepare(t *testing.T, builtin bool) (*bench.Plugin, []*unstructured.Unstructured) {
	t.Helper()
	ctx := context.Background()
	namespace, err := b.Namespace(ctx, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	items := make([]*unstructured.Unstructured, executes)
	for number := range items {
		if items[number], err = b.CreateVolume(ctx, namespace, bench.Volume{Name: fmt.Sprintf("data-%d", number)}); err != nil {
			t.Fatal(err)
		}
	}
	plugin, err := b.Launch(registry, t.Name(), bench.Launch{Builtin: builtin, Env: map[string]string{
		"VELERO_CSI_EARLY_FAST_POLL": "true", "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": "true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plugin.Close)
	return plugin, items
}

// processOf finds the plugin among this process's children by the program that it runs; Velero's client keeps the
// pid to itself.
func processOf(t *testing.T, builtin bool) int {
	t.Helper()
	program := b.PluginPath()
	if builtin {
		program = b.Program("velero-server")
	}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(entry, "exe"))
		if err != nil || link != program {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(entry, "status"))
		if strings.Contains(string(stat), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
			pid, _ := strconv.Atoi(filepath.Base(entry))
			return pid
		}
	}
	t.Fatalf("no child process runs %s", program)
	return 0
}

// resident reads VmRSS or VmHWM in MiB.
func resident(t *testing.T, pid int, field string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if value, found := strings.CutPrefix(line, field+":"); found {
			kib, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kib / 1024
		}
	}
	return 0
}
