// Package freeze measures how long an application is frozen by whole Velero backups, with the built-in action and with
// ours beside each other. `tests/conformance/bench` runs it and makes a report of its results.
package freeze

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	b      *bench.Bench
	chosen choices
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (status int) {
	var err error
	// Before the cluster boots: a typing error shows at once.
	if chosen, err = choose(); err != nil {
		fmt.Println("freeze:", err)
		return 2
	}
	if b, err = bench.Start(context.Background(), bench.Options{Velero: true, SnapshotterQPS: chosen.qps}); err != nil {
		fmt.Println("bench:", err)
		return 1
	}
	defer func() { b.Stop(status != 0 || os.Getenv("KEEP") != "") }()

	// Ctrl-C in the middle of a run: the bench's processes go with us.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		b.Stop(true)
		os.Exit(130)
	}()
	return m.Run()
}
