package bench

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/vmware-tanzu/velero/pkg/plugin/clientmgmt"
	"github.com/vmware-tanzu/velero/pkg/plugin/clientmgmt/process"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework/common"
	biav2 "github.com/vmware-tanzu/velero/pkg/plugin/velero/backupitemaction/v2"
)

const (
	// OurAction and BuiltinAction are the names under which the two are registered.
	OurAction     = "velero-plugin-csi-fastpoll/pvc-backupper"
	BuiltinAction = "velero.io/csi-pvc-backupper"
)

// ServerArguments is a usual `velero server` command line. From 1.15 Velero starts plugins with all of it.
var ServerArguments = []string{
	"--features=EnableCSI", "--log-level=debug", "--uploader-type=kopia", "--client-qps=100", "--client-burst=200",
	"--default-snapshot-move-data=false", "--metrics-address=:8085",
}

// launch guards what Velero's client takes from the process: os.Args and the environment.
var launch sync.Mutex

// Launch says how a plugin is started.
type Launch struct {
	// Env is added to the environment of the Velero server (here: of the tests).
	Env map[string]string
	// Arguments replace ServerArguments.
	Arguments []string
	// Builtin starts Velero's own action instead (`velero run-plugins`).
	Builtin bool
	// Between is put between the plugin and the API server.
	Between func(next http.Handler) http.Handler
}

// Plugin is a running plugin process behind Velero's own client.
type Plugin struct {
	Action biav2.BackupItemAction
	Logs   *Logs
	// User is whose requests in the audit log are this process's.
	User       string
	Kubeconfig string

	bench     *Bench
	manager   clientmgmt.Manager
	stopProxy func()
}

// IsPlugin tells the plugin's users from all others, whatever process it was.
func IsPlugin(user string) bool { return strings.HasPrefix(user, "plugin-") }

// Registry is Velero's view of the plugin folder after discovery: the built-ins of the `velero` binary and ours.
// Discovery is what the Velero server does at its start; it lists and ends each binary.
func (b *Bench) Registry() (process.Registry, *Logs, error) {
	dir, err := b.pluginDir()
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(filepath.Join(b.logs(), "discovery.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	logger, logs := newLogger(file)
	registry := process.NewRegistry(dir, logger, logger.Level)
	err = b.asVeleroServer(Launch{}, "", registry.DiscoverPlugins)
	return registry, logs, err
}

// Launch starts a plugin process for a test, with a user of its own.
func (b *Bench) Launch(registry process.Registry, test string, how Launch) (*Plugin, error) {
	kind, group := "plugin-", pluginGroup
	if how.Builtin {
		kind, group = "builtin-", builtinGroup
	}
	b.mu.Lock()
	b.namespace++
	user := fmt.Sprintf("%s%s-%d", kind, strings.ToLower(strings.ReplaceAll(test, "/", "-")), b.namespace)
	b.mu.Unlock()
	server, stop := b.URL, func() {}
	if how.Between != nil {
		var err error
		if server, stop, err = b.startProxy(how.Between, user, group); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := b.kubeconfig(server, user, group)
	if err != nil {
		return nil, err
	}
	plugin, err := b.LaunchAs(registry, user, kubeconfig, how)
	if plugin != nil {
		plugin.stopProxy = stop
	}
	return plugin, err
}

// LaunchAs starts a plugin process for a user who has a kubeconfig already.
func (b *Bench) LaunchAs(registry process.Registry, user, kubeconfig string, how Launch) (*Plugin, error) {
	action := OurAction
	if how.Builtin {
		action = BuiltinAction
	}
	file, err := os.OpenFile(filepath.Join(b.logs(), user+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	logger, logs := newLogger(file)
	plugin := &Plugin{Logs: logs, User: user, Kubeconfig: kubeconfig, bench: b}
	plugin.manager = clientmgmt.NewManager(logger, logrus.DebugLevel, registry)
	b.mu.Lock()
	b.plugins = append(b.plugins, plugin)
	b.mu.Unlock()
	err = b.asVeleroServer(how, kubeconfig, func() (err error) {
		plugin.Action, err = plugin.manager.GetBackupItemActionV2(action)
		return err
	})
	return plugin, err
}

// Close is what Velero does at the end of a backup: Shutdown, and SIGKILL two seconds later.
func (p *Plugin) Close() {
	p.bench.mu.Lock()
	p.bench.plugins = slices.DeleteFunc(p.bench.plugins, func(one *Plugin) bool { return one == p })
	p.bench.mu.Unlock()
	p.manager.CleanupClients()
	if p.stopProxy != nil {
		p.stopProxy()
	}
}

// closePlugins closes what tests have left open, all at once. A plugin that is just being started cannot be closed, and
// is not waited for.
func (b *Bench) closePlugins() {
	b.mu.Lock()
	open := slices.Clone(b.plugins)
	b.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var all sync.WaitGroup
		for _, plugin := range open {
			all.Go(plugin.Close)
		}
		all.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
	}
}

// asVeleroServer runs f while this process looks like `velero server ARGUMENTS`, since that is where Velero's
// client takes the built-in command and the arguments for plugins from.
func (b *Bench) asVeleroServer(how Launch, kubeconfig string, f func() error) error {
	launch.Lock()
	defer launch.Unlock()
	arguments := how.Arguments
	if arguments == nil {
		arguments = ServerArguments
	}
	was := os.Args
	defer func() { os.Args = was }()
	os.Args = append([]string{b.Program("velero-server"), "server"}, arguments...)

	environment := map[string]string{"KUBECONFIG": kubeconfig, "VELERO_NAMESPACE": VeleroNamespace, "HOME": b.Dir}
	for name, value := range how.Env {
		environment[name] = value
	}
	for name, value := range environment {
		before, had := os.LookupEnv(name)
		os.Setenv(name, value)
		defer func() {
			if had {
				os.Setenv(name, before)
			} else {
				os.Unsetenv(name)
			}
		}()
	}
	return f()
}

// pluginDir is a plugin folder with our release binary alone, as the init container of an installation fills it.
func (b *Bench) pluginDir() (string, error) {
	dir := filepath.Join(b.Dir, "plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	binary := os.Getenv("PLUGIN_BINARY")
	if binary == "" {
		return dir, nil
	}
	target := b.PluginPath()
	if _, err := os.Stat(target); err == nil {
		return dir, nil
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(target, text, 0o755)
}

// PluginPath is where the plugin's binary is in the plugin folder, and so the command that it must register.
func (b *Bench) PluginPath() string {
	return filepath.Join(b.Dir, "plugins", "velero-plugin-csi-fastpoll")
}

// Registered returns what one command has registered under any kind.
func Registered(registry process.Registry, command string) []framework.PluginIdentifier {
	var found []framework.PluginIdentifier
	for _, kind := range common.AllPluginKinds() {
		for _, plugin := range registry.List(kind) {
			// A v1 action is listed under v2 too; its own kind says what it is.
			if plugin.Command == command && plugin.Kind == kind {
				found = append(found, plugin)
			}
		}
	}
	return found
}
