package freeze

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

const (
	pod        = "app"
	policyName = "fastpoll"
)

// agents are the beginnings of the user agents of the plugin processes. The server's own is "velero-server/…".
func agents() map[string]string {
	builtin := filepath.Base(b.Program("velero-server")) + "/"
	return map[string]string{plugin + "/": plugin, builtin: bench.RunPlugins}
}

// field has the installations, one per strategy, and the applications, one per number of volumes.
type field struct {
	ctx          context.Context
	velero       map[string]*bench.Velero
	applications map[int]string
	backups      int
}

func prepare(ctx context.Context, c choices) (*field, error) {
	f := &field{ctx: ctx, velero: map[string]*bench.Velero{}, applications: map[int]string{}}
	for _, strategy := range c.strategies {
		velero, err := b.InstallVelero(ctx, strategy.Name, strategy.install)
		if err != nil {
			return nil, err
		}
		f.velero[strategy.Name] = velero
		if strategy.Ours {
			if err := velero.CreatePolicy(ctx, policyName, bench.Policy()); err != nil {
				return nil, err
			}
		}
	}
	for _, pair := range c.pairs {
		if f.applications[pair.Volumes] != "" {
			continue
		}
		namespace, err := b.Namespace(ctx, fmt.Sprintf("app-of-%d", pair.Volumes))
		if err != nil {
			return nil, err
		}
		if err := b.CreateApplication(ctx, namespace, bench.Application{Name: pod, Volumes: bench.Volumes(pair.Volumes)}); err != nil {
			return nil, err
		}
		f.applications[pair.Volumes] = namespace
	}
	return f, nil
}

// measure makes one backup. Its volumes are those of the backups before, its snapshots are new.
func (f *field) measure(turn turn) (report.Sample, error) {
	sample := report.Sample{Pair: turn.pair, Strategy: turn.strategy.Name, Round: turn.round}
	velero, namespace := f.velero[turn.strategy.Name], f.applications[turn.pair.Volumes]
	for number, latency := range latencies(turn.pair) {
		if err := b.Driver.Behave(bench.Handle(namespace, fmt.Sprintf("data-%d", number)), bench.Behaviour{Latency: latency}); err != nil {
			return sample, err
		}
	}
	before, err := b.Windows(namespace, pod)
	if err != nil {
		return sample, err
	}
	mark, err := b.AuditMark()
	if err != nil {
		return sample, err
	}
	watch, err := velero.WatchPlugins()
	if err != nil {
		return sample, err
	}
	begin := time.Now()
	done, err := f.run(velero, namespace, turn)
	sample.BackupSeconds = time.Since(begin).Seconds()
	// Also after an error: the watch ends with the backup.
	usages, usageErr := watch.Stop(15 * time.Second)
	if err != nil {
		return sample, err
	}
	if usageErr != nil {
		return sample, usageErr
	}
	if err := complete(done, velero, turn.pair.Volumes); err != nil {
		return sample, err
	}
	windows, err := b.Windows(namespace, pod)
	if err != nil {
		return sample, err
	}
	if len(windows) != len(before)+1 {
		return sample, fmt.Errorf("%d freezes during one backup", len(windows)-len(before))
	}
	window := windows[len(windows)-1]
	sample.WindowSeconds = window.Length().Seconds()
	sample.Processes = processes(usages, window)
	if err := f.count(&sample, mark, velero.User, window); err != nil {
		return sample, err
	}
	return sample, plausible(sample, turn)
}

func (f *field) run(velero *bench.Velero, namespace string, turn turn) (*velerov1.Backup, error) {
	f.backups++
	backup := velero.NewBackup(fmt.Sprintf("backup-%03d", f.backups), namespace)
	if turn.strategy.Ours {
		backup.Spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: policyName}
	}
	return velero.Run(f.ctx, backup)
}

// complete: what did not do its work must not be compared.
func complete(done *velerov1.Backup, velero *bench.Velero, volumes int) error {
	status := done.Status
	if status.Phase == velerov1.BackupPhaseCompleted && status.CSIVolumeSnapshotsAttempted == volumes && status.CSIVolumeSnapshotsCompleted == volumes {
		return nil
	}
	text := fmt.Sprintf("backup %s of %d volumes: %+v", done.Name, volumes, status)
	if archive, err := velero.Archive(done.Name); err == nil {
		text += fmt.Sprintf("\nwarnings %q\nerrors %q", archive.Warnings, archive.Errors)
	}
	return fmt.Errorf("%s", text)
}

// processes are the ones that lived during the freeze; the phases after it start others.
func processes(usages []bench.Usage, window bench.Window) map[string]report.Process {
	found := map[string]report.Process{}
	for _, usage := range usages {
		if usage.First.Before(window.Thawed) && usage.Last.After(window.Frozen) {
			found[usage.Program] = report.Process{CPUSeconds: usage.CPU.Seconds(), PeakMiB: float64(usage.Peak) / (1 << 20)}
		}
	}
	return found
}

// count reads the requests of the plugin processes from the audit log.
func (f *field) count(sample *report.Sample, mark int64, user string, window bench.Window) error {
	requests, err := b.RequestsAfter(mark, func(of string) bool { return of == user })
	if err != nil {
		return err
	}
	sample.Requests, sample.FrozenRequests = map[string]map[string]int{}, map[string]int{}
	for _, request := range requests {
		for agent, program := range agents() {
			if !strings.HasPrefix(request.UserAgent, agent) {
				continue
			}
			if sample.Requests[program] == nil {
				sample.Requests[program] = map[string]int{}
			}
			sample.Requests[program][request.Kind()]++
			if request.Received.After(window.Frozen) && request.Received.Before(window.Thawed) {
				sample.FrozenRequests[program]++
			}
		}
	}
	return nil
}

// plausible: a figure that cannot be is a defect of the bench.
func plausible(sample report.Sample, turn turn) error {
	var least time.Duration
	for _, latency := range latencies(turn.pair) {
		least = max(least, latency)
	}
	process := turn.strategy.Process
	switch {
	case sample.WindowSeconds < least.Seconds():
		return fmt.Errorf("frozen for %g s, and the storage alone takes %s", sample.WindowSeconds, least)
	case sample.Requests[process]["create volumesnapshots"] != sample.Volumes:
		return fmt.Errorf("%d volumes, and %s asked for: %v", sample.Volumes, process, sample.Requests)
	case sample.Processes[process].CPUSeconds <= 0 || sample.Processes[process].PeakMiB <= 0:
		return fmt.Errorf("no %s was seen at work during the freeze: %v", process, sample.Processes)
	}
	return nil
}
