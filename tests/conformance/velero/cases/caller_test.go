package cases

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// callerVariable makes this test binary be a Velero that calls Execute once and is then killed.
const callerVariable = "CONFORMANCE_CALLER"

// caller is what such a Velero needs to know.
type caller struct {
	Dir, User, Kubeconfig string

	Item   *unstructured.Unstructured
	Backup *velerov1.Backup
}

// runCaller launches the plugin and calls Execute; its parent kills it in the middle.
func runCaller() int {
	var told caller
	err := json.Unmarshal([]byte(os.Getenv(callerVariable)), &told)
	if err == nil {
		err = told.run()
	}
	fmt.Println("caller:", err)
	return 1
}

func (c *caller) run() error {
	attached := bench.Attach(c.Dir)
	registry, _, err := attached.Registry()
	if err != nil {
		return err
	}
	plugin, err := attached.LaunchAs(registry, c.User, c.Kubeconfig, bench.Launch{Env: early(true), Builtin: builtin()})
	if err != nil {
		return err
	}
	fmt.Println("executing")
	_, _, _, _, err = plugin.Action.Execute(c.Item, c.Backup)
	return fmt.Errorf("Execute returned: %v", err)
}

// Velero's orderly end, Shutdown and two seconds later SIGKILL, while an Execute waits: it answers at once, and
// what it had created is taken back (P-11, design: lost callers).
func TestShutdownDuringTheWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, class := range []string{bench.ClassDelete, bench.ClassRetain} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			s.behave(bench.Behaviour{Hang: true})
			claim := s.volume(bench.Volume{Name: "data", Annotations: map[string]string{bench.ClassAnnotation: class}})
			running := s.executing(claim, bench.NewBackup("shutdown"))
			s.becomes(10*time.Second, "driver called", func(state bench.State) bool { return len(state.Storage.Calls) == 1 })

			begin := time.Now()
			s.plugin.Close()
			took := time.Since(begin)
			if answer := <-running; answer.err == nil {
				t.Errorf("Execute succeeded although it was shut down")
			}
			t.Logf("gone after %s", took.Round(time.Millisecond))
			if took > 1900*time.Millisecond {
				t.Errorf("the process ended after %s, Velero kills after 2 s", took)
			}
			s.behave(bench.Behaviour{})
			s.leavesNothingByItself(undoLimit)
		})
	}
}

// Velero is killed while an Execute waits: nobody says Shutdown, the parent is just gone. What was created is taken
// back all the same.
func TestKilledCallerLeavesNothing(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	s.behave(bench.Behaviour{Hang: true})
	claim := s.volume(bench.Volume{Name: "data"})
	told, err := json.Marshal(caller{
		Dir: b.Dir, User: s.plugin.User, Kubeconfig: s.plugin.Kubeconfig, Item: claim, Backup: bench.NewBackup("killed"),
	})
	if err != nil {
		t.Fatal(err)
	}
	velero := exec.Command("/proc/self/exe", "-test.run=^$")
	velero.Env = append(os.Environ(), callerVariable+"="+string(told))
	output, err := velero.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := velero.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "executing") {
		t.Log(lines.Text())
	}
	s.becomes(10*time.Second, "driver called", func(state bench.State) bool { return len(state.Storage.Calls) == 1 })
	_ = velero.Process.Kill()
	_ = velero.Wait()

	s.becomes(5*time.Second, "VolumeSnapshot being deleted", func(state bench.State) bool {
		for _, one := range state.Snapshots {
			if one.DeletionTimestamp == nil {
				return false
			}
		}
		return true
	})
	s.behave(bench.Behaviour{})
	s.leavesNothingByItself(undoLimit)
}
