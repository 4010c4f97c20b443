package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// LocationName is the one backup storage location of an installation.
	LocationName = "default"
	bucket       = "backups"
)

// Install says how Velero is installed.
type Install struct {
	// Env is added to the environment of the server; its plugins inherit it.
	Env map[string]string
	// Arguments are added to the server's command line, after `--features=EnableCSI`: a later flag wins.
	Arguments []string
	// WithoutPlugin leaves ours out of the plugin folder: Velero as it comes.
	WithoutPlugin bool
	// Policies are volume policy ConfigMaps that are there before the server starts.
	Policies map[string]string
}

// ErrServerExited is that a server has ended by itself.
var ErrServerExited = errors.New("the server has exited")

// Velero is an installation: a namespace with a location, and a server process with a plugin folder. Several live
// beside each other in one cluster, as far apart as namespaces are.
type Velero struct {
	Namespace string
	// User is whose requests in the audit log are those of the server and its plugins.
	User   string
	Client client.Client

	bench      *Bench
	how        Install
	kubeconfig string
	dir        string
	server     *child
	files      *http.Server
}

// applyVeleroCRDs creates the CRDs that the chosen server's own `install` command prints.
func (b *Bench) applyVeleroCRDs(ctx context.Context) error {
	text, err := b.veleroCommand(ctx, "", "install", "--crds-only", "--dry-run", "-o", "yaml")
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	if err := yaml.Unmarshal([]byte(text), &list.Object); err != nil {
		return fmt.Errorf("velero install --dry-run: %w", err)
	}
	items, found, err := unstructured.NestedSlice(list.Object, "items")
	if err != nil || !found || len(items) == 0 {
		return fmt.Errorf("velero install --dry-run printed no CRDs (%v)", err)
	}
	for _, item := range items {
		object := &unstructured.Unstructured{Object: item.(map[string]any)}
		if _, err := b.Dynamic.Resource(customResourceDefinitions).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("CRD %s: %w", object.GetName(), err)
		}
	}
	err = Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		resources, err := b.Kube.Discovery().ServerResourcesForGroupVersion("velero.io/v1")
		if err != nil {
			return false, err.Error()
		}
		return len(resources.APIResources) >= 10, fmt.Sprint(len(resources.APIResources), " kinds")
	})
	if err != nil {
		return fmt.Errorf("discovery of velero.io/v1: %w", err)
	}
	return nil
}

// InstallVelero starts a server in a namespace of its own and returns when its location is Available. On an error
// nothing of it runs any more; of a server that was started the installation is returned as well, for its log.
func (b *Bench) InstallVelero(ctx context.Context, name string, how Install) (_ *Velero, err error) {
	namespace, err := b.Namespace(ctx, "velero-"+name)
	if err != nil {
		return nil, err
	}
	v := &Velero{Namespace: namespace, User: namespace, bench: b, how: how, dir: filepath.Join(b.Dir, namespace)}
	defer func() {
		if err != nil {
			v.Stop()
		}
	}()
	if v.kubeconfig, err = b.Kubeconfig(v.User, "system:masters"); err != nil {
		return nil, err
	}
	if v.Client, err = veleroClient(v.kubeconfig); err != nil {
		return nil, err
	}
	if err := v.preparePlugins(); err != nil {
		return nil, err
	}
	if err := v.createLocation(ctx); err != nil {
		return nil, err
	}
	if err := v.createDeployment(ctx); err != nil {
		return nil, err
	}
	for name, text := range how.Policies {
		if err := v.CreatePolicy(ctx, name, text); err != nil {
			return nil, err
		}
	}
	if err := v.Start(); err != nil {
		return nil, err
	}
	return v, v.WaitForLocation(ctx)
}

func veleroClient(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// Not the server's own requests in the audit log.
	config.UserAgent = "conformance"
	config.QPS, config.Burst = 200, 400
	scheme := runtime.NewScheme()
	if err := errors.Join(velerov1.AddToScheme(scheme), velerov2alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// preparePlugins fills the plugin folder as init containers do: the object store's plugin and, usually, ours.
func (v *Velero) preparePlugins() error {
	for _, dir := range []string{"plugins", "store", "tmp"} {
		if err := os.MkdirAll(filepath.Join(v.dir, dir), 0o755); err != nil {
			return err
		}
	}
	plugins := map[string]string{"objectstore": v.bench.Program("objectstore")}
	if !v.how.WithoutPlugin {
		binary := os.Getenv("PLUGIN_BINARY")
		if binary == "" {
			return errors.New("no PLUGIN_BINARY to install")
		}
		plugins["velero-plugin-csi-fastpoll"] = binary
	}
	for name, source := range plugins {
		// A link would do, but Velero registers a plugin under the path that it found.
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(v.dir, "plugins", name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// createLocation makes the location and serves its files, where the velero command downloads logs and results.
func (v *Velero) createLocation(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v.files = &http.Server{Handler: http.FileServer(http.Dir(v.store()))}
	go func() { _ = v.files.Serve(listener) }()
	return v.Client.Create(ctx, &velerov1.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: LocationName},
		Spec: velerov1.BackupStorageLocationSpec{
			Provider: "fastpoll.test/local", Default: true,
			StorageType: velerov1.StorageType{ObjectStorage: &velerov1.ObjectStorageLocation{Bucket: bucket}},
			Config:      map[string]string{"root": v.store(), "url": "http://" + listener.Addr().String()},
		},
	})
}

// createDeployment makes the object that the server itself would be in a pod of. Restores read its image.
func (v *Velero) createDeployment(ctx context.Context) error {
	labels := map[string]string{"deploy": "velero"}
	_, err := v.bench.Kube.AppsV1().Deployments(v.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "velero"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero"}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

func (v *Velero) store() string { return filepath.Join(v.dir, "store") }

// Start starts the server; after Kill it is the restart that Kubernetes would do.
func (v *Velero) Start() (err error) {
	if v.server != nil {
		// A container begins when nothing of the one before runs any more.
		v.stopServer()
	}
	arguments := append([]string{"server", "--features=EnableCSI",
		"--kubeconfig=" + v.kubeconfig, "--namespace=" + v.Namespace, "--plugin-dir=" + filepath.Join(v.dir, "plugins"),
		// Nobody asks there; the kernel chooses the ports.
		"--metrics-address=127.0.0.1:0", "--profiler-address=127.0.0.1:0",
		// How long the phases after the backup take is not what is looked at here.
		"--item-operation-sync-frequency=1s",
		"--client-qps=200", "--client-burst=400", "--log-level=debug"}, v.how.Arguments...)
	v.server, err = v.bench.startGroup(v.Namespace, v.environment(), v.bench.Program("velero-server"), arguments...)
	return err
}

// environment is this process's without anything that steers Velero, a plugin or a proxy.
func (v *Velero) environment() []string {
	own := map[string]string{
		"VELERO_NAMESPACE": v.Namespace, "HOME": v.dir, "TMPDIR": filepath.Join(v.dir, "tmp"),
		// Before 1.15 a plugin gets none of the server's flags but the log level and the features.
		"KUBECONFIG": v.kubeconfig,
	}
	for name, value := range v.how.Env {
		own[name] = value
	}
	var environment []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := own[name]; replaced || strings.HasPrefix(name, "VELERO_") || strings.HasPrefix(name, "CSI_") ||
			strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			continue
		}
		environment = append(environment, entry)
	}
	for name, value := range own {
		environment = append(environment, name+"="+value)
	}
	sort.Strings(environment)
	return environment
}

// WaitForLocation returns when the server has looked at its location and found it good.
func (v *Velero) WaitForLocation(ctx context.Context) error {
	err := Eventually(ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		if !v.server.alive() {
			return true, ""
		}
		var location velerov1.BackupStorageLocation
		err := v.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: LocationName}, &location)
		return err == nil && location.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable, fmt.Sprint(err, location.Status)
	})
	if !v.server.alive() {
		return fmt.Errorf("%w, see %s.log", ErrServerExited, v.Namespace)
	}
	if err != nil {
		return fmt.Errorf("location %s/%s is not Available: %w", v.Namespace, LocationName, err)
	}
	return nil
}

// Kill is SIGKILL for the server alone, as the kernel does when memory is short; its plugins see what becomes of
// them.
func (v *Velero) Kill() { v.server.kill() }

// Stop ends the server as Kubernetes does at a roll-out, and whatever plugin is left of it.
func (v *Velero) Stop() {
	if v.server != nil {
		v.stopServer()
	}
	if v.files != nil {
		_ = v.files.Close()
	}
}

func (v *Velero) stopServer() {
	v.server.stop(3 * time.Second)
	v.bench.forget(v.server)
}

// ServerLog is everything that the server and its plugins have logged.
func (v *Velero) ServerLog() (string, error) {
	text, err := os.ReadFile(filepath.Join(v.bench.logs(), v.Namespace+".log"))
	return string(text), err
}

// Command runs the velero command against this installation and returns what it prints.
func (v *Velero) Command(ctx context.Context, arguments ...string) (string, error) {
	return v.bench.veleroCommand(ctx, v.dir, append([]string{"--kubeconfig=" + v.kubeconfig, "--namespace=" + v.Namespace}, arguments...)...)
}

func (b *Bench) veleroCommand(ctx context.Context, home string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, b.Program("velero-server"), arguments...)
	if home == "" {
		home = b.Dir
	}
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var problem bytes.Buffer
	command.Stderr = &problem
	text, err := command.Output()
	if err != nil {
		return string(text), fmt.Errorf("velero %s: %w: %s", strings.Join(arguments, " "), err, problem.String())
	}
	return string(text), nil
}
