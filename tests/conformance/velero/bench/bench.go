// Package bench is a small real cluster without root and without containers: etcd, kube-apiserver,
// snapshot-controller, csi-snapshotter and a CSI driver of ours, all on loopback and in one temporary folder.
package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	snapshotclient "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are what a run can choose. The zero value is the usual bench.
type Options struct {
	// SnapshotterQPS is the request limit of snapshot-controller and csi-snapshotter; zero means 200, which keeps
	// their own throttling out of the figures. Upstream's default is 5 with a burst of 10.
	SnapshotterQPS int
	// Velero adds what whole backups need: kwok with a node, and Velero's CRDs.
	Velero bool
}

// Bench is a running cluster. Its clients are those of an administrator.
type Bench struct {
	Dir       string
	URL       string
	Options   Options
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	Snapshots snapshotclient.Interface
	Driver    *Driver
	// PluginRules are the rules that the plugin's users have, as they were rendered.
	PluginRules []Rule

	authority *authority
	etcdURL   string
	port      int
	apiServer *child

	mu        sync.Mutex
	processes []*child
	// plugins are those of Launch that nobody has closed yet.
	plugins   []*Plugin
	namespace int
	stopped   sync.Once
}

// Start boots everything and returns when the snapshotter can work. On an error it ends what it had started.
func Start(ctx context.Context, options Options) (_ *Bench, err error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	b := &Bench{Dir: dir, Options: options}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w (logs in %s)", err, b.logs())
			b.Stop(true)
		}
	}()
	if err := os.Mkdir(b.logs(), 0o755); err != nil {
		return nil, err
	}
	begin := time.Now()
	type step struct {
		what string
		do   func() error
	}
	steps := []step{
		{"etcd and kube-apiserver started", b.startControlPlane},
		{"kube-apiserver ready", func() error { return b.WaitForAPIServer(ctx) }},
		{"snapshot CRDs served", func() error { return b.applyCRDs(ctx) }},
		{"driver, controller and sidecar started", func() error { return b.startSnapshotter(ctx) }},
		{"classes and the plugin's role made", func() error { return b.prepareCluster(ctx) }},
		{"snapshotter at work", func() error { return b.WaitForSnapshotter(ctx) }},
	}
	if options.Velero {
		steps = append(steps,
			step{"kwok at work", func() error { return b.startKwok(ctx) }},
			step{"Velero's CRDs served", func() error { return b.applyVeleroCRDs(ctx) }})
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("[%5.1fs] %s\n", time.Since(begin).Seconds(), step.what)
	}
	return b, nil
}

// Attach gives a second process the folder of a running bench, enough to launch plugins from it.
func Attach(dir string) *Bench { return &Bench{Dir: dir} }

func (b *Bench) startControlPlane() error {
	if err := b.prepareAPIServer(); err != nil {
		return err
	}
	if err := b.startEtcd(); err != nil {
		return err
	}
	if err := b.startAPIServer(); err != nil {
		return err
	}
	return b.connect()
}

// Stop closes every plugin, ends every process of the bench by its pid, the last started first, and removes the folder
// unless it is to be kept. Who comes second, by a signal or a deadline, waits for the first.
func (b *Bench) Stop(keep bool) { b.stopped.Do(func() { b.stop(keep) }) }

func (b *Bench) stop(keep bool) {
	b.closePlugins()
	b.mu.Lock()
	processes := b.processes
	b.processes = nil
	b.mu.Unlock()
	for i := len(processes) - 1; i >= 0; i-- {
		// They hold nothing that outlives the run, so none of them deserves a long goodbye.
		processes[i].stop(500 * time.Millisecond)
	}
	if keep {
		fmt.Printf("kept: %s (logs in logs/, requests in audit.log)\n", b.Dir)
		return
	}
	_ = os.RemoveAll(b.Dir)
}

func (b *Bench) logs() string { return filepath.Join(b.Dir, "logs") }

// Program is the path of a built program, of the chosen version where there are several.
func (b *Bench) Program(name string) string {
	return filepath.Join(os.Getenv("CONFORMANCE_BIN"), programFile(name))
}

func (b *Bench) connect() error {
	path, err := b.Kubeconfig("admin", "system:masters")
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	config.Timeout = 30 * time.Second
	return b.clients(config)
}

func (b *Bench) clients(config *rest.Config) (err error) {
	if b.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if b.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	b.Snapshots, err = snapshotclient.NewForConfig(config)
	return err
}
