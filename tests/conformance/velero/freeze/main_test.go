// Package freeze measures how long an application is frozen by whole Velero backups, with the built-in action and with
// ours beside each other. `tests/conformance/bench` runs it and makes a report of its results.
package freeze

import (
	"fmt"
	"os"
	"testing"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	b      *bench.Bench
	chosen choices
)

func TestMain(m *testing.M) {
	var err error
	// Before the cluster boots: a typing error shows at once.
	if chosen, err = choose(); err != nil {
		fmt.Println("freeze:", err)
		os.Exit(2)
	}
	os.Exit(bench.Main(m, bench.Options{Velero: true, SnapshotterQPS: chosen.qps}, func(started *bench.Bench) error {
		b = started
		return nil
	}, nil))
}
