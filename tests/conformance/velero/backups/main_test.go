// Package backups runs whole Velero backups: a real server with our plugin in its plugin folder, pods with freeze and
// thaw hooks, a real API server and snapshotter. Ids like C-6 are those of the project's specification.
package backups

import (
	"os"
	"testing"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var b *bench.Bench

func TestMain(m *testing.M) {
	os.Exit(bench.Main(m, bench.Options{Velero: true}, func(started *bench.Bench) error {
		b = started
		return nil
	}, nil))
}
