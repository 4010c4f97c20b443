package backups

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// In a Schedule the policy goes into the template (README, way 1) and the annotation on the Schedule itself (way 3); the
// server's own runs and those by hand are ours alike.
func TestSchedule(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: quick})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	if err := s.velero.CreatePolicy(s.ctx, "scheduled", bench.Policy()); err != nil {
		t.Fatal(err)
	}
	no := false
	var handles []string
	for name, schedule := range map[string]*velerov1.Schedule{
		"by-policy": {Spec: velerov1.ScheduleSpec{Template: velerov1.BackupSpec{
			ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "scheduled"},
		}}},
		"by-annotation": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{takeOver: "true"}},
			Spec:       velerov1.ScheduleSpec{Template: velerov1.BackupSpec{SnapshotVolumes: &no}},
		},
	} {
		schedule.Namespace, schedule.Name = s.velero.Namespace, s.unique(name)
		schedule.Spec.Template.IncludedNamespaces = []string{s.namespace}
		schedule.Spec.Template.CSISnapshotTimeout = metav1.Duration{Duration: time.Minute}
		// A run is due at once, and the one after it not for months.
		schedule.Spec.Schedule = "0 0 1 7 *"
		schedule.Status.LastBackup = &metav1.Time{Time: time.Now().AddDate(-2, 0, 0)}
		if err := s.velero.Client.Create(s.ctx, schedule); err != nil {
			t.Fatal(err)
		}
		byServer := s.finished(s.scheduled(schedule.Name))
		handles = slices.AppendSeq(handles, maps.Values(s.taken(byServer, us, s.namespace, "data-0", "data-1")))

		byHand := schedule.Name + "-by-hand"
		if _, err := s.velero.Command(s.ctx, "backup", "create", byHand, "--from-schedule", schedule.Name); err != nil {
			t.Fatal(err)
		}
		done := s.finished(&velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Name: byHand}})
		handles = slices.AppendSeq(handles, maps.Values(s.taken(done, us, s.namespace, "data-0", "data-1")))
	}
	s.left(s.namespace, handles...)
}

// scheduled is the one backup that the server has made of a schedule.
func (s *setting) scheduled(schedule string) *velerov1.Backup {
	s.Helper()
	var list velerov1.BackupList
	err := bench.Eventually(s.ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		err := s.velero.Client.List(ctx, &list, client.InNamespace(s.velero.Namespace), client.MatchingLabels{velerov1.ScheduleNameLabel: schedule})
		return err == nil && len(list.Items) > 0, fmt.Sprint(err, " no backup of ", schedule)
	})
	if err != nil {
		s.Fatal(err)
	}
	if len(list.Items) != 1 {
		s.Errorf("%d backups of %s", len(list.Items), schedule)
	}
	return &list.Items[0]
}
