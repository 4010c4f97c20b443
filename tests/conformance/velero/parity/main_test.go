// Package parity runs the same inputs through Velero's own PVC action and through ours, each on its own but equal
// state of the same real cluster, and compares what they answer, create and leave. Where they may differ is written
// in docs/differences.md, which this suite reads. Ids like TG-1 are those of the project's specification.
package parity

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/vmware-tanzu/velero/pkg/plugin/clientmgmt/process"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	b        *bench.Bench
	registry process.Registry
	standIn  *sidecar
	// shared are the processes that serve every input which does not need one of its own: like those of a Velero
	// server that backs up with several workers.
	shared map[variant]*bench.Plugin
)

// variant is which action, and whether its early phase is on: the four shared processes.
type variant struct{ builtin, early bool }

func TestMain(m *testing.M) { os.Exit(bench.Main(m, bench.Options{}, prepare, nil)) }

// prepare starts what all inputs share; it ends with the bench.
func prepare(started *bench.Bench) (err error) {
	b = started
	ctx := context.Background()
	if registry, _, err = b.Registry(); err != nil {
		return fmt.Errorf("discovery of the plugins: %w", err)
	}
	if err := prepareForDataMovement(ctx); err != nil {
		return fmt.Errorf("data movement: %w", err)
	}
	standIn = newSidecar()
	go standIn.run(ctx)
	shared = map[variant]*bench.Plugin{}
	for _, which := range []variant{{true, true}, {true, false}, {false, true}, {false, false}} {
		plugin, err := launch("shared", which, bench.Launch{})
		if err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		shared[which] = plugin
	}
	return nil
}

// launch starts a process with the early phase on or off, by each action's own switch, and calls it once: Velero
// never makes the first call in parallel either.
func launch(name string, which variant, how bench.Launch) (*bench.Plugin, error) {
	how.Builtin = which.builtin
	early := fmt.Sprint(which.early)
	how.Env = map[string]string{"VELERO_CSI_EARLY_FAST_POLL": early, "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": early}
	plugin, err := b.Launch(registry, name+"-early-"+early, how)
	if err != nil {
		return nil, err
	}
	backup := bench.NewBackup("first-call")
	backup.Status.Phase = "Finalizing"
	item := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim"}}
	_, _, _, _, err = plugin.Action.Execute(item, backup)
	return plugin, err
}
