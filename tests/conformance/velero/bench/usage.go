package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// RunPlugins is the program name of Velero's built-in actions.
const RunPlugins = "velero run-plugins"

// Usage is what one plugin process has used, as of the last look at it.
type Usage struct {
	// Program is the plugin's file name, or RunPlugins.
	Program string
	CPU     time.Duration
	Peak    uint64
	// First and Last are when it was seen.
	First, Last time.Time
}

// PluginWatch looks at the plugin processes of one server.
type PluginWatch struct {
	server int
	procfs procfs.FS
	stop   chan struct{}
	done   chan struct{}
	seen   map[int]*Usage
	// order is the pids of seen by their first look.
	order []int
	err   error
}

// lookEvery is how often processes are looked at: what one uses between the last look and its end is not seen.
const lookEvery = 50 * time.Millisecond

// WatchPlugins looks at the server's plugin processes from now on.
func (v *Velero) WatchPlugins() (*PluginWatch, error) {
	filesystem, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	w := &PluginWatch{
		server: v.server.cmd.Process.Pid, procfs: filesystem,
		stop: make(chan struct{}), done: make(chan struct{}), seen: map[int]*Usage{},
	}
	// Without this file (CONFIG_PROC_CHILDREN) nothing would ever be seen.
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", w.server, w.server)); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// Stop ends the watch when the processes that it has seen are gone, and returns them in the order of their start.
func (w *PluginWatch) Stop(limit time.Duration) ([]Usage, error) {
	close(w.stop)
	select {
	case <-w.done:
	case <-time.After(limit):
		return nil, fmt.Errorf("plugin processes do not end within %s", limit)
	}
	usages := make([]Usage, len(w.order))
	for i, pid := range w.order {
		usages[i] = *w.seen[pid]
	}
	return usages, w.err
}

func (w *PluginWatch) run() {
	defer close(w.done)
	stopping := false
	for {
		alive, err := w.look(!stopping)
		if err != nil {
			w.err = err
			return
		}
		if stopping && alive == 0 {
			return
		}
		select {
		case <-w.stop:
			stopping = true
			// The closed channel would be chosen at once every time.
			time.Sleep(lookEvery)
		case <-time.After(lookEvery):
		}
	}
}

// look updates what is known and says how many of the known processes are alive. While stopping, new ones do not
// count: they are of something else.
func (w *PluginWatch) look(more bool) (alive int, err error) {
	children, err := w.children()
	if err != nil {
		return 0, err
	}
	for _, pid := range children {
		usage := w.seen[pid]
		if usage == nil {
			program := w.program(pid)
			if program == "" || !more {
				continue
			}
			usage = &Usage{Program: program, First: time.Now()}
			w.seen[pid] = usage
			w.order = append(w.order, pid)
		}
		alive++
		w.update(pid, usage)
	}
	return alive, nil
}

// children are the server's: each of its threads has its own, and threads come and go meanwhile.
func (w *PluginWatch) children() ([]int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.server))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the server (pid %d) is gone", w.server)
	}
	var pids []int
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// program is empty for a child that is still the server (between fork and exec), or no longer anything.
func (w *PluginWatch) program(pid int) string {
	process, err := w.procfs.Proc(pid)
	if err != nil {
		return ""
	}
	line, err := process.CmdLine()
	if err != nil || len(line) == 0 || len(line) > 1 && line[1] == "server" {
		return ""
	}
	if len(line) > 1 && line[1] == "run-plugins" {
		return RunPlugins
	}
	return filepath.Base(line[0])
}

// update reads the CPU clock, which is exact where /proc/PID/stat has steps of 10 ms, and the peak of memory. The
// last values stay when the process has ended in between.
func (w *PluginWatch) update(pid int, usage *Usage) {
	var spent unix.Timespec
	// A process's CPU clock as clock_getcpuclockid(3) makes it: the complement of the pid, and CPUCLOCK_SCHED.
	if err := unix.ClockGettime(int32(^pid<<3|2), &spent); err != nil {
		return
	}
	process, err := w.procfs.Proc(pid)
	if err != nil {
		return
	}
	status, err := process.NewStatus()
	if err != nil || status.VmHWM == 0 {
		// A zombie has no memory, and its clock is complete.
		usage.CPU = time.Duration(spent.Nano())
		return
	}
	usage.CPU, usage.Peak, usage.Last = time.Duration(spent.Nano()), status.VmHWM, time.Now()
}
