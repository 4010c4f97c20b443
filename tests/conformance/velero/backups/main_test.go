// Package backups runs whole Velero backups: a real server with our plugin in its plugin folder, pods with freeze and
// thaw hooks, a real API server and snapshotter. Ids like C-6 are those of the project's specification.
package backups

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var b *bench.Bench

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (status int) {
	var err error
	if b, err = bench.Start(context.Background(), bench.Options{Velero: true}); err != nil {
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
