// Package parity runs the same inputs through Velero's own PVC action and through ours, each on its own but equal
// state of the same real cluster, and compares what they answer, create and leave. Where they may differ is written
// in docs/differences.md, which this suite reads. Ids like TG-1 are those of the project's specification.
package parity

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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

func TestMain(m *testing.M) {
	// The flags are read now: launching a plugin changes os.Args.
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (status int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if b, err = bench.Start(ctx, bench.Options{}); err != nil {
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

	if registry, _, err = b.Registry(); err != nil {
		fmt.Println("bench: discovery of the plugins:", err)
		return 1
	}
	if err := prepareForDataMovement(ctx); err != nil {
		fmt.Println("bench: data movement:", err)
		return 1
	}
	standIn = newSidecar()
	go standIn.run(ctx)
	shared = map[variant]*bench.Plugin{}
	for _, which := range []variant{{true, true}, {true, false}, {false, true}, {false, false}} {
		plugin, err := launch("shared", which, bench.Launch{})
		if err != nil {
			fmt.Println("bench: launch:", err)
			return 1
		}
		defer plugin.Close()
		shared[which] = plugin
	}
	return m.Run()
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
