package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// child is one program that the bench started; it is ended by its own pid and by nothing else.
type child struct {
	name string
	cmd  *exec.Cmd
	// group: it leads a process group of its own, in which its children are too.
	group  bool
	exited chan struct{}
	// ended: once it and its group are gone the kernel may give their number to others.
	ended sync.Once
}

// starter is the one thread that starts programs. The kernel kills a child with PDEATHSIG when the *thread* that
// started it ends, so a test binary that is killed leaves no etcd behind, but an ordinary goroutine's thread may
// end at any time.
var starter = sync.OnceValue(func() chan func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// start runs a program of the bench with its output in LOGS/<name>.log; a second start appends.
func (b *Bench) start(name, program string, args ...string) (*child, error) {
	return b.run(&child{name: name, cmd: exec.Command(program, args...)})
}

// startGroup is start for a program that starts others: what it leaves behind when it is stopped is ended as well.
func (b *Bench) startGroup(name string, environment []string, program string, args ...string) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = environment
	return b.run(&child{name: name, cmd: cmd, group: true})
}

func (b *Bench) run(started *child) (*child, error) {
	name, cmd := started.name, started.cmd
	output, err := os.OpenFile(filepath.Join(b.logs(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd.Dir = b.Dir
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: started.group}

	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	started.exited = make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(started.exited)
	}()
	b.mu.Lock()
	b.processes = append(b.processes, started)
	b.mu.Unlock()
	return started, nil
}

// kill is SIGKILL and waits until the process is gone, so that its port is free again.
func (p *child) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop ends the process, by SIGKILL after the grace, and what it leaves behind in its group.
func (p *child) stop(grace time.Duration) {
	p.ended.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(grace):
			p.kill()
		}
		if p.group {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		}
	})
}

// killGroup is SIGKILL for the process and everything that it started.
func (p *child) killGroup() {
	p.ended.Do(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
	})
}

// forget takes a process that has ended out of those that Stop ends.
func (b *Bench) forget(ended *child) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes = slices.DeleteFunc(b.processes, func(one *child) bool { return one == ended })
}

func (p *child) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// freePort asks the kernel; between the answer and the use someone else could take it, which would show as a
// program that does not start.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// Eventually looks every interval until the condition says yes, and returns its last words if it never does.
func Eventually(ctx context.Context, limit, interval time.Duration, condition func(context.Context) (bool, string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, seen := condition(ctx)
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not so after %s: %s", limit, seen)
		case <-time.After(interval):
		}
	}
}
