// Package figures measures the plugin and Velero's built-in action side by side in one run: start-up, memory and
// requests. It prints tables; nothing passes or fails by them.
package figures

import (
	"os"
	"sort"
	"testing"
	"time"

	"github.com/vmware-tanzu/velero/pkg/plugin/clientmgmt/process"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	b        *bench.Bench
	registry process.Registry
)

// contenders are the two that are compared.
var contenders = []struct {
	name    string
	builtin bool
}{{"ours", false}, {"built-in", true}}

func TestMain(m *testing.M) {
	os.Exit(bench.Main(m, bench.Options{}, func(started *bench.Bench) (err error) {
		b = started
		registry, _, err = b.Registry()
		return err
	}, nil))
}

func median(times []time.Duration) time.Duration {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times[len(times)/2]
}
