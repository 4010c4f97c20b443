package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PluginProcess is a running process of our plugin.
type PluginProcess struct {
	PID int
	// Environment is what it was started with, by name.
	Environment map[string]string
}

// PluginProcesses are the processes of our plugin that run from this installation's plugin folder, whoever is their
// parent now: a plugin outlives a server that was killed.
func (v *Velero) PluginProcesses() ([]PluginProcess, error) {
	binary := filepath.Join(v.dir, "plugins", "velero-plugin-csi-fastpoll")
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []PluginProcess
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A process that ends in the meantime, or that nobody has waited for, has no executable.
		executable, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || executable != binary {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue
		}
		process := PluginProcess{PID: pid, Environment: map[string]string{}}
		for _, variable := range strings.Split(strings.TrimRight(string(environment), "\x00"), "\x00") {
			name, value, _ := strings.Cut(variable, "=")
			process.Environment[name] = value
		}
		found = append(found, process)
	}
	return found, nil
}

// KillAll is SIGKILL for the server and everything it started: the end of a container.
func (v *Velero) KillAll() {
	v.server.killGroup()
	v.bench.forget(v.server)
}
